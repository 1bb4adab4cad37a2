"""Passes that leave the Spec as it is: fewer distinct values, rounder values."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bnfuzz import formats
from bnfuzz.case import Array, Case, Inputs
from bnfuzz.formats import FormatName
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.block import Block
from bnfuzz.shrink.measure import PLAIN_VALUE, value_cost

MOST_VALUES = 12
"""Distinct values of an array that are simplified one by one; the most complicated first."""

_LEVELS = (1, 2, 3, 4, 6, 8, 12, 16)
_DIGITS = (1, 2, 3, 4, 5, 6, 8, 10, 13)
_SPREADS = (1.0, 2.0, 0.5, 4.0, 10.0)
_SMALL = 64

Wide = NDArray[np.float64]


def _with(case: Case, name: str, values: Wide) -> Case:
    """The case with one array replaced, rounded to that array's format."""
    arrays = dict(case.inputs.items())
    with np.errstate(over="ignore"):
        arrays[name] = (values + 0.0).astype(arrays[name].dtype)  # no -0.0
    return Case(spec=case.spec, inputs=Inputs(**arrays))


def whole_arrays(case: Case, verdict: Verdict) -> Iterator[Block]:
    """All values of an array at once: few levels, few digits, a round offset with small whole steps on it."""
    del verdict
    for name, array in case.inputs.items():
        wide = np.asarray(array, dtype=np.float64)
        if np.isfinite(wide).all() and wide.size:
            with np.errstate(all="ignore"):
                patterns = [np.abs(wide), -wide, *_offsets(wide), *_levels(wide), *_digits(wide), *_others(name, wide)]
            sound = [values for values in patterns if np.isfinite(values).all()]
            yield Block(f"rounder {name}", tuple(_with(case, name, values) for values in sound))


def _digits(wide: Wide) -> Iterator[Wide]:
    distinct, inverse = np.unique(wide, return_inverse=True)
    for digits in _DIGITS:
        yield np.array([float(f"{value:.{digits - 1}e}") for value in distinct])[inverse].reshape(wide.shape)
    yield np.round(wide)
    for places in (3, 6, 10):
        yield np.round(wide * 2.0**places) / 2.0**places


def _levels(wide: Wide) -> Iterator[Wide]:
    """The values moved to few of them, by rank."""
    distinct, inverse = np.unique(wide, return_inverse=True)
    for levels in _LEVELS:
        if levels < len(distinct):
            place = np.arange(len(distinct)) * levels // len(distinct)
            first = np.searchsorted(place, np.arange(levels), side="left")
            yield distinct[first[place]][inverse].reshape(wide.shape)


def _others(name: str, wide: Wide) -> Iterator[Wide]:
    """Of a cotangent: a single 1 among zeros, signs; of anything: everything plain."""
    yield np.full_like(wide, PLAIN_VALUE[name])
    if name == "cotangent":
        yield np.sign(wide)
        for place in range(min(wide.size, 8)):
            single = np.zeros(wide.size)
            single[place] = 1.0
            yield single.reshape(wide.shape)


def _offsets(wide: Wide) -> Iterator[Wide]:
    """base + unit·pattern, with round bases near the values, round units near their spread."""
    low, high = float(wide.min()), float(wide.max())
    spread = high - low
    if not 0 < spread < math.inf:
        return
    _, ranks = np.unique(wide, return_inverse=True)
    ranks = ranks.reshape(wide.shape).astype(np.float64)
    halves = (wide > (low + spread / 2)).astype(np.float64)
    for factor in _SPREADS if wide.size <= _SMALL else _SPREADS[:1]:
        for unit in _round_numbers(spread * factor):
            for pattern in (halves, ranks / max(1.0, ranks.max()), np.round((wide - low) / unit)):
                for base in _round_numbers((low + high) / 2):
                    yield base + unit * pattern


def _round_numbers(value: float) -> tuple[float, ...]:
    """Near a number: one and two digits, a power of ten, a power of two, 1 where it is not far."""
    if value == 0 or not math.isfinite(value):
        return (0.0,)
    size, sign = abs(value), math.copysign(1.0, value)
    near = [float(f"{size:.0e}"), float(f"{size:.1e}"), 10.0 ** math.floor(math.log10(size))]
    near.append(math.ldexp(1.0, min(math.frexp(size)[1], 1023)))
    return tuple(dict.fromkeys(sign * number for number in near if math.isfinite(number)))


def single_values(case: Case, verdict: Verdict) -> Iterator[Block]:
    """One distinct value of an array changed for a simpler one, or for another that is there already."""
    del verdict
    for name, array in case.inputs.items():
        wide = np.asarray(array, dtype=np.float64)
        format_name = formats.of(array).name
        plain = PLAIN_VALUE[name]
        distinct = [float(value) for value in np.unique(wide)]
        distinct.sort(key=lambda value: value_cost(name, value, format_name), reverse=True)
        cases = []
        for value in distinct[:MOST_VALUES]:
            cost = value_cost(name, value, format_name)
            for simpler in _simpler(value, format_name, plain):
                if value_cost(name, simpler, format_name) < cost:
                    cases.append(_with(case, name, _replaced(wide, value, simpler)))
            cases += [_with(case, name, _replaced(wide, value, other)) for other in distinct if other != value][:4]
        if cases:
            yield Block(f"simpler values in {name}", tuple(cases))


def _replaced(wide: Array, value: float, other: float) -> Wide:
    same = np.isnan(wide) if math.isnan(value) else wide == value
    return np.where(same, other, wide)


def _simpler(value: float, format_name: FormatName, plain: float) -> tuple[float, ...]:
    """Values of the format that may be simpler than this one."""
    if not math.isfinite(value):
        return (plain, 0.0, 1.0, abs(value)) if not math.isnan(value) else (plain, 0.0, 1.0)
    near = [plain, 0.0, 1.0, -1.0, abs(value), float(round(value))]
    near += [float(f"{value:.{digits - 1}e}") for digits in _DIGITS]
    near += [math.floor(value * 8) / 8, float(math.trunc(value))] if abs(value) < 1e15 else []
    if value:
        near.append(math.copysign(math.ldexp(1.0, min(math.frexp(value)[1], 1023)), value))
        near.append(math.copysign(10.0 ** math.floor(math.log10(abs(value))), value))
    stored = (formats.round_to(number, format_name) for number in near)
    return tuple(dict.fromkeys(number for number in stored if math.isfinite(number)))
