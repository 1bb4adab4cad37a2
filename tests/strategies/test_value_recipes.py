from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.strategies.value_recipes import JITTER, ValueFamily, ValueName, limits

NAMES = get_args(ValueName)
FORMATS = [formats.named(name) for name in formats.FORMATS]
TRIALS, N = 40, 9


def corners(name, format_):
    bounds = limits(name, format_)
    return [(scale, depth) for scale in bounds.scale for depth in bounds.depth]


def has_its_property(family, values, format_):
    """Whether rows of values are what the docstring of ValueFamily says of their family."""
    size, spread = np.abs(values), np.ptp(values / 2, axis=-1)  # halved, lest it overflow
    if family.name in ("constant", "large_constant"):
        return (spread == 0).all() and (values != 0).all()
    if family.name == "two_valued":
        return all(len(np.unique(row)) == 2 for row in values)
    if family.name == "alternating":
        even, odd = values[:, 0::2], values[:, 1::2]
        return (np.ptp(even, axis=-1) == 0).all() and (np.ptp(odd, axis=-1) == 0).all() and (spread > 0).all()
    if family.name == "symmetric":
        return (np.sort(values, -1) == -np.sort(values, -1)[:, ::-1]).all()
    if family.name == "integers":
        return (values == np.rint(values)).all() and (size <= 2.0 ** (family.scale + JITTER)).all()
    if family.name == "outlier":
        ordered = np.sort(size, -1)
        return (ordered[:, -1] >= ordered[:, -2]).all() and (size.max(-1) >= 2.0 ** (family.scale - 2 * JITTER)).all()
    if family.name == "offset":
        return (np.abs(values.mean(-1)) >= size.max(-1) / 8).any()
    if family.name == "wide":
        return (size > 0).all() and (size.max(-1) > size.min(-1)).all()
    if family.name == "near_overflow":
        return (size >= 2.0 ** (format_.emax // 2 - 1)).all()
    if family.name == "subnormal":
        return (size < format_.smallest_normal).all()
    return True


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "nonfinite"])
def test_families_are_what_they_say_at_the_corners_of_their_limits(rng, name, format_):
    for scale, depth in corners(name, format_):
        family = ValueFamily(name, scale, depth)
        array = family.expand(rng, TRIALS, N, format_)
        assert array.dtype == format_.dtype
        assert array.shape == (TRIALS, N)
        values = array.astype(np.float64)
        assert np.isfinite(values).all()
        assert has_its_property(family, values, format_), (family, values)


def test_depth_is_the_condition_number(rng):
    values = ValueFamily("offset", 3, 15).expand(rng, 1, 400, formats.named("float64"))
    kappa = np.abs(values.mean()) / values.std()
    assert 2.0**14.8 < kappa < 2.0**16.2


def test_an_outlier_stands_out_by_its_depth(rng):
    values = np.abs(ValueFamily("outlier", 0, 12).expand(rng, 1, 50, formats.named("float32")))
    assert np.sort(values)[0, -1] >= 2.0**12
    assert np.sort(values)[0, -2] < 8


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.name)
def test_nonfinite_has_one_per_row(rng, format_):
    values = ValueFamily("nonfinite").expand(rng, 60, 5, format_).astype(np.float64)
    assert ((~np.isfinite(values)).sum(-1) == 1).all()
    assert np.isnan(values).any()
    assert np.isposinf(values).any()
    assert np.isneginf(values).any()


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_few_values(rng, name, n):
    array = ValueFamily(name, *corners(name, FORMATS[0])[0]).expand(rng, 3, n, FORMATS[0])
    assert array.shape == (3, n)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "nonfinite"])
def test_trials_differ(rng, name):
    array = ValueFamily(name, *corners(name, formats.named("float32"))[-1]).expand(
        rng, 32, 16, formats.named("float32")
    )
    assert len(np.unique(array, axis=0)) > 24


def test_the_first_trial_has_the_exponents_of_the_recipe(rng):
    values = ValueFamily("constant", 5).expand(rng, 200, 1, formats.named("float32"))[:, 0]
    exponents = np.frexp(values)[1] - 1
    assert exponents[0] == 5
    assert set(exponents) == set(range(5 - JITTER, 5 + JITTER + 1))
