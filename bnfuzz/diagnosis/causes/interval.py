"""Interval operations, before any rounding: the value and both ends of a result, from those of the operands.

An end that is NaN means that a NaN certainly went in; where one only may come out, the interval is [-inf, inf].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

Ends = tuple[Any, Any, Any]
"""v, lo, hi: extended-precision arrays."""


class Interval(Protocol):
    """Anything with a value and two ends."""

    v: Any
    lo: Any
    hi: Any


def _span(products: Sequence[Any], a: Interval, b: Interval) -> tuple[Any, Any]:
    """Smallest and largest; where an end is NaN without a NaN having gone in, anything is possible."""
    lo = np.minimum(np.minimum(products[0], products[1]), np.minimum(products[2], products[3]))
    hi = np.maximum(np.maximum(products[0], products[1]), np.maximum(products[2], products[3]))
    return unless_certain(lo, hi, a, b)


def unless_certain(lo: Any, hi: Any, *operands: Interval) -> tuple[Any, Any]:
    doubtful = np.isnan(lo) | np.isnan(hi)
    if not np.any(doubtful):
        return lo, hi
    certain = np.zeros(doubtful.shape, dtype=bool)
    for operand in operands:
        certain = certain | np.isnan(operand.lo) | np.isnan(operand.hi)
    lo = np.where(doubtful, np.where(certain, np.nan, -np.inf), lo)
    return lo, np.where(doubtful, np.where(certain, np.nan, np.inf), hi)


def add(a: Interval, b: Interval) -> Ends:
    return (a.v + b.v, *unless_certain(a.lo + b.lo, a.hi + b.hi, a, b))


def subtract(a: Interval, b: Interval) -> Ends:
    return (a.v - b.v, *unless_certain(a.lo - b.hi, a.hi - b.lo, a, b))


def multiply(a: Interval, b: Interval) -> Ends:
    return (a.v * b.v, *_span((a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi), a, b))


def square(a: Interval) -> Ends:
    """a·a of one and the same operand: never negative."""
    low, high = a.lo * a.lo, a.hi * a.hi
    least = np.where((a.lo <= 0) & (a.hi >= 0), 0.0, np.minimum(low, high))
    return (a.v * a.v, *unless_certain(least, np.maximum(low, high), a))


def divide(a: Interval, b: Interval) -> Ends:
    lo, hi = _span((a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi), a, b)
    through_zero = (b.lo < 0) & (b.hi > 0)
    if np.any(through_zero):
        lo, hi = np.where(through_zero, -np.inf, lo), np.where(through_zero, np.inf, hi)
    v = a.v / b.v
    certain = np.isnan(v) & (b.lo == 0) & (b.hi == 0) & (a.lo == 0) & (a.hi == 0)
    return v, np.where(certain, np.nan, lo), np.where(certain, np.nan, hi)


def root(a: Interval) -> Ends:
    """√a; NaN where a is certainly negative, anything where it may be."""
    below, doubtful = a.hi < 0, (a.lo < 0) & (a.hi >= 0)
    lo, hi = np.sqrt(np.maximum(a.lo, 0.0)), np.sqrt(np.maximum(a.hi, 0.0))
    lo = np.where(below, np.nan, np.where(doubtful, -np.inf, lo))
    return np.sqrt(a.v), lo, np.where(below, np.nan, np.where(doubtful, np.inf, hi))


def larger(a: Interval, b: Interval) -> Ends:
    return np.maximum(a.v, b.v), np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi)


def magnitude(a: Interval) -> Ends:
    inside = (a.lo <= 0) & (a.hi >= 0)
    lo = np.where(inside, 0.0, np.minimum(np.abs(a.lo), np.abs(a.hi)))
    return np.abs(a.v), lo, np.maximum(np.abs(a.lo), np.abs(a.hi))


def negative(a: Interval) -> Ends:
    return -a.v, -a.hi, -a.lo


def power(a: Interval, b: Interval, margin: float) -> Ends:
    """a^b of a non-negative a and an exact b ≥ 0, monotone in a: a^0 is exactly 1, any other is off by the margin."""
    off = np.where(b.v == 0, 0.0, margin)
    lo, hi = np.maximum(a.lo, 0.0) ** b.v, np.maximum(a.hi, 0.0) ** b.v
    return a.v**b.v, lo * (1 - off), hi * (1 + off)


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
