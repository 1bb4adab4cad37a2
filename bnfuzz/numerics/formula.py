"""The mathematics of batch normalization, stated once, over tracked arithmetic.

Training, for one channel of n values:

    μ = mean x      d = x − μ      σ² = mean d²      r = 1/√(σ² + ε)      x̂ = d·r      y = γ·x̂ + β
    dβ = Σg         dγ = Σ g·x̂     dx = γ·r·(g − mean g − x̂·mean(g·x̂))
    where γ varies within a group (layer norm):   dx = r·(h − mean h − x̂·mean(h·x̂)),   h = γ·g
    mean' = w_old·mean + w_new·μ                 var' = w_old·var + w_new·σ²·n/(n − ddof)

Inference:

    x̂ = (x − mean)/√(var + ε)      y = γ·x̂ + β      dx = γ·g/√(var + ε)      dγ = Σ g·x̂      dβ = Σg

The cotangent g is given, or that of the loss sum(y) (g = 1) or mean(y²) (g = 2y/size, of the stored y).
Arrays are (trials, *shape); statistics and parameters keep their reduced axes as length 1. Where sound kernels
evaluate a quantity in different ways, each way is a form of its own, and the bound is the largest over them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from bnfuzz.numerics.gradients import cotangent, input_gradient, parameter_gradients
from bnfuzz.numerics.limits import normalised_cap
from bnfuzz.numerics.problem import Normalised, Problem
from bnfuzz.numerics.roundings import BUFFER_ROUNDINGS
from bnfuzz.numerics.rules import Rules
from bnfuzz.numerics.tracked import CAPPED, TIERS, Tracked, TrackedArithmetic, bounds_product
from bnfuzz.numerics.underflow import lost_to_underflow
from bnfuzz.numerics.values import Float

Variant = Literal["sound", "one-pass", "folded"]
"""`sound`, or a known unstable evaluation of the same exact values: σ² = mean x² − μ², or y = a·x + (β − a·μ)."""


def training(
    arithmetic: TrackedArithmetic, problem: Problem, rules: Rules, variant: Variant = "sound"
) -> dict[str, Tracked]:
    """All outputs of a training step, each stored in its output format; and what no backend gives: x̂, and `dx_lost`,
    by how much dx may miss its bound where intermediates underflow."""
    a = arithmetic
    x = a.array(problem.x)
    mean, deviation, variance = _batch_statistics(a, x, problem, variant)
    norm = _normalise(a, deviation, variance, problem, rules)
    y = _affine(a, x, mean, norm, problem, rules, variant)
    outputs = {
        "batch_mean": a.store(mean, rules.statistics),
        "batch_var": a.store(variance, rules.statistics),
        "y": a.store(y, rules.data),
        "xhat": norm.xhat,
    }
    g = cotangent(a, outputs["y"], problem, rules)
    outputs |= parameter_gradients(a, g, norm, problem, rules)
    outputs["dx"] = input_gradient(a, g, norm, problem, rules)
    outputs["dx_lost"] = a.exact(lost_to_underflow(a, g, norm, problem))
    if problem.running_mean is not None and problem.running_var is not None:
        outputs |= _running_statistics(a, mean, variance, problem, rules)
    return outputs


def inference(arithmetic: TrackedArithmetic, problem: Problem, rules: Rules) -> dict[str, Tracked]:
    """All outputs of an inference step; the running statistics come back as they were. And x̂."""
    a = arithmetic
    assert problem.running_mean is not None and problem.running_var is not None
    x = a.array(problem.x)
    mean = a.array(problem.running_mean, roundings=BUFFER_ROUNDINGS)
    variance = a.array(problem.running_var)
    deviation = a.subtract(x, mean)
    root = _root(a, variance, rules)
    xhat = a.multiply(deviation, root)
    norm = Normalised(deviation, root, xhat)
    scale = root if problem.gamma is None else a.multiply(a.array(problem.gamma), root)

    def folded() -> Tracked:
        shift = a.multiply(mean, scale)
        moved = (
            a.subtract(a.exact(np.zeros(())), shift)
            if problem.beta is None
            else a.subtract(a.array(problem.beta), shift)
        )
        return a.at_risk(a.add(a.multiply(x, scale), moved), a.multiply(x, root), a.multiply(mean, root))

    y = a.admitted(_direct(a, norm.xhat, problem), lambda: _scaled_first(a, norm, problem), folded)
    outputs = {"y": a.store(y, rules.data), "xhat": xhat}
    g = cotangent(a, outputs["y"], problem, rules)
    outputs |= parameter_gradients(a, g, norm, problem, rules)

    def automatic() -> Tracked:
        incoming = g if problem.gamma is None else a.multiply(g, a.array(problem.gamma))
        return a.multiply(incoming, root)

    outputs["dx"] = a.store(a.admitted(a.multiply(g, scale), automatic), rules.data)
    outputs["new_running_mean"] = a.exact(problem.running_mean)
    outputs["new_running_var"] = a.exact(problem.running_var)
    return outputs


def _batch_statistics(
    a: TrackedArithmetic, x: Tracked, problem: Problem, variant: Variant
) -> tuple[Tracked, Tracked, Tracked]:
    """μ, d and σ² (two-pass; the bound covers Welford and Chan merge, which soaks confirm)."""
    mean = (
        a.mean(x, problem.reduced)
        if problem.centred
        else a.exact(np.zeros((x.flag.shape[0], *(1,) * (x.flag.ndim - 1))))
    )
    deviation = a.subtract(x, mean) if problem.centred else x
    squares = a.multiply(deviation, deviation)
    # Merging two halves squares the distance of their means, which is at most twice the sum of squares.
    total = a.total(squares, problem.reduced)
    variance = a.at_risk(a.mean(squares, problem.reduced), a.add(total, total))
    if variant == "one-pass":
        raw_squares = a.mean(a.multiply(x, x), problem.reduced)
        one_pass = a.subtract(raw_squares, a.multiply(mean, mean))
        variance = a.admitted(variance, lambda: one_pass)
    return mean, deviation, variance


def _root(a: TrackedArithmetic, variance: Tracked, rules: Rules) -> Tracked:
    """1/√(var + ε); no evaluation of var + ε is below (max(var − e, 0) + max(ε − e(ε), 0)(1 − 4u))(1 − u).

    A variance of the batch is negative in no evaluation; one from the buffers may be, and is then taken as it is.
    """
    eps = a.scalar(rules.eps)
    rank = variance.flag.ndim
    units = np.array([a.subject.unit_roundoff] * 2 + [a.values.unit_roundoff]).reshape(TIERS, *(1,) * rank)
    kept_eps = np.maximum(rules.eps - eps.e, 0.0).reshape(TIERS, *(1,) * rank)
    value, _ = a.values.split(variance.v)
    with np.errstate(invalid="ignore"):
        least = np.where(value < 0, value - variance.e, np.maximum(value - variance.e, 0.0))
        least = np.where(np.isfinite(least), least, 0.0)
        floor = np.maximum(least + kept_eps * (1 - 4 * units), 0.0) * (1 - units)
    return a.reciprocal_root(a.add(variance, eps), floor)


def _eps_survives(a: TrackedArithmetic, rules: Rules) -> bool:
    smallest = a.underflow_in(a.subject)
    return rules.eps - (a.subject.unit_roundoff * rules.eps + smallest) >= 2 * smallest


def _normalise(
    a: TrackedArithmetic, deviation: Tracked, variance: Tracked, problem: Problem, rules: Rules
) -> Normalised:
    """x̂ = d·r, its error capped by the hard limit."""
    root = _root(a, variance, rules)
    xhat = a.multiply(deviation, root)
    return Normalised(deviation, root, a.limit(xhat, _cap(a, xhat, problem, rules)))


def _cap(a: TrackedArithmetic, xhat: Tracked, problem: Problem, rules: Rules) -> Float:
    return normalised_cap(
        a.values.magnitude(xhat.v),
        n=problem.n,
        unit_roundoff=a.subject.unit_roundoff,
        eps_survives=_eps_survives(a, rules),
        centred=problem.centred,
    )


def _direct(a: TrackedArithmetic, xhat: Tracked, problem: Problem) -> Tracked:
    """x̂·γ + β."""
    y = xhat if problem.gamma is None else a.multiply(xhat, a.array(problem.gamma))
    return y if problem.beta is None else a.add(y, a.array(problem.beta))


def _scaled_first(a: TrackedArithmetic, norm: Normalised, problem: Problem, cap: Float | None = None) -> Tracked:
    """d·(γ·r) + β."""
    scale = norm.root if problem.gamma is None else a.multiply(a.array(problem.gamma), norm.root)
    y = a.multiply(norm.deviation, scale)
    if cap is not None:
        gamma = 1.0 if problem.gamma is None else np.abs(problem.gamma)
        # γ·x̂ with the same centre: |γ| times the cap of x̂, its own two roundings, and two underflows, that of γ·r
        # scaled up by d.
        width = a.values.magnitude(norm.deviation.v) + norm.deviation.e[CAPPED]
        limit = bounds_product(np.asarray(gamma), cap) * (1 + 4 * a.subject.unit_roundoff)
        y = a.limit(y, limit + a.underflow_in(a.subject) * (1 + width))
    return y if problem.beta is None else a.add(y, a.array(problem.beta))


def _affine(
    a: TrackedArithmetic,
    x: Tracked,
    mean: Tracked,
    norm: Normalised,
    problem: Problem,
    rules: Rules,
    variant: Variant,
) -> Tracked:
    """y of a training step, by its two sound forms (and the folded one, where that is asked for)."""

    def folded() -> Tracked:
        scale = norm.root if problem.gamma is None else a.multiply(a.array(problem.gamma), norm.root)
        shift = a.multiply(mean, scale)
        beta = a.exact(np.zeros(())) if problem.beta is None else a.array(problem.beta)
        return a.add(a.multiply(x, scale), a.subtract(beta, shift))

    cap = _cap(a, norm.xhat, problem, rules)
    y = a.admitted(_direct(a, norm.xhat, problem), lambda: _scaled_first(a, norm, problem, cap))
    return a.admitted(y, folded) if variant == "folded" else y


def _running_statistics(
    a: TrackedArithmetic, mean: Tracked, variance: Tracked, problem: Problem, rules: Rules
) -> dict[str, Tracked]:
    """w_old·old + w_new·new, and old + w_new·(new − old); one weight is given, the other is 1 minus it."""
    assert problem.running_mean is not None and problem.running_var is not None
    given = a.scalar(rules.momentum)
    other = a.subtract(a.exact(np.ones(())), given)
    new_weight, old_weight = (given, other) if rules.momentum_weighs == "new" else (other, given)

    def updated(old_values: Float, new: Tracked) -> Tracked:
        old = a.array(old_values)
        weighted = a.add(a.multiply(old_weight, old), a.multiply(new_weight, new))
        return a.store(
            a.admitted(weighted, lambda: a.add(old, a.multiply(new_weight, a.subtract(new, old)))), rules.statistics
        )

    n, ddof = problem.n, rules.running_ddof
    outputs = {"new_running_mean": updated(problem.running_mean, mean)}
    if ddof and n <= ddof:
        # The factor n/(n − ddof) has no value: the backend's documented rule stands in for it.
        kept = rules.single_value_variance == "keep"
        outputs["new_running_var"] = a.exact(problem.running_var) if kept else updated(problem.running_var, variance)
        return outputs
    if ddof:
        variance = a.divide(a.multiply(variance, a.exact(np.asarray(float(n)))), n - ddof)
    outputs["new_running_var"] = updated(problem.running_var, variance)
    return outputs
