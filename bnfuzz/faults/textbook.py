"""The clean kernel: each step as a textbook states it, two passes over the data, pairwise sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bnfuzz.case import Array, Spec
from bnfuzz.faults import sums
from bnfuzz.faults.kernel import Kernel, Pass

Blend = Callable[[Pass, Array, Array], Array]
"""(Pass, old statistic, new statistic) -> updated statistic."""


def as_given(spec: Spec, values: Array) -> Array:
    del spec
    return values


def eps(p: Pass) -> Array:
    return p.scalar(p.conventions.eps_given(p.spec))


def gamma(p: Pass) -> Array:
    """gamma, or 1 where there is none or the conventions fix it."""
    if not p.spec.has_gamma or p.conventions.fix_gamma:
        return np.ones((1, p.geometry.columns), p.dtype)
    return p.geometry.parameter_to_columns(p.given["gamma"]).astype(p.dtype)


def beta(p: Pass) -> Array:
    if not p.spec.has_beta:
        return np.zeros((1, p.geometry.columns), p.dtype)
    return p.geometry.parameter_to_columns(p.given["beta"]).astype(p.dtype)


def buffers(p: Pass) -> tuple[Array, Array]:
    """The old running statistics; a framework's initial 0 and 1 where the Spec has none."""
    columns = (1, p.geometry.columns)
    if p.state.running_mean is None or p.state.running_var is None:
        return np.zeros(columns, p.dtype), np.ones(columns, p.dtype)
    mean, variance = p.state.running_mean, p.state.running_var
    return mean.reshape(columns).astype(p.dtype), variance.reshape(columns).astype(p.dtype)


def mean(p: Pass) -> Array:
    """mu = sum(x)/n."""
    return p.average(p.x)


def variance(p: Pass) -> Array:
    """sum((x - mu)^2)/n."""
    deviation = p.x - p.mean
    return p.average(deviation * deviation)


def statistics(p: Pass) -> tuple[Array, Array]:
    """The batch's in training, the buffers in inference."""
    return (p.mean, p.variance) if p.training else p.buffers


def inverse_deviation(p: Pass) -> Array:
    """r = 1/sqrt(variance + eps)."""
    return p.scalar(1.0) / np.sqrt(p.statistics[1] + p.eps)


def deviation(p: Pass) -> Array:
    return p.x - p.statistics[0]


def normalise(p: Pass) -> Array:
    """xhat = (x - mean)*r."""
    return p.deviation * p.inverse_deviation


def affine(p: Pass) -> Array:
    """y = gamma*xhat + beta."""
    return p.gamma * p.xhat + p.beta


def cotangent(p: Pass) -> Array:
    """The given array; ones for the loss sum(y); 2*y/size, in y's stored format, for the loss mean(y*y)."""
    if p.spec.cotangent == "explicit":
        return p.columns(p.kernel.read_cotangent(p.spec, p.given["cotangent"]))
    if p.spec.cotangent == "sum":
        return np.ones((p.geometry.n, p.geometry.columns), p.dtype)
    stored = p.y.astype(p.given["x"].dtype)
    return (stored * stored.dtype.type(2.0 / max(p.spec.size, 1))).astype(p.dtype)


def dbeta(p: Pass) -> Array:
    """sum(g)."""
    return p.sum_h[0] if p.geometry.per_column else p.per_parameter(p.g)


def dgamma(p: Pass) -> Array:
    """sum(g*xhat); 0 where the conventions fix gamma."""
    total = p.sum_hx[0] if p.geometry.per_column else p.per_parameter(p.g * p.xhat)
    return np.zeros_like(total) if p.conventions.fix_gamma else total


def dx(p: Pass) -> Array:
    """gamma*r*(g - mean(g) - xhat*mean(g*xhat)) in training, gamma*r*g in inference."""
    if not p.training:
        return p.scale * p.h
    return p.scale * (p.h - p.mean_h - p.xhat * p.mean_hx)


def updates(p: Pass) -> int:
    """One in training, none in inference."""
    return 1 if p.training else 0


def blend(p: Pass, old: Array, new: Array) -> Array:
    """w_old*old + w_new*new; over no values at all the old one stays, or becomes NaN where the conventions say so."""
    if p.geometry.n == 0:
        return old * p.scalar(np.nan) if p.conventions.empty_statistics == "nan" else old
    weight_old, weight_new = p.weights
    return weight_old * old + weight_new * new


def running_mean(p: Pass, old: Array) -> Array:
    return blend(p, old, p.mean)


def learned_variance(p: Pass) -> Array:
    """variance*n/(n - ddof); for n = 1 with ddof 1 the variance itself, or NaN where the conventions say so."""
    n, ddof = p.geometry.n, p.conventions.running_ddof
    if n > 1:
        return p.variance * p.scalar(n / (n - ddof))
    if ddof and p.conventions.single_value_variance == "nan":
        return p.variance * p.scalar(np.nan)
    return p.variance


def running_var(p: Pass, old: Array) -> Array:
    conventions = p.conventions
    if p.geometry.n == 1 and conventions.running_ddof and conventions.single_value_variance == "keep":
        return old
    return blend(p, old, learned_variance(p))


CLEAN = Kernel(
    read_x=as_given,
    read_cotangent=as_given,
    write=as_given,
    total=sums.pairwise,
    eps=eps,
    gamma=gamma,
    beta=beta,
    buffers=buffers,
    mean=mean,
    variance=variance,
    statistics=statistics,
    inverse_deviation=inverse_deviation,
    deviation=deviation,
    normalise=normalise,
    affine=affine,
    cotangent=cotangent,
    dbeta=dbeta,
    dgamma=dgamma,
    dx=dx,
    updates=updates,
    running_mean=running_mean,
    running_var=running_var,
)
"""The textbook kernel. A fault is this with one step replaced."""
