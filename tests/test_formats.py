"""The formats' numbers are those that NumPy and ml_dtypes state, and rounding is exact."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.errors import UsageError
from bnfuzz.formats import FORMATS, Format

every_format = pytest.mark.parametrize("kind", FORMATS.values(), ids=lambda kind: kind.name)


@every_format
def test_against_the_libraries_own_limits(kind: Format) -> None:
    info: Any = ml_dtypes.finfo(kind.dtype)
    assert kind.bits == info.bits
    assert kind.unit_roundoff == float(info.eps) / 2
    assert kind.smallest_normal == float(info.smallest_normal)
    assert kind.smallest_subnormal == float(info.smallest_subnormal)
    assert kind.largest == float(info.max)
    assert kind.bits_dtype.itemsize == kind.dtype.itemsize == kind.bits // 8


@every_format
def test_the_numbers_next_to_one(kind: Format) -> None:
    u = kind.unit_roundoff
    assert formats.round_to(1 + 2 * u, kind.name) == 1 + 2 * u
    assert formats.round_to(1 + u, kind.name) == 1.0
    assert formats.round_to(1 - u, kind.name) == 1 - u


@every_format
def test_the_edges(kind: Format) -> None:
    with np.errstate(over="ignore", under="ignore"):
        assert formats.round_to(kind.largest, kind.name) == kind.largest
        assert formats.round_to(kind.smallest_subnormal, kind.name) == kind.smallest_subnormal
        if kind.name != "float64":
            assert formats.round_to(kind.largest * (1 + kind.unit_roundoff), kind.name) == float("inf")
            assert formats.round_to(kind.smallest_subnormal / 2, kind.name) == 0.0
            assert formats.round_to(-kind.smallest_subnormal / 2, kind.name) == 0.0


@given(st.sampled_from(sorted(FORMATS)), st.floats(min_value=-60000, max_value=60000))
def test_rounding_errs_by_at_most_u(name: str, value: float) -> None:
    kind = formats.named(name)
    rounded = formats.round_to(value, name)
    assert formats.round_to(rounded, name) == rounded
    assert abs(rounded - value) <= max(kind.unit_roundoff * abs(value), kind.smallest_subnormal / 2)


def test_names_and_arrays() -> None:
    assert formats.of(np.zeros(2, ml_dtypes.bfloat16)) is FORMATS["bfloat16"]
    assert formats.of(np.zeros(2, np.float64)) is FORMATS["float64"]
    assert formats.coarser(FORMATS["bfloat16"], FORMATS["float16"]).name == "bfloat16"
    assert formats.coarser(FORMATS["float32"], FORMATS["float64"]).name == "float32"
    for array in (np.zeros(2, int), np.zeros(2, complex), np.zeros(2, ml_dtypes.float8_e4m3)):
        with pytest.raises(UsageError, match="is unknown; use one of float16, bfloat16, float32, float64"):
            formats.of(array)
