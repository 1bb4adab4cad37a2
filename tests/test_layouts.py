"""Layouts keep the values and have the strides that their names promise."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from bnfuzz import layouts
from bnfuzz.backends.wire import BFLOAT16_BITS
from bnfuzz.case import Inputs, Layout, batch_norm_spec

DTYPES = [np.dtype("f2"), np.dtype("f4"), np.dtype("f8"), np.dtype(ml_dtypes.bfloat16), BFLOAT16_BITS]


@settings(deadline=None)
@given(
    st.sampled_from(get_args(Layout)),
    npst.array_shapes(min_dims=1, max_dims=5, min_side=0, max_side=4),
    st.sampled_from(DTYPES),
)
def test_values_keep_their_bits_and_the_original_is_untouched(layout, shape, dtype):
    size = int(np.prod(shape))
    array = np.arange(size * dtype.itemsize, dtype=np.uint8).view(dtype).reshape(shape)
    before = array.tobytes()
    laid = layouts.lay_out(array, layout)
    assert (laid.shape, laid.dtype) == (array.shape, array.dtype)
    assert np.ascontiguousarray(laid).tobytes() == before
    assert not np.shares_memory(laid, array)


def strides(layout: Layout, shape: tuple[int, ...]) -> tuple[int, ...]:
    laid = layouts.lay_out(np.zeros(shape, np.float32), layout)
    return tuple(stride // 4 for stride in laid.strides)


@pytest.mark.parametrize(
    ("layout", "shape", "expected"),
    [
        ("contiguous", (2, 3, 4), (12, 4, 1)),
        ("permuted", (2, 3), (1, 2)),
        ("permuted", (2, 3, 4), (12, 1, 3)),
        ("permuted", (2, 3, 4, 5), (60, 1, 15, 3)),
        ("permuted", (6,), (1,)),
        ("sliced", (2, 3), (6, 2)),
        ("flipped", (2, 3, 4), (-12, -4, -1)),
        ("zero_stride", (2, 3), (0, 0)),
        ("offset", (2, 3), (3, 1)),
    ],
)
def test_strides(layout, shape, expected):
    assert strides(layout, shape) == expected


def test_zero_stride_only_where_values_are_equal():
    array = np.array([[1.0, 2.0], [1.0, 2.0]], np.float32)
    assert layouts.equal_axes(array) == (0,)
    assert layouts.lay_out(array, "zero_stride").strides == (0, 4)
    assert layouts.inexpressible(array, "zero_stride") is None
    assert "zero_stride" in (layouts.inexpressible(np.array([1.0, 2.0]), "zero_stride") or "")
    assert layouts.inexpressible(np.array([1.0, 2.0]), "flipped") is None


@pytest.mark.parametrize("name", ["x", "cotangent"])
@pytest.mark.parametrize("steps", [("training",), ("training", "training")])
def test_one_step_of_one_trial_that_has_no_equal_values_is_in_the_way(name, steps):
    """Rows are the same in all of them, save in the last step of the last trial."""
    asked = {"layout_x" if name == "x" else "layout_cotangent": "zero_stride"}
    spec = replace(batch_norm_spec((2, 3), 1, has_running=False), steps=steps, **asked)
    leading = (len(steps),) if len(steps) > 1 else ()
    equal = np.broadcast_to(np.arange(3.0, dtype=np.float32), (4, *leading, 2, 3))
    odd = equal.copy()
    odd[-1].reshape(-1)[-1] = 7
    parameters = np.ones((4, 3), np.float32)
    for array, reason in ((equal, None), (odd, f"{name}: layout zero_stride needs an axis")):
        inputs = Inputs(**{"x": equal, "cotangent": equal, "gamma": parameters, "beta": parameters, name: array})
        found = layouts.unattainable(spec, inputs)
        assert found is None if reason is None else found.startswith(reason)
        assert layouts.unattainable(replace(spec, layout_x="flipped", layout_cotangent="flipped"), inputs) is None


def test_equality_is_of_bits():
    assert layouts.equal_axes(np.array([np.nan, np.nan], np.float32)) == (0,)
    assert layouts.equal_axes(np.array([0.0, -0.0], np.float32)) == ()


def test_offset_is_aligned_to_its_element_only():
    laid = layouts.lay_out(np.zeros(8, np.float32), "offset")
    start = layouts.memory(laid).__array_interface__["data"][0]
    assert laid.__array_interface__["data"][0] - start == 4


@pytest.mark.parametrize("layout", ["sliced", "offset"])
def test_gaps_are_nan_and_belong_to_the_memory(layout):
    laid = layouts.lay_out(np.ones((2, 3), np.float32), layout)
    memory = layouts.memory(laid).view(np.float32)
    assert np.isnan(memory).sum() == memory.size - 6 > 0
