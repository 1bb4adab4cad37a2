"""The mathematics of batch normalization, stated once, over tracked arithmetic.

Training, for one channel of n values:

    μ = mean x      d = x − μ      σ² = mean d²      r = 1/√(σ² + ε)      x̂ = d·r      y = γ·x̂ + β
    dβ = Σg         dγ = Σ g·x̂     dx = γ·r·(g − mean g − x̂·mean(g·x̂))
    mean' = w_old·mean + w_new·μ                 var' = w_old·var + w_new·σ²·n/(n − ddof)

Inference:

    x̂ = (x − mean)/√(var + ε)      y = γ·x̂ + β      dx = γ·g/√(var + ε)      dγ = Σ g·x̂      dβ = Σg

The cotangent g is given, or that of the loss sum(y) (g = 1) or mean(y²) (g = 2y/size, of the stored y).
Arrays are (trials, *shape); statistics and parameters keep their reduced axes as length 1. Where sound kernels
evaluate a quantity in different ways, each way is a form of its own, and the bound is the largest over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bnfuzz.case import Cotangent
from bnfuzz.formats import coarser
from bnfuzz.numerics.limits import normalised_cap
from bnfuzz.numerics.rules import Rules
from bnfuzz.numerics.tracked import RUNG, TIERS, Tracked, TrackedArithmetic
from bnfuzz.numerics.values import Float

AUTODIFF_ROUNDINGS = 3
"""Products that automatic differentiation of 1/√ forms beyond the ones written here (r², r³, γr³)."""

Variant = Literal["sound", "one-pass", "folded"]
"""`sound`, or a known unstable evaluation of the same exact values: σ² = mean x² − μ², or y = a·x + (β − a·μ)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Finite float64 arrays that broadcast against x, and which axes (negative) are summed over.

    reduced     axes of the statistics
    parameter   axes that gradients of gamma and beta are summed over
    centred     False for RMS norm, where μ = 0
    """

    x: Float
    gamma: Float | None
    beta: Float | None
    running_mean: Float | None
    running_var: Float | None
    cotangent: Float | None
    loss: Cotangent
    size: int
    n: int
    reduced: tuple[int, ...]
    parameter: tuple[int, ...]
    centred: bool = True


@dataclass(frozen=True, eq=False)
class _Normalised:
    """What both modes hand on: the centred data, 1/√(var + ε), and their product."""

    deviation: Tracked
    root: Tracked
    xhat: Tracked


def training(
    arithmetic: TrackedArithmetic, problem: Problem, rules: Rules, variant: Variant = "sound"
) -> dict[str, Tracked]:
    """All outputs of a training step, each stored in its output format; and x̂, which no backend gives."""
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
    cotangent = _cotangent(a, outputs["y"], problem, rules)
    outputs |= _parameter_gradients(a, cotangent, norm, problem, rules)
    outputs["dx"] = _input_gradient(a, cotangent, norm, problem, rules)
    if problem.running_mean is not None and problem.running_var is not None:
        outputs |= _running_statistics(a, mean, variance, problem, rules)
    return outputs


def inference(arithmetic: TrackedArithmetic, problem: Problem, rules: Rules) -> dict[str, Tracked]:
    """All outputs of an inference step; the running statistics come back as they were. And x̂."""
    a = arithmetic
    assert problem.running_mean is not None and problem.running_var is not None
    x = a.array(problem.x)
    # Two units: a kernel that folds the mean into the shift needs them (one and a half were not enough).
    mean = a.array(problem.running_mean, roundings=2.0)
    variance = a.array(problem.running_var)
    deviation = a.subtract(x, mean)
    root = _root(a, variance, rules)
    xhat = a.multiply(deviation, root)
    norm = _Normalised(deviation, root, xhat)
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
    cotangent = _cotangent(a, outputs["y"], problem, rules)
    outputs |= _parameter_gradients(a, cotangent, norm, problem, rules)
    outputs["dx"] = a.store(a.multiply(cotangent, scale), rules.data)
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
    variance = a.mean(a.multiply(deviation, deviation), problem.reduced)
    if variant == "one-pass":
        squares = a.mean(a.multiply(x, x), problem.reduced)
        one_pass = a.subtract(squares, a.multiply(mean, mean))
        variance = a.admitted(variance, lambda: one_pass)
    return mean, deviation, variance


def _root(a: TrackedArithmetic, variance: Tracked, rules: Rules) -> Tracked:
    """1/√(var + ε), where no evaluation makes var negative: floor = max(var − e, 0) + max(ε − e(ε), 0)(1 − 4u)."""
    eps = a.scalar(rules.eps)
    rank = variance.flag.ndim
    units = np.array([a.subject.unit_roundoff] * 2 + [a.values.unit_roundoff]).reshape(TIERS, *(1,) * rank)
    kept_eps = np.maximum(rules.eps - eps.e, 0.0).reshape(TIERS, *(1,) * rank)
    magnitude = a.values.magnitude(variance.v)
    with np.errstate(invalid="ignore"):
        kept_variance = np.where(np.isinf(variance.e), 0.0, np.maximum(magnitude - variance.e, 0.0))
    return a.reciprocal_root(a.add(variance, eps), kept_variance + kept_eps * (1 - 4 * units))


def _eps_survives(a: TrackedArithmetic, rules: Rules) -> bool:
    smallest = a.subject.smallest_normal if rules.flushes else a.subject.smallest_subnormal / 2
    return rules.eps - (a.subject.unit_roundoff * rules.eps + smallest) >= 2 * smallest


def _normalise(
    a: TrackedArithmetic, deviation: Tracked, variance: Tracked, problem: Problem, rules: Rules
) -> _Normalised:
    """x̂ = d·r, its error capped by the hard limit."""
    root = _root(a, variance, rules)
    xhat = a.multiply(deviation, root)
    return _Normalised(deviation, root, a.limit(xhat, _cap(a, xhat, problem, rules)))


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


def _scaled_first(a: TrackedArithmetic, norm: _Normalised, problem: Problem, cap: Float | None = None) -> Tracked:
    """d·(γ·r) + β."""
    scale = norm.root if problem.gamma is None else a.multiply(a.array(problem.gamma), norm.root)
    y = a.multiply(norm.deviation, scale)
    if cap is not None:
        gamma = 1.0 if problem.gamma is None else np.abs(problem.gamma)
        # γ·x̂ with the same centre: |γ| times the cap of x̂, and its own two roundings.
        y = a.limit(y, gamma * cap * (1 + 4 * a.subject.unit_roundoff))
    return y if problem.beta is None else a.add(y, a.array(problem.beta))


def _affine(
    a: TrackedArithmetic,
    x: Tracked,
    mean: Tracked,
    norm: _Normalised,
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


def _cotangent(a: TrackedArithmetic, stored_y: Tracked, problem: Problem, rules: Rules) -> Tracked:
    """g: as given; 1 for the loss sum(y); 2·y/size for mean(y²), whose three roundings are in y's format
    or in the compute format, whichever is coarser, and which is flagged where y itself may overflow."""
    if problem.loss == "sum":
        return a.exact(np.ones((1,) * stored_y.flag.ndim))
    if problem.loss == "mean_square":
        doubled = Tracked(a.values.multiply(stored_y.v, a.values.lift(np.asarray(2.0))), 2 * stored_y.e, stored_y.flag)
        v = a.values.divide(doubled.v, problem.size)
        e = doubled.e / problem.size
        e[RUNG] += 2 * a.values.unit_roundoff * (a.values.magnitude(v) + e[RUNG]) + a.values.underflow
        flag = a.rounded(stored_y, rules.data, times=0).flag
        return a.rounded(Tracked(v, e, flag), coarser(rules.data, rules.compute), 3)
    assert problem.cotangent is not None
    return a.array(problem.cotangent)


def _parameter_gradients(
    a: TrackedArithmetic, cotangent: Tracked, norm: _Normalised, problem: Problem, rules: Rules
) -> dict[str, Tracked]:
    """dβ = Σg and dγ = Σ g·x̂ over the axes that the parameters do not have; dγ also as r·Σ g·d."""
    outputs = {}
    if problem.gamma is not None:
        dgamma = a.total(a.multiply(cotangent, norm.xhat), problem.parameter)
        if problem.parameter == problem.reduced:
            outside = a.multiply(norm.root, a.total(a.multiply(cotangent, norm.deviation), problem.reduced))
            scaled_up = problem.n * a.values.magnitude(norm.root.v) + 1
            dgamma = a.admitted(dgamma, lambda: a.same_centre(dgamma, outside, scaled_up))
        outputs["dgamma"] = a.store(dgamma, rules.parameters)
    if problem.beta is not None:
        outputs["dbeta"] = a.store(a.total(_spread(a, cotangent, norm), problem.parameter), rules.parameters)
    return outputs


def _input_gradient(
    a: TrackedArithmetic, cotangent: Tracked, norm: _Normalised, problem: Problem, rules: Rules
) -> Tracked:
    """dx, closed and as automatic differentiation builds it; stored (in parts, where a backend says so).

    The automatic form goes through r³, g·d and their sums, so it may overflow or underflow where the closed one
    does not: that sets the flag.
    """
    gamma = None if problem.gamma is None else a.array(problem.gamma)
    scale = norm.root if gamma is None else a.multiply(gamma, norm.root)
    along = _along(a, cotangent, norm, problem)
    centre = a.mean(_spread(a, cotangent, norm), problem.reduced) if problem.centred else None

    centred = a.subtract(cotangent if centre is None else a.subtract(cotangent, centre), along)
    closed = a.multiply(scale, centred)

    def root_last() -> Tracked:
        return closed if gamma is None else a.multiply(a.multiply(gamma, centred), norm.root)

    def gamma_last() -> Tracked:
        return closed if gamma is None else a.multiply(a.multiply(norm.root, centred), gamma)

    def automatic() -> Tracked:
        incoming = cotangent if gamma is None else a.multiply(cotangent, gamma)
        straight = a.multiply(incoming, norm.root)
        through = a.multiply(norm.xhat, a.multiply(norm.root, a.mean(a.multiply(incoming, norm.xhat), problem.reduced)))
        through = a.rounded(through, rules.compute, AUTODIFF_ROUNDINGS)
        by_deviation = a.subtract(straight, through)
        return a.subtract(by_deviation, a.mean(by_deviation, problem.reduced)) if problem.centred else by_deviation

    def in_parts() -> Tracked:
        direct = a.rounded(a.multiply(scale, cotangent), rules.data)
        rest = along if centre is None else a.add(centre, along)
        return a.rounded(a.subtract(direct, a.rounded(a.multiply(scale, rest), rules.data)), rules.data)

    forms = [root_last, gamma_last, automatic]
    if rules.dx_parts == "storage":
        forms.append(in_parts)
    dx = a.admitted(closed, *forms)
    square = a.multiply(norm.root, norm.root)
    cube = a.multiply(square, norm.root)
    scaled_cube = cube if gamma is None else a.multiply(gamma, cube)
    product = a.multiply(cotangent, norm.deviation)
    through_variance = a.multiply(scaled_cube, a.total(product, problem.reduced))
    dx = a.at_risk(
        dx,
        a.may_underflow(square),
        a.may_underflow(cube),
        a.may_underflow(scaled_cube),
        product,
        a.may_underflow(through_variance),
    )
    return a.store(dx, rules.data)


def _along(a: TrackedArithmetic, cotangent: Tracked, norm: _Normalised, problem: Problem) -> Tracked:
    """x̂·mean(g·x̂), also with r outside the mean, first or last: far from r = 1 these scale underflows differently."""
    root, width = a.values.magnitude(norm.root.v), a.values.magnitude(norm.deviation.v)
    projection = a.mean(a.multiply(cotangent, norm.xhat), problem.reduced)
    outside = a.multiply(norm.root, a.mean(a.multiply(cotangent, norm.deviation), problem.reduced))
    projection = a.admitted(projection, lambda: a.same_centre(projection, outside, 2 * root + 1))
    along = a.multiply(norm.xhat, projection)
    root_first = a.multiply(norm.deviation, a.multiply(norm.root, projection))
    root_last = a.multiply(a.multiply(norm.deviation, projection), norm.root)
    return a.admitted(
        along,
        lambda: a.same_centre(along, root_first, 2 * width + 1),
        lambda: a.same_centre(along, root_last, 2 * root + 1),
    )


def _spread(a: TrackedArithmetic, cotangent: Tracked, norm: _Normalised) -> Tracked:
    """The cotangent at the full shape of x: a sum over a broadcast axis must count every element."""
    shape = norm.deviation.flag.shape
    if cotangent.flag.shape == shape:
        return cotangent
    v = a.values.add(cotangent.v, a.values.lift(np.zeros(shape)))
    return Tracked(
        v, np.broadcast_to(cotangent.e, (TIERS, *shape)).copy(), np.broadcast_to(cotangent.flag, shape).copy()
    )


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
