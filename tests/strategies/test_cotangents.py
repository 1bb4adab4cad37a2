from __future__ import annotations

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.errors import UsageError
from bnfuzz.strategies import CotangentFamily, cotangent_families
from bnfuzz.strategies.cotangents import COTANGENT_WEIGHTS, normalized

FORMATS = [formats.named(name) for name in formats.FORMATS]


@pytest.fixture
def xhat(rng):
    return normalized(100.0 + rng.standard_normal((30, 2, 12)), 1e-5)


def expanded(name, rng, xhat, format_):
    scale = {"huge": format_.emax // 2, "tiny": format_.emin}.get(name, 0)
    array = CotangentFamily(name, scale).expand(rng, xhat, format_)
    assert array.dtype == format_.dtype
    assert array.shape == xhat.shape
    return array.astype(np.float64)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("name", COTANGENT_WEIGHTS)
def test_families_are_what_they_say(rng, xhat, name, format_):
    g = expanded(name, rng, xhat, format_)
    assert np.isfinite(g).all()
    assert has_its_property(name, g, xhat, format_)


def has_its_property(name, g, xhat, format_):
    if name == "noise":
        return (np.abs(g.mean(-1)) > 0.5).any()
    if name == "constant":
        return (np.ptp(g, axis=-1) == 0).all() and (g != 0).all()
    if name == "one_hot":
        return ((g != 0).sum(-1) == 1).all()
    if name == "xhat":
        return np.corrcoef(g[0, 0], xhat[0, 0])[0, 1] > 0.999
    if name == "orthogonal":
        rounding = (4 * format_.unit_roundoff + format_.smallest_subnormal) * np.abs(g).sum(-1)
        return (np.abs(g.sum(-1)) <= rounding).all() and (np.abs((g * xhat).sum(-1)) <= 4 * rounding).all()
    if name == "huge":
        return np.abs(g).max() > 2.0 ** (format_.emax // 2 - 2)
    return np.abs(g).max() < 2.0 ** (format_.emin + 4)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("name", COTANGENT_WEIGHTS)
def test_few_values(rng, name, n):
    assert np.isfinite(expanded(name, rng, np.zeros((3, 2, n)), formats.named("float32"))).all()


def test_normalized_is_scaled_so_that_squares_stay_in_range():
    x = np.array([[1e300, -1e300], [1e-300, 3e-300], [7.0, 7.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
    xhat = normalized(x, 0.0)
    np.testing.assert_allclose(xhat[:2], [[1, -1], [-1, 1]])
    assert (xhat[2:] == 0).all()


def test_normalized_counts_eps():
    np.testing.assert_allclose(normalized(np.array([[1.0, 3.0]]), 3.0), [[-0.5, 0.5]])


def test_huge_normalized_data_stay_finite(rng):
    xhat = np.array([[[1e300, -1e300, 5e299, 0.0]]])
    for name in COTANGENT_WEIGHTS:
        assert np.isfinite(expanded(name, rng, xhat, formats.named("float32"))).all()


@pytest.mark.parametrize("name", COTANGENT_WEIGHTS)
def test_can_produce_every_family(find_any, name):
    find_any(cotangent_families(), lambda family: family.name == name)


def test_orthogonal_needs_three_values(assert_all_examples):
    assert_all_examples(cotangent_families(n=2), lambda family: family.name != "orthogonal")


def test_shrinks(minimal):
    assert minimal(cotangent_families()) == CotangentFamily("noise", 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"data_format": "float8"}, "format 'float8' is unknown", id="format"),
        pytest.param({"names": ("ones",)}, "'ones', which is not known", id="name"),
        pytest.param({"names": ()}, "is empty", id="empty"),
    ],
)
def test_arguments_are_checked_when_drawn_from(minimal, arguments, message):
    strategy = cotangent_families(**arguments)
    with pytest.raises(UsageError, match=message):
        minimal(strategy)
