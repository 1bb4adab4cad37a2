"""Specs, arrays and numbers in words."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from bnfuzz.case import Spec, batch_norm_spec
from bnfuzz.report.words import array_words, number, place, ratio, spec_words, zero_note


def test_spec_in_words() -> None:
    spec = batch_norm_spec((2, 3, 4), momentum=0.25, layout_x="zero_stride", cotangent="mean_square")
    assert spec_words(spec) == [
        "batch norm, training: x [2, 3, 4] in float32",
        "statistics over axes 0, 2 (8 values each), gamma and beta along axis 1",
        "eps 1e-05, momentum 0.25 (weight of the new statistic), loss mean(y·y), x laid out zero stride",
    ]


def test_spec_without_and_with_defaults() -> None:
    spec = batch_norm_spec(
        (2, 3), eps=None, has_gamma=False, has_beta=False, has_running=False, data_format="bfloat16", cotangent="sum"
    )
    assert spec_words(spec) == [
        "batch norm, training: x [2, 3] in bfloat16 (parameters float32, statistics float32)",
        "statistics over axis 0 (2 values each), no gamma, no beta",
        "eps left to the backend, no running statistics, loss sum(y)",
    ]


def test_long_sequences_are_counted() -> None:
    spec = Spec(shape=(2,), reduced_axes=(), parameter_axes=(0,), steps=("training",) * 9)
    assert spec_words(spec)[0] == "batch norm, 9 steps: x [2] in float32"
    assert spec_words(spec)[1].startswith("statistics over no axis (1 values each)")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.float32([[10000.195], [9999.581]]), "[[10000.195], [9999.581]]"),
        (np.asarray([0.1, -0.0, np.nan, -np.inf], ml_dtypes.bfloat16), "[0.1, -0.0, nan, -inf]"),
        (np.float64([0.1]), "[0.1]"),
        (np.zeros((0, 2), np.float32), "[]"),
    ],
)
def test_small_arrays_are_exact(array: np.ndarray, words: str) -> None:
    assert array_words(array) == words


def test_large_arrays_are_summarised() -> None:
    array = np.float32([np.nan, np.inf, -np.inf, *range(30)]).reshape(3, 11)
    assert array_words(array) == (
        "[3, 11], 33 distinct values, from 0 to 29, mean 14.5, 1 NaN, 2 infinite; starts nan, inf, -inf, 0.0"
    )


def test_numbers() -> None:
    assert number(np.float32(0.1)) == "0.100000001"
    assert number(0.1, "float64") == "0.1"
    assert (ratio(1234.5), ratio(float("inf")), place(()), place((1, 2))) == ("1.23e+03", "∞", "[]", "[1, 2]")


def test_exact_zeros_are_said() -> None:
    assert zero_note(0.0, 1e-6, 100) == "the exact value is zero: noise up to 1e-06 is expected, typically near 1e-07"
    assert zero_note(1e-30, 1e-6, 1) == "the exact value is zero: noise up to 1e-06 is expected"
    assert zero_note(1e-10, 1e-6, 1, rung_bound=2e-10)
    assert not zero_note(1e-10, 1e-6, 1)
    assert zero_note(0.0, 0.0, 4) == "the exact value is zero, and nothing else is allowed"
