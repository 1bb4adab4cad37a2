"""Numbers read off an output, in the shortest words that are true."""

from __future__ import annotations

import math

from bnfuzz import formats
from bnfuzz.formats import FormatName

DIGITS = 6
"""A constant in somebody's code has hardly more."""

NARROWER: tuple[FormatName, ...] = ("float32", "bfloat16", "float16")


def shortest(low: float, high: float, stored: FormatName = "float64") -> float | None:
    """The decimal of fewest digits that lies in [low, high] once it is stored in the format; None beyond DIGITS."""
    for digits in range(1, DIGITS + 1):
        decimal = float(f"{(low + high) / 2:.{digits}g}")
        if low <= formats.round_to(decimal, stored) <= high:
            return decimal
    return None


def constant(low: float, high: float) -> str:
    """What number of a program lies in [low, high]: a decimal, or a decimal stored in a narrower format."""
    if shortest(low, high) is not None:
        return repr(shortest(low, high))
    for name in NARROWER:
        decimal = shortest(low, high, name)
        if decimal is not None:
            return f"{formats.round_to(decimal, name)!r}, the {name} nearest to {decimal!r}"
    return f"between {low!r} and {high!r}"


def power(value: float) -> str:
    """2^k for powers of two, else a few digits."""
    mantissa, exponent = math.frexp(abs(value))
    sign = "-" if value < 0 else ""
    return f"{sign}2^{exponent - 1}" if mantissa == 0.5 else f"{value:.6g}"
