from __future__ import annotations

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.errors import UsageError
from bnfuzz.strategies import mean_names, variance_names
from bnfuzz.strategies.buffers import MEAN_WEIGHTS, VARIANCE_WEIGHTS, expand_running_mean, expand_running_var

FLOAT32 = formats.named("float32")


@pytest.fixture
def x(rng):
    return 1000.0 + rng.standard_normal((20, 3, 8))


def test_can_produce_every_name(draw_many):
    assert set(draw_many(mean_names(), 200)) == set(MEAN_WEIGHTS)
    assert set(draw_many(variance_names(allow_negative=True), 400)) == set(VARIANCE_WEIGHTS)


def test_negative_and_zero_only_when_allowed(assert_all_examples):
    assert_all_examples(variance_names(allow_zero=False), lambda name: name not in ("negative", "zero"))


def test_shrinks_to_defaults(minimal):
    assert minimal(mean_names()) == "zero"
    assert minimal(variance_names()) == "one"


@pytest.mark.parametrize("format_name", formats.FORMATS)
@pytest.mark.parametrize("name", MEAN_WEIGHTS)
def test_means_are_what_they_say(rng, x, name, format_name):
    format_ = formats.named(format_name)
    array = expand_running_mean(name, rng, x, format_)
    mean = array.astype(np.float64)
    assert array.dtype == format_.dtype
    assert mean.shape == (20, 3)
    assert np.isfinite(mean).all()
    unit = format_.unit_roundoff * 1000
    holds = {
        "zero": (mean == 0).all(),
        "plain": (np.abs(mean) >= 0.25).all() and (np.abs(mean) <= 8).all(),
        "near_data": (np.abs(mean - x.mean(-1)) <= 8 * unit).all(),
        "data_value": (np.abs(mean[..., None] - x).min(-1) <= 2 * unit).all(),
        "large": (np.abs(mean) >= 8).all(),
    }
    assert holds[name]


@pytest.mark.parametrize("format_name", formats.FORMATS)
@pytest.mark.parametrize("name", VARIANCE_WEIGHTS)
def test_variances_are_what_they_say(rng, x, name, format_name):
    format_ = formats.named(format_name)
    array = expand_running_var(name, rng, x, 1e-3, format_)
    var = array.astype(np.float64)
    assert array.dtype == format_.dtype
    assert var.shape == (20, 3)
    assert np.isfinite(var).all()
    true = x.var(-1)
    holds = {
        "one": (var == 1).all(),
        "zero": (var == 0).all(),
        "plain": (var >= 0.125).all() and (var <= 16).all(),
        "near_data": (var >= true * 0.49).all() and (var <= true * 1.01).all(),
        "near_eps": (var >= 0.24e-3).all() and (var <= 4.1e-3).all(),
        "tiny": (var <= 2.0**-4).all() and (var > 0).all(),
        "huge": (var >= 2.0**5).all(),
        "negative": (var < 0).all(),
    }
    assert holds[name]


def test_a_constant_channel_gets_a_positive_variance(rng):
    assert (expand_running_var("near_data", rng, np.ones((4, 2, 3)), 1e-5, FLOAT32) > 0).all()


def test_no_values_at_all(rng):
    empty = np.empty((4, 2, 0))
    for name in MEAN_WEIGHTS:
        assert np.isfinite(expand_running_mean(name, rng, empty, FLOAT32)).all()
    for name in VARIANCE_WEIGHTS:
        assert np.isfinite(expand_running_var(name, rng, empty, 0.0, FLOAT32)).all()


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        pytest.param(variance_names(allowed=("negative",)), "set allow_negative=True", id="negative"),
        pytest.param(variance_names(allowed=("zero",), allow_zero=False), "is empty", id="nothing left"),
        pytest.param(mean_names(allowed=("one",)), "'one', which is not known", id="mean"),
    ],
)
def test_arguments_are_checked_when_drawn_from(minimal, strategy, message):
    with pytest.raises(UsageError, match=message):
        minimal(strategy)
