"""What underflow on the way may take from dx beyond its bound: `range` up to there, and no farther."""

from __future__ import annotations

import numpy as np

from bnfuzz.numerics.problem import Normalised, Problem
from bnfuzz.numerics.tracked import RAW, Flag, Tracked, TrackedArithmetic, bounds_product
from bnfuzz.numerics.values import Float

HALF = 0.5
"""The derivative of 1/√s is −½·r³; half of a cube that is just normal underflows (seen in flax at σ = 4e12)."""

Ends = tuple[Float, Float]
"""The smallest and the largest magnitude that an evaluation may give, underflow apart."""


def lost_to_underflow(a: TrackedArithmetic, cotangent: Tracked, norm: Normalised, problem: Problem) -> Float:
    """How much farther from dx the automatic form may be where what it goes through is subnormal.

    That is only what goes through the variance, γ·r·x̂·mean(g·x̂) = d·γr³·mean(g·d). Of it r², r³/2, γr³/2 and
    γr³Σ(g·d)/2n may each be rounded among subnormals, or flushed; and where r² or r³ is moved into the sum, each of
    its terms, scaled up by d_i and then by d (or r·d).
    """
    gamma = None if problem.gamma is None else a.array(problem.gamma)
    incoming = cotangent if gamma is None else a.multiply(cotangent, gamma)
    whole = a.multiply(norm.xhat, a.multiply(norm.root, a.mean(a.multiply(incoming, norm.xhat), problem.reduced)))
    root, width = _ends(a, norm.root), _ends(a, norm.deviation)[1]
    square = _times(root, root)
    cube = _times(square, root)
    scaled = cube if gamma is None else _times(cube, _ends(a, gamma))
    through = _times(scaled, _ends(a, a.total(a.multiply(cotangent, norm.deviation), problem.reduced)))
    halves = [(low * HALF, high * HALF) for low, high in (cube, scaled)]
    share = lost_share(a, square, *halves, (through[0] * HALF / problem.n, through[1] * HALF / problem.n))

    def in_terms(factor: Ends) -> Float:
        each = bounds_product(width, lost_alone(a, _times(_ends(a, incoming), factor)))
        return np.sum(each, axis=problem.reduced, keepdims=True) / problem.n

    lost = bounds_product(_ends(a, whole)[1], share)
    return lost + 2 * bounds_product(width, in_terms(cube) + bounds_product(root[1], in_terms(square)))


def lost_alone(a: TrackedArithmetic, ends: Ends) -> Float:
    """What rounding a number between `ends` may lose where it is subnormal (no more than it is), and 0 elsewhere."""
    return np.where(_subnormal(a, ends), np.minimum(ends[1], a.underflow_in(a.subject)), 0.0)


def lost_share(a: TrackedArithmetic, *factors: Ends) -> Float:
    """Which share of a product is lost or gained where intermediates between these ends are subnormal.

    Each is off by the factor 1 ± half a subnormal over itself, at most 2, or flushed to 0.
    """
    half = a.subject.smallest_subnormal / 2
    up = down = np.ones(())
    for ends in factors:
        low, tiny = ends[0], _subnormal(a, ends)
        # Half of float64's smallest is no float64.
        off = np.where(tiny, half / np.maximum(low, half) if half else 1.0, 0.0)
        up = up * (1 + off)
        down = down * np.where(tiny & a.flushes, 0.0, 1 - off)
    return np.maximum(up - 1, 1 - down)


def _subnormal(a: TrackedArithmetic, ends: Ends) -> Flag:
    low, high = ends
    tiny: Flag = (high > 0) & (low < a.subject.smallest_normal)
    return tiny


def _ends(a: TrackedArithmetic, value: Tracked) -> Ends:
    magnitude = a.values.magnitude(value.v)
    return np.maximum(magnitude - value.e[RAW], 0.0), magnitude + value.e[RAW]


def _times(first: Ends, second: Ends) -> Ends:
    return bounds_product(first[0], second[0]), bounds_product(first[1], second[1])
