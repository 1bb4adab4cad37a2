"""Passes that leave the Spec as it is: fewer distinct values, rounder values."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Case, Inputs
from bnfuzz.formats import FormatName
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.block import Block
from bnfuzz.shrink.measure import PLAIN_VALUE, value_cost
from bnfuzz.shrink.patterns import DIGITS, Wide, patterns, towards_zero

MOST_VALUES = 12
"""Distinct values of an array that are simplified one by one; the most complicated first."""


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
            yield Block(f"rounder {name}", tuple(_with(case, name, values) for values in patterns(name, wide)))


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
    near += [float(f"{value:.{digits - 1}e}") for digits in DIGITS]
    near += [math.floor(value * 8) / 8, float(math.trunc(value))] if abs(value) < 1e15 else []
    if value:
        near.append(math.copysign(math.ldexp(1.0, min(math.frexp(value)[1], 1023)), value))
        near.append(math.copysign(10.0 ** math.floor(math.log10(abs(value))), value))
        near += [math.copysign(10.0**exponent, value) for exponent in towards_zero(value)]
    with np.errstate(over="ignore"):
        stored = [formats.round_to(number, format_name) for number in near]
    return tuple(dict.fromkeys(number for number in stored if math.isfinite(number)))
