"""Sums are accumulated in the terms' own format, in the order that their name says."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from bnfuzz.faults import sums

ORDERS = [sums.pairwise, sums.sequential, sums.blocked, sums.kahan, sums.wide]
HALVES = [(np.float16, 2048), (ml_dtypes.bfloat16, 256)]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
def test_small_integers_add_up_exactly(order, dtype):
    for n in (0, 1, 2, 3, 7, 33):
        terms = (np.arange(n * 2).reshape(n, 2) % 5).astype(dtype)
        total = order(terms)
        assert total.dtype == terms.dtype
        assert total.shape == (1, 2)
        np.testing.assert_array_equal(total.astype(int), terms.astype(int).sum(axis=0, keepdims=True))


@pytest.mark.parametrize(("dtype", "saturation"), HALVES)
def test_left_to_right_in_a_half_format_saturates(dtype, saturation):
    ones = np.ones((5000, 1), dtype)
    assert sums.sequential(ones).item() == saturation
    assert np.sum(ones, dtype=np.float32) == 5000


@pytest.mark.parametrize(("dtype", "saturation"), HALVES)
def test_other_orders_pass_the_saturation(dtype, saturation):
    ones = np.ones((2 * saturation, 1), dtype)
    for order in (sums.pairwise, sums.blocked, sums.kahan, sums.wide):
        assert order(ones).item() == 2 * saturation


def test_each_order_errs_as_its_growth_says():
    """A constant that is no short fraction: left to right errs with n, the others hardly."""
    terms = np.full((20_000, 1), 0.1, np.float32)
    exact = 20_000 * float(np.float32(0.1))
    errors = {order.__name__: abs(order(terms).item() / exact - 1) * 2**24 for order in ORDERS}
    assert errors["sequential"] > 50
    assert errors["blocked"] < errors["sequential"]
    assert max(errors["pairwise"], errors["kahan"], errors["wide"]) <= 3
