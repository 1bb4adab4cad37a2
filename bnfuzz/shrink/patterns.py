"""Simpler values for a whole array at once, as float64: what the array's format makes of them is for the caller."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bnfuzz.shrink.measure import PLAIN_VALUE

DIGITS = (1, 2, 3, 4, 5, 6, 8, 10, 13)
"""Numbers of significant decimal digits that are tried."""

_LEVELS = (1, 2, 3, 4, 6, 8, 12, 16)
_SPREADS = (1.0, 2.0, 0.5, 4.0, 10.0)
_SMALL = 64

Wide = NDArray[np.float64]


def patterns(name: str, wide: Wide) -> Iterator[Wide]:
    """Everything below, for an array of Inputs that is finite and not empty; what overflows is left out."""
    with np.errstate(all="ignore"):
        found = [np.abs(wide), -wide, *offset_steps(wide), *scaled(wide)]
        found += [*fewer_levels(wide), *fewer_digits(wide), *plain_ones(name, wide)]
    return (values for values in found if np.isfinite(values).all())


def fewer_digits(wide: Wide) -> Iterator[Wide]:
    """To few significant decimal digits, to whole numbers, to binary fractions."""
    distinct, inverse = np.unique(wide, return_inverse=True)
    for digits in DIGITS:
        yield np.array([float(f"{value:.{digits - 1}e}") for value in distinct])[inverse].reshape(wide.shape)
    yield np.round(wide)
    for places in (3, 6, 10):
        yield np.round(wide * 2.0**places) / 2.0**places


def scaled(wide: Wide) -> Iterator[Wide]:
    """By powers of ten, towards a largest magnitude of 1, to two digits."""
    largest = float(np.max(np.abs(wide)))
    if largest > 0:
        exponent = math.floor(math.log10(largest))
        for target in (0, *towards_zero(largest)):
            factor = 10.0 ** (target - exponent) if abs(target - exponent) < 308 else math.nan
            yield np.array([float(f"{value:.1e}") for value in (wide * factor).ravel()]).reshape(wide.shape)


def fewer_levels(wide: Wide) -> Iterator[Wide]:
    """The values moved to few of them, by rank."""
    distinct, inverse = np.unique(wide, return_inverse=True)
    for levels in _LEVELS:
        if levels < len(distinct):
            place = np.arange(len(distinct)) * levels // len(distinct)
            first = np.searchsorted(place, np.arange(levels), side="left")
            yield distinct[first[place]][inverse].reshape(wide.shape)


def plain_ones(name: str, wide: Wide) -> Iterator[Wide]:
    """Of a cotangent: a single 1 among zeros, signs; of anything: everything plain."""
    yield np.full_like(wide, PLAIN_VALUE[name])
    if name == "cotangent":
        yield np.sign(wide)
        for place in range(min(wide.size, 8)):
            single = np.zeros(wide.size)
            single[place] = 1.0
            yield single.reshape(wide.shape)


def offset_steps(wide: Wide) -> Iterator[Wide]:
    """base + unit·pattern, with round bases near the values, round units near their spread."""
    low, high = float(wide.min()), float(wide.max())
    spread = high - low
    if not 0 < spread < math.inf:
        return
    _, ranks = np.unique(wide, return_inverse=True)
    ranks = ranks.reshape(wide.shape).astype(np.float64)
    halves = (wide > (low + spread / 2)).astype(np.float64)
    for factor in _SPREADS if wide.size <= _SMALL else _SPREADS[:1]:
        for unit in round_numbers(spread * factor):
            for pattern in (halves, ranks / max(1.0, ranks.max()), np.round((wide - low) / unit)):
                for base in round_numbers((low + high) / 2):
                    yield base + unit * pattern


def round_numbers(value: float) -> tuple[float, ...]:
    """Near a number: itself to one and two digits, a power of ten, a power of two."""
    if value == 0 or not math.isfinite(value):
        return (0.0,)
    size, sign = abs(value), math.copysign(1.0, value)
    near = [float(f"{size:.0e}"), float(f"{size:.1e}"), 10.0 ** math.floor(math.log10(size))]
    near.append(math.ldexp(1.0, min(math.frexp(size)[1], 1023)))
    return tuple(dict.fromkeys(sign * number for number in near if math.isfinite(number)))


def towards_zero(value: float) -> tuple[int, ...]:
    """Decimal exponents between that of a number and 0: a quarter, a half, three quarters of the way, one step."""
    exponent = math.floor(math.log10(abs(value)))
    return tuple(
        dict.fromkeys(
            (int(exponent / 4), int(exponent / 2), int(exponent * 3 / 4), exponent - (exponent > 0) + (exponent < 0))
        )
    )
