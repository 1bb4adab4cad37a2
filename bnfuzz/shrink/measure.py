"""How large a case is: what shrinking makes smaller, so that it ends and never grows anything.

Cases compare by steps, elements, rank, axis lengths, then by what is not plain about the Spec, then by the values.
"""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Case, Spec

PLAIN_EPS = 1e-5
PLAIN_MOMENTUM = 0.1
PLAIN_VALUE = {"x": 0.0, "gamma": 1.0, "beta": 0.0, "running_mean": 0.0, "running_var": 1.0, "cotangent": 1.0}
"""The value of each array that a reader need not think about."""

_DIGIT = 8
_ZERO = {"cotangent": 1, "gamma": 12, "running_var": 12}
"""Cost of 0 where it is not the plain value: a single 1 among zeros is good, a scale of 0 a case of its own."""

_SHORTENED = 3
_DIGITS = 25

Measure = tuple[int, int, int, int, int, int]


def measure(case: Case) -> Measure:
    """Smaller is simpler; a shrinking step is one that lowers it."""
    spec = case.spec
    values = sum(array_cost(name, array) for name, array in case.inputs.items())
    return (len(spec.steps), spec.size, spec.rank, sum(spec.shape), peculiarity(spec), values)


def peculiarity(spec: Spec) -> int:
    """Number of features of a Spec that a plain one lacks."""
    return (
        spec.has_gamma
        + spec.has_beta
        + spec.has_running
        + (spec.eps not in (PLAIN_EPS, None))
        + (spec.momentum not in (PLAIN_MOMENTUM, None))
        + {"sum": 0, "mean_square": 1, "explicit": 2}[spec.cotangent]
        + (spec.layout_x != "contiguous")
        + (spec.layout_cotangent != "contiguous")
        + (spec.parameter_axes != spec.affine_axes)
        + (spec.rank > 1 and spec.affine_axes[:1] == (0,))
    )


def array_cost(name: str, array: Array) -> int:
    """Of the distinct values of one of a case's arrays, together."""
    format_name = formats.of(array).name
    # NaNs count once each: np.unique of a format without an ordering of NaN keeps them apart.
    distinct = np.unique(np.asarray(array, dtype=np.float64))
    return sum(value_cost(name, float(value), format_name) for value in distinct)


def value_cost(name: str, value: float, format_name: str) -> int:
    """0 for the array's plain value; else by digits first, then the distance of the exponent from 0, then the sign."""
    if value == PLAIN_VALUE[name]:
        return 0
    if value == 0:
        return _ZERO[name]
    if not math.isfinite(value):
        return 400 if math.isnan(value) else 350
    return _finite_cost(abs(value), format_name) + (value < 0)


@lru_cache(maxsize=1 << 16)
def _finite_cost(value: float, format_name: str) -> int:
    exact = Decimal(value)
    digits = _significant(str(exact.as_tuple().digits))
    # The shortest decimal that reads back to the same bits serves too, but is not quite what it seems.
    short = _significant(shortest(value, format_name)) + _SHORTENED
    return _DIGIT * min(digits, short, _DIGITS) + abs(exact.adjusted())


def _significant(text: str) -> int:
    """Number of significant digits of a number written out, trailing zeros left out."""
    digits = "".join(filter(str.isdigit, text.partition("e")[0]))
    return len(digits.strip("0"))


def shortest(value: float, format_name: str) -> str:
    """The shortest decimal, in scientific notation, that the format rounds to the same bits."""
    if format_name == "bfloat16":
        # At most 4 digits tell all its numbers apart.
        texts = [f"{value:.{digits - 1}e}" for digits in range(1, 5)]
        with np.errstate(over="ignore"):
            return next(text for text in texts if formats.round_to(float(text), "bfloat16") == value)
    return np.format_float_scientific(formats.named(format_name).dtype.type(value), unique=True, trim="-")
