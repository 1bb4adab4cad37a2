"""The one-pass variance, fitted: its outputs given the root 1/√(var + ε) that y shows.

Where κ²u ≥ 1 the formula mean(x²) − μ² may give any variance from 0 up, and its bound says nothing. But it gets
only that one number per channel wrong. Read off y as r' = Σ (y−β)·γd / Σ (γd)², it must belong to a variance that
the formula can give and a sound kernel cannot; every other output then follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bnfuzz.numerics.reference import Reference
from bnfuzz.numerics.values import Float

FIT_ROUNDINGS = 16.0
"""Roundings, in units of u(σ² + ε), by which a variance read off an output may miss the formula's range."""

CLAMP_SHARES = (1.0, 0.0, 0.5)
"""Parts of the variance's gradient that pass through max(variance, 0): above 0, below, and at a tie."""


@dataclass(frozen=True, eq=False)
class Fit:
    """NaN where one pass cannot give the root that y shows.

    forms    output -> its admissible values given the root: dx with and without the variance's own term, which a
             clamped variance does not pass on, and with half of it (how JAX splits the gradient of max(0, 0))
    growth   output -> how much its other roundings grow with that root in place of the exact one
    """

    forms: dict[str, tuple[Float, ...]]
    growth: dict[str, Float]


@np.errstate(all="ignore")
def fitted(reference: Reference, one_pass: Reference, y: NDArray[np.generic]) -> Fit:
    """The fit to a training output y; `one_pass` holds the formula's own bounds."""
    problem, axes = reference.problem, reference.problem.reduced
    gamma = np.ones(()) if problem.gamma is None else problem.gamma
    beta = np.zeros(()) if problem.beta is None else problem.beta
    deviation = problem.x - reference.channels.mean
    scaled = gamma * deviation
    seen = np.asarray(y, dtype=np.float64) - beta
    root = np.sum(seen * scaled, axis=axes, keepdims=True) / np.sum(scaled * scaled, axis=axes, keepdims=True)
    root, variance = _possible(root, reference, one_pass)
    larger = np.fmax(root * np.sqrt(reference.channels.variance + reference.rules.eps), 1.0)
    g = _cotangent(reference, y)
    xhat = deviation * root
    centred = g - np.mean(g, axis=axes, keepdims=True)
    along = xhat * np.mean(g * xhat, axis=axes, keepdims=True)
    trials = reference.outputs["y"].bound.shape[:1]
    parameters, statistics = trials + reference.spec.parameter_shape, trials + reference.spec.statistics_shape
    one = np.ones(trials + (1,) * len(reference.spec.statistics_shape))
    return Fit(
        forms={
            "batch_var": (variance.reshape(statistics),),
            "new_running_var": (_running(reference, variance).reshape(statistics),),
            "y": (gamma * xhat + beta,),
            "dgamma": (np.sum(g * xhat, axis=axes).reshape(parameters),),
            "dx": tuple(gamma * root * (centred - share * along) for share in CLAMP_SHARES),
        },
        growth={
            "batch_var": one,
            "new_running_var": one,
            "y": larger,
            "dgamma": np.max(larger, axis=axes).reshape(parameters),
            "dx": larger**3,
        },
    )


def _possible(root: Float, reference: Reference, one_pass: Reference) -> tuple[Float, Float]:
    """(root, variance) where one pass can give them and a sound kernel cannot; NaN elsewhere."""
    exact = reference.channels.variance
    variance = 1 / (root * root) - reference.rules.eps
    reach = one_pass.outputs["batch_var"].raw_bound.reshape(variance.shape)
    sound = reference.outputs["batch_var"].raw_bound.reshape(variance.shape)
    slack = FIT_ROUNDINGS * reference.rules.compute.unit_roundoff * (np.abs(variance) + reference.rules.eps)
    within = (root > 0) & (variance + slack >= np.maximum(exact - reach, 0)) & (variance - slack <= exact + reach)
    possible = within & (np.abs(variance - exact) > sound + slack)
    return np.where(possible, root, np.nan), np.where(possible, np.maximum(variance, 0.0), np.nan)


def _running(reference: Reference, variance: Float) -> Float:
    problem, rules = reference.problem, reference.rules
    if problem.running_var is None:
        return np.full_like(variance, np.nan)
    new = rules.momentum if rules.momentum_weighs == "new" else 1.0 - rules.momentum
    factor = problem.n / max(problem.n - rules.running_ddof, 1)
    return (1.0 - new) * problem.running_var + new * variance * factor


def _cotangent(reference: Reference, y: NDArray[np.generic]) -> Float:
    problem = reference.problem
    if problem.loss == "sum":
        return np.ones(problem.x.shape)
    if problem.loss == "mean_square":
        return 2.0 * np.asarray(y, dtype=np.float64) / problem.size
    assert problem.cotangent is not None
    return problem.cotangent
