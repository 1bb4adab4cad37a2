"""Interval operations, before any rounding: the value, both ends and the chance of a NaN in a result, from those of the
operands.

An interval holds the numbers from lo to hi, infinities included where an end is one, and NaN where `nan` is set. Both
ends are NaN where nothing but NaN comes out, since a NaN certainly went in. The sign of a zero is not told: either one
may be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

Ends = tuple[Any, Any, Any, Any]
"""v, lo, hi: extended-precision arrays; nan: a boolean one."""


class Interval(Protocol):
    """Anything with a value, two ends and a chance of NaN."""

    v: Any
    lo: Any
    hi: Any
    nan: Any


def _span(products: Sequence[Any], a: Interval, b: Interval) -> tuple[Any, Any]:
    """Smallest and largest; where an end is NaN without a NaN having gone in, anything is possible."""
    lo = np.minimum(np.minimum(products[0], products[1]), np.minimum(products[2], products[3]))
    hi = np.maximum(np.maximum(products[0], products[1]), np.maximum(products[2], products[3]))
    return unless_certain(lo, hi, a, b)


def unless_certain(lo: Any, hi: Any, *operands: Interval) -> tuple[Any, Any]:
    """The ends, [-inf, inf] where one is NaN without a NaN having certainly gone in."""
    doubtful = np.isnan(lo) | np.isnan(hi)
    if not np.any(doubtful):
        return lo, hi
    certain = np.zeros(doubtful.shape, dtype=bool)
    for operand in operands:
        certain = certain | np.isnan(operand.lo) | np.isnan(operand.hi)
    lo = np.where(doubtful, np.where(certain, np.nan, -np.inf), lo)
    return lo, np.where(doubtful, np.where(certain, np.nan, np.inf), hi)


def _holds_zero(a: Interval) -> Any:
    return (a.lo <= 0) & (a.hi >= 0)


def _holds_infinity(a: Interval) -> Any:
    return np.isinf(a.lo) | np.isinf(a.hi)


def _opposite(a: Interval, least: Any, most: Any) -> Any:
    """Where a and an interval with these ends hold infinities whose sum is NaN."""
    return (np.isposinf(a.hi) & np.isneginf(least)) | (np.isneginf(a.lo) & np.isposinf(most))


def add(a: Interval, b: Interval) -> Ends:
    nan = a.nan | b.nan | _opposite(a, b.lo, b.hi)
    return (a.v + b.v, *unless_certain(a.lo + b.lo, a.hi + b.hi, a, b), nan)


def subtract(a: Interval, b: Interval) -> Ends:
    nan = a.nan | b.nan | _opposite(a, -b.hi, -b.lo)
    return (a.v - b.v, *unless_certain(a.lo - b.hi, a.hi - b.lo, a, b), nan)


def multiply(a: Interval, b: Interval) -> Ends:
    nan = a.nan | b.nan | (_holds_zero(a) & _holds_infinity(b)) | (_holds_infinity(a) & _holds_zero(b))
    return (a.v * b.v, *_span((a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi), a, b), nan)


def square(a: Interval) -> Ends:
    """a·a of one and the same operand: never negative."""
    low, high = a.lo * a.lo, a.hi * a.hi
    least = np.where(_holds_zero(a), 0.0, np.minimum(low, high))
    return (a.v * a.v, *unless_certain(least, np.maximum(low, high), a), a.nan)


def divide(a: Interval, b: Interval) -> Ends:
    """a/b; anything where b may be 0, from either side."""
    lo, hi = _span((a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi), a, b)
    nothing = (b.lo == 0) & (b.hi == 0) & (a.lo == 0) & (a.hi == 0)
    certain = nothing | np.isnan(a.lo) | np.isnan(b.lo)
    anything = _holds_zero(b) & ~certain
    lo, hi = np.where(anything, -np.inf, lo), np.where(anything, np.inf, hi)
    nan = a.nan | b.nan | (_holds_zero(a) & _holds_zero(b)) | (_holds_infinity(a) & _holds_infinity(b))
    return a.v / b.v, np.where(certain, np.nan, lo), np.where(certain, np.nan, hi), nan


def root(a: Interval) -> Ends:
    """√a; NaN where a is certainly negative, anything where it may be."""
    below, doubtful = a.hi < 0, (a.lo < 0) & (a.hi >= 0)
    lo, hi = np.sqrt(np.maximum(a.lo, 0.0)), np.sqrt(np.maximum(a.hi, 0.0))
    lo = np.where(below, np.nan, np.where(doubtful, -np.inf, lo))
    return np.sqrt(a.v), lo, np.where(below, np.nan, np.where(doubtful, np.inf, hi)), a.nan | (a.lo < 0)


def larger(a: Interval, b: Interval) -> Ends:
    """The larger one, NaN where either is, as np.maximum has it."""
    return np.maximum(a.v, b.v), np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi), a.nan | b.nan


def magnitude(a: Interval) -> Ends:
    lo = np.where(_holds_zero(a), 0.0, np.minimum(np.abs(a.lo), np.abs(a.hi)))
    return np.abs(a.v), lo, np.maximum(np.abs(a.lo), np.abs(a.hi)), a.nan


def negative(a: Interval) -> Ends:
    return -a.v, -a.hi, -a.lo, a.nan


def power(a: Interval, b: Interval, margin: float, loss: float) -> Ends:
    """a^b of a non-negative a and an exact finite b ≥ 0, monotone in a: a^0 is exactly 1, any other is off by the
    relative margin and what an underflow loses."""
    off, lost = np.where(b.v == 0, 0.0, margin), np.where(b.v == 0, 0.0, loss)
    lo, hi = np.maximum(a.lo, 0.0) ** b.v, np.maximum(a.hi, 0.0) ** b.v
    return a.v**b.v, np.maximum(lo * (1 - off) - lost, 0.0), hi * (1 + off) + lost, a.nan & (b.v != 0)


def total(terms: Interval, axis: int, keepdims: bool, growth: float, largest: float) -> Ends:
    """A sum in any order, off by `growth` times the sum of magnitudes.

    Where all terms of one sign together pass `largest`, so may a partial sum; where those of either sign do, two
    infinities may meet.
    """

    def along(array: Any) -> Any:
        return np.sum(array, axis=axis, keepdims=keepdims)

    def anywhere(array: Any) -> Any:
        return np.any(array, axis=axis, keepdims=keepdims)

    each_lo, each_hi = _rounded_terms(terms, growth)
    least, most = along(each_lo), along(each_hi)
    # A sum of numbers of one sign keeps it, in any order.
    lo = np.where(anywhere(terms.lo < 0), least, np.maximum(least, 0.0))
    hi = np.where(anywhere(terms.hi > 0), most, np.minimum(most, 0.0))
    above = along(np.maximum(each_hi, 0.0)) > largest
    below = along(np.minimum(each_lo, 0.0)) < -largest
    certain = anywhere(np.isnan(terms.lo))
    return (along(terms.v), *_passing(lo, hi, above, below, certain), anywhere(terms.nan) | (above & below))


def running_sums(terms: Interval, axis: int, growth: float, largest: float) -> Ends:
    """All partial sums from left to right. One that passes `largest` stays infinite, or becomes NaN."""

    def along(array: Any) -> Any:
        return np.cumsum(array, axis=axis)

    def so_far(array: Any) -> Any:
        return np.logical_or.accumulate(array, axis=axis)

    lo, hi = map(along, _rounded_terms(terms, growth))
    above = so_far(np.isposinf(terms.hi) | (hi > largest))
    below = so_far(np.isneginf(terms.lo) | (lo < -largest))
    certain = so_far(np.isnan(terms.lo))
    return (along(terms.v), *_passing(lo, hi, above, below, certain), so_far(terms.nan) | (above & below))


def _rounded_terms(terms: Interval, growth: float) -> tuple[Any, Any]:
    """Ends of t − growth·|t| and of t + growth·|t|: each term with its own share of the sum's error.

    Both increase with t where growth is below 1; beyond that either end may be the extreme one.
    """

    def less(t: Any) -> Any:
        return np.where(t >= 0, t * (1 - growth), t * (1 + growth))

    def more(t: Any) -> Any:
        return np.where(t >= 0, t * (1 + growth), t * (1 - growth))

    if growth < 1:
        return less(terms.lo), more(terms.hi)
    return np.minimum(less(terms.lo), less(terms.hi)), np.maximum(more(terms.lo), more(terms.hi))


def _passing(lo: Any, hi: Any, above: Any, below: Any, certain: Any) -> tuple[Any, Any]:
    """The ends of sums that may pass the largest number; without an end where infinities met on the way."""
    lo = np.where(certain, np.nan, np.where(below | np.isnan(lo), -np.inf, lo))
    return lo, np.where(certain, np.nan, np.where(above | np.isnan(hi), np.inf, hi))


OPERATIONS: dict[Any, Callable[..., Ends]] = {
    np.add: add,
    np.subtract: subtract,
    np.multiply: multiply,
    np.divide: divide,
    np.sqrt: root,
    np.maximum: larger,
    np.absolute: magnitude,
    np.negative: negative,
}
"""The operations that kernels are made of, by NumPy's name for them."""
