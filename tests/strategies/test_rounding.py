from __future__ import annotations

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.strategies.rounding import mantissas, powers, stored


@pytest.mark.parametrize("format_", formats.FORMATS.values(), ids=lambda f: f.name)
def test_what_would_overflow_becomes_the_largest_number(format_):
    values = np.array([1e308, -1e308, np.inf, np.nan])
    kept = stored(values, format_).astype(np.float64)
    largest = min(format_.largest, 1e308) if format_.name == "float64" else format_.largest
    assert kept[0] == largest
    assert kept[1] == -largest
    assert kept[2] == format_.largest
    assert np.isnan(kept[3])


def test_infinities_stay_when_meant():
    kept = stored(np.array([np.inf, -np.inf, np.nan, 1e9]), formats.named("float16"), keep_infinities=True)
    np.testing.assert_array_equal(kept, np.array([np.inf, -np.inf, np.nan, 65504], np.float16))


def test_powers_are_exact():
    assert powers(np.array([-1074, 0, 1023])).tolist() == [2.0**-1074, 1.0, 2.0**1023]


def test_mantissas_have_either_sign_and_size_1_to_2(rng):
    drawn = mantissas(rng, (100,))
    assert (np.abs(drawn) >= 1).all()
    assert (np.abs(drawn) < 2).all()
    assert (drawn < 0).any()
    assert (drawn > 0).any()
