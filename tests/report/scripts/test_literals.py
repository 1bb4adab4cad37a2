"""Literals read back to the same bits with NumPy alone, whatever the format, the shape and the values."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bnfuzz import formats
from bnfuzz.case import Array
from bnfuzz.report.scripts.literals import array_literal

NAMESPACE = {"np": np, "base64": base64, "zlib": zlib}


def evaluated(array: Array) -> Array:
    text = array_literal(array)
    assert max(map(len, text.splitlines())) <= 160
    found: Array = eval(text, dict(NAMESPACE))
    return found


def same(array: Array, back: Array) -> None:
    """The same shape and bits; a bfloat16 array comes back as float32, and a NaN as a NaN."""
    due = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    assert (back.dtype, back.shape) == (due.dtype, due.shape)
    nan = np.isnan(due)
    assert np.array_equal(np.isnan(back), nan)
    unsigned = f"u{due.itemsize}"
    bits = [np.ascontiguousarray(values).view(unsigned).reshape(due.shape)[~nan] for values in (due, back)]
    assert np.array_equal(*bits)


@st.composite
def any_bits(draw: st.DrawFn) -> Array:
    """An array of any format, any shape of rank 1 to 3, any bits (few distinct ones at times)."""
    kind = formats.named(draw(st.sampled_from(sorted(formats.FORMATS))))
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=9))
    patterns = st.integers(0, 2**kind.bits - 1)
    few = draw(st.none() | st.lists(patterns, min_size=1, max_size=3))
    fill = draw(arrays.arrays(kind.bits_dtype, shape, elements=st.sampled_from(few) if few else patterns))
    found: Array = fill.view(kind.dtype)
    return found


@given(any_bits())
def test_any_array_reads_back_to_its_bits(array: Array) -> None:
    same(array, evaluated(array))


@pytest.mark.parametrize("name", sorted(formats.FORMATS))
@pytest.mark.parametrize(
    ("make", "start"),
    [
        (lambda rng: np.full((50, 4), 1e6), "np.full("),
        (lambda rng: np.resize([1.5, -0.0, 2.25], (40, 5)), "np.resize("),
        (lambda rng: np.where(np.arange(300) == 17, 7.0, 0.1).reshape(100, 3), "np.where("),
        (lambda rng: rng.standard_normal((40, 5)), "np.frombuffer("),
        (lambda rng: rng.standard_normal((8, 8)), "np.array("),
        (lambda rng: np.zeros((0, 3)), "np.zeros("),
    ],
)
def test_large_arrays_are_formulas_where_one_is_exact(name: str, make: Any, start: str) -> None:
    with np.errstate(over="ignore"):
        array = make(np.random.default_rng(1)).astype(formats.named(name).dtype)
    assert array_literal(array).startswith(start)
    same(array, evaluated(array))
