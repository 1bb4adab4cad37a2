"""Gradients of a step, in every form that sound kernels evaluate them in. The formulas are stated in formula.py."""

from __future__ import annotations

import numpy as np

from bnfuzz.formats import coarser
from bnfuzz.numerics.problem import Normalised, Problem
from bnfuzz.numerics.roundings import LOSS_ROUNDINGS
from bnfuzz.numerics.rules import Rules
from bnfuzz.numerics.tracked import RUNG, TIERS, Tracked, TrackedArithmetic, bounds_product
from bnfuzz.numerics.values import Float

AUTODIFF_ROUNDINGS = 3
"""Products that automatic differentiation of 1/√ forms beyond the ones written here (r², r³, γr³)."""


def cotangent(a: TrackedArithmetic, stored_y: Tracked, problem: Problem, rules: Rules) -> Tracked:
    """g: as given; 1 for the loss sum(y); 2·y/size for mean(y²).

    That has LOSS_ROUNDINGS, the first one of 1/size, in y's format or in the compute format, whichever is coarser, and
    is flagged where y itself may overflow, or y + y, the sum of the product's two gradients (seen in flax: XLA
    multiplies it by 1/size afterwards).
    """
    if problem.loss == "sum":
        return a.exact(np.ones((1,) * stored_y.flag.ndim))
    if problem.loss == "mean_square":
        fmt = coarser(rules.data, rules.compute)
        two = a.values.lift(np.asarray(2.0))
        doubled = Tracked(a.values.multiply(stored_y.v, two), 2 * stored_y.e, stored_y.flag)
        v = a.values.divide(doubled.v, problem.size)
        e = 2 * stored_y.e / problem.size
        share = fmt.unit_roundoff / problem.size + a.underflow_in(fmt)
        e[:RUNG] += (a.values.magnitude(doubled.v) + doubled.e[:RUNG]) * share
        e[RUNG] += 2 * a.values.unit_roundoff * (a.values.magnitude(v) + e[RUNG]) + a.values.underflow
        flag = a.rounded(stored_y, rules.data, times=0).flag | a.rounded(doubled, fmt, times=0).flag
        flag = flag | (problem.size > fmt.largest)
        return a.rounded(Tracked(v, e, flag), fmt, LOSS_ROUNDINGS - 1)
    assert problem.cotangent is not None
    return a.array(problem.cotangent)


def parameter_gradients(
    a: TrackedArithmetic, cotangent: Tracked, norm: Normalised, problem: Problem, rules: Rules
) -> dict[str, Tracked]:
    """dβ = Σg and dγ = Σ g·x̂ over the axes that the parameters do not have; dγ also as r·Σ g·d."""
    outputs = {}
    if problem.gamma is not None:
        dgamma = a.total(a.multiply(cotangent, norm.xhat), problem.parameter)
        if problem.parameter == problem.reduced:
            outside = a.multiply(norm.root, a.total(a.multiply(cotangent, norm.deviation), problem.parameter))
            scaled_up = problem.n * a.values.magnitude(norm.root.v) + 1
            dgamma = a.admitted(dgamma, lambda: a.same_centre(dgamma, outside, scaled_up))
        outputs["dgamma"] = a.store(dgamma, rules.parameters)
    if problem.beta is not None:
        outputs["dbeta"] = a.store(a.total(_spread(a, cotangent, norm), problem.parameter), rules.parameters)
    return outputs


def input_gradient(
    a: TrackedArithmetic, cotangent: Tracked, norm: Normalised, problem: Problem, rules: Rules
) -> Tracked:
    """dx, closed and as automatic differentiation builds it; stored (in parts, where a backend says so).

    The automatic form goes through r³, g·d and their sums, so it may overflow where the closed one does not: that sets
    the flag. What it may lose by underflow is told by underflow.py.
    """
    gamma = None if problem.gamma is None else a.array(problem.gamma)
    incoming = cotangent if gamma is None else a.multiply(cotangent, gamma)
    # γ comes last where it is one number per group, and belongs to the cotangent where it is not.
    last, inner = (None, incoming) if problem.gamma_varies else (gamma, cotangent)
    scale = norm.root if last is None else a.multiply(last, norm.root)
    along = _along(a, inner, norm, problem)
    centre = a.mean(_spread(a, inner, norm), problem.reduced) if problem.centred else None

    centred = a.subtract(inner if centre is None else a.subtract(inner, centre), along)
    closed = a.multiply(scale, centred)

    def root_last() -> Tracked:
        return closed if last is None else a.multiply(a.multiply(last, centred), norm.root)

    def gamma_last() -> Tracked:
        return closed if last is None else a.multiply(a.multiply(norm.root, centred), last)

    def automatic() -> Tracked:
        straight = a.multiply(incoming, norm.root)
        through = a.multiply(norm.xhat, a.multiply(norm.root, a.mean(a.multiply(incoming, norm.xhat), problem.reduced)))
        through = a.loosened(through, _underflows_of_products(a, norm))
        through = a.rounded(through, rules.compute, AUTODIFF_ROUNDINGS)
        by_deviation = a.subtract(straight, through)
        return a.subtract(by_deviation, a.mean(by_deviation, problem.reduced)) if problem.centred else by_deviation

    def in_parts() -> Tracked:
        direct = a.rounded(a.multiply(scale, inner), rules.data)
        rest = along if centre is None else a.add(centre, along)
        return a.rounded(a.subtract(direct, a.rounded(a.multiply(scale, rest), rules.data)), rules.data)

    forms = [root_last, gamma_last, automatic]
    if rules.dx_parts == "storage":
        forms.append(in_parts)
    dx = a.admitted(closed, *forms)
    square = a.multiply(norm.root, norm.root)
    cube = a.multiply(square, norm.root)
    product = a.multiply(cotangent, norm.deviation)
    through_variance = a.multiply(cube if gamma is None else a.multiply(gamma, cube), a.total(product, problem.reduced))
    dx = a.at_risk(
        dx,
        square,
        through_variance,
        a.total(a.multiply(incoming, norm.deviation), problem.reduced),
        # XLA moves the factor r³ of a sum into its terms (seen in float16): one that overflows spoils the whole sum.
        a.anywhere(a.multiply(incoming, cube), problem.reduced),
        a.multiply(square, a.total(product, problem.reduced)),
        # oneDNN multiplies d by the whole sum Σ g·x̂ before it divides by n.
        a.multiply(norm.deviation, a.total(a.multiply(cotangent, norm.xhat), problem.reduced)),
    )
    return a.store(dx, rules.data)


def _underflows_of_products(a: TrackedArithmetic, norm: Normalised) -> Float:
    """What underflows may make of d·r³·mean(h·d): t each in the products, their sum and its division, scaled up by
    d·r³ = x̂·r², and t in r³·mean(h·d), scaled up by d. For the subject's tiers."""
    xhat, root, deviation = (
        a.values.magnitude(part.v) + part.e[:RUNG] for part in (norm.xhat, norm.root, norm.deviation)
    )
    return a.underflow_in(a.subject) * (bounds_product(3 * xhat, root * root) + deviation)


def _along(a: TrackedArithmetic, cotangent: Tracked, norm: Normalised, problem: Problem) -> Tracked:
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


def _spread(a: TrackedArithmetic, cotangent: Tracked, norm: Normalised) -> Tracked:
    """The cotangent at the full shape of x: a sum over a broadcast axis must count every element."""
    shape = norm.deviation.flag.shape
    if cotangent.flag.shape == shape:
        return cotangent
    v = a.values.add(cotangent.v, a.values.lift(np.zeros(shape)))
    return Tracked(
        v, np.broadcast_to(cotangent.e, (TIERS, *shape)).copy(), np.broadcast_to(cotangent.flag, shape).copy()
    )
