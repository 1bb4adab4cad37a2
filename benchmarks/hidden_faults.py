"""Faults that the catalogue does not have: a diagnosis must not find a name for them."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.faults import textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import Fault, fault
from bnfuzz.faults.kernel import Pass, Step


def eps_twice(p: Pass) -> Array:
    return p.scalar(1.0) / np.sqrt(p.statistics[1] + p.eps + p.eps)


def scaled(step: Step, factor: float) -> Step:
    return lambda p: step(p) * p.scalar(factor)


def two_short(p: Pass) -> tuple[Array, Array]:
    mean, variance = textbook.statistics(p)
    n = p.geometry.n
    return (mean, variance * p.scalar(n / (n - 2))) if p.training and n > 2 else (mean, variance)


def mean_deviation(p: Pass) -> tuple[Array, Array]:
    """The mean absolute deviation, squared, in the variance's place."""
    if not p.training:
        return p.buffers
    spread = p.average(np.abs(p.x - p.mean))
    return p.mean, spread * spread


def gamma_squared(p: Pass) -> Array:
    gamma = textbook.gamma(p)
    return gamma * gamma


def beta_twice(p: Pass) -> Array:
    return p.gamma * p.xhat + p.beta + p.beta


def half_variance_term(p: Pass) -> Array:
    if not p.training:
        return textbook.dx(p)
    return p.scale * (p.h - p.mean_h - p.scalar(0.5) * p.xhat * p.mean_hx)


def weight_squared(p: Pass, old: Array, new: Array) -> Array:
    weight = p.weights[1] * p.weights[1]
    return (p.scalar(1.0) - weight) * old + weight * new


def learns_second_moment(p: Pass, old: Array) -> Array:
    return textbook.blend(p, old, p.average(p.x * p.x))


def without_first(p: Pass) -> Array:
    return p.over(p.total(p.x[1:]), p.geometry.n - 1) if p.geometry.n > 1 else textbook.mean(p)


def absolute_cotangent(p: Pass) -> Array:
    return p.per_parameter(np.abs(p.g) * p.xhat)


INFERENCE = Example(steps=("inference",))
NEAR_EPS = Example(family="near_eps")

HIDDEN: tuple[Fault, ...] = (
    fault("eps added twice", "r = 1/sqrt(var + 2*eps)", shows=NEAR_EPS, inverse_deviation=eps_twice),
    fault("dx times 1.01", "the gradient of x is 1 % too large", dx=scaled(textbook.dx, 1.01)),
    fault("dgamma times 1.01", "the gradient of gamma is 1 % too large", dgamma=scaled(textbook.dgamma, 1.01)),
    fault("ddof 2", "the batch is normalised with n/(n-2)*var", statistics=two_short),
    fault("mean deviation", "normalised by the mean absolute deviation", statistics=mean_deviation),
    fault("gamma squared", "y = gamma^2*xhat + beta", gamma=gamma_squared),
    fault("beta twice", "y = gamma*xhat + 2*beta", affine=beta_twice),
    fault("half a term", "half of xhat*mean(g*xhat) is missing in dx", dx=half_variance_term),
    fault(
        "momentum squared",
        "the new statistic has the weight m^2",
        running_mean=lambda p, old: weight_squared(p, old, p.mean),
        running_var=lambda p, old: weight_squared(p, old, textbook.learned_variance(p)),
    ),
    fault("second moment", "the running variance learns mean(x*x)", running_var=learns_second_moment),
    fault("first row lost", "the mean leaves out the first sample", mean=without_first),
    fault("absolute cotangent", "dgamma = sum(|g|*xhat)", dgamma=absolute_cotangent),
    fault("root times 1.001", "r is 0.1 % too large", inverse_deviation=scaled(textbook.inverse_deviation, 1.001)),
)
