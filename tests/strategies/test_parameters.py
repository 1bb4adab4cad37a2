from __future__ import annotations

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.errors import UsageError
from bnfuzz.strategies import beta_names, eps_values, gamma_names, momenta, presences
from bnfuzz.strategies.parameters import BETA_WEIGHTS, EPS_WEIGHTS, GAMMA_WEIGHTS, MOMENTUM_WEIGHTS, expand_parameter

FORMATS = [formats.named(name) for name in formats.FORMATS]


def test_can_produce_every_eps_and_momentum(draw_many):
    assert set(draw_many(eps_values(), 400)) == set(EPS_WEIGHTS)
    assert set(draw_many(momenta(), 300)) == set(MOMENTUM_WEIGHTS)


def test_eps_keeps_its_bounds(assert_all_examples):
    assert_all_examples(eps_values(minimum=1e-5, allow_default=False), lambda eps: 1e-5 <= eps <= 1.0, 50)
    assert_all_examples(momenta(allow_default=False), lambda momentum: 0.0 <= momentum <= 1.0, 50)


def test_every_recipe_has_a_name(draw_many):
    assert set(draw_many(gamma_names(), 200)) == set(GAMMA_WEIGHTS)
    assert set(draw_many(beta_names(), 200)) == set(BETA_WEIGHTS)


def test_shrinks_to_defaults(minimal):
    assert minimal(eps_values()) == 1e-5
    assert minimal(momenta()) == 0.1
    assert minimal(presences()) == (True, True, True)
    assert minimal(gamma_names()) == "one"
    assert minimal(beta_names()) == "zero"


def test_presences(draw_many, assert_all_examples):
    assert len(set(draw_many(presences(), 300))) == 8
    assert_all_examples(presences(mode="inference"), lambda present: present[2], 50)
    assert_all_examples(presences(affine="both", running=True), all, 20)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("name", GAMMA_WEIGHTS)
def test_recipes_are_what_they_say(rng, name, format_):
    array = expand_parameter(name, rng, (64, 5), format_)
    values = array.astype(np.float64)
    assert array.dtype == format_.dtype
    assert array.shape == (64, 5)
    assert np.isfinite(values).all()
    holds = {
        "one": (values == 1).all(),
        "zero": (values == 0).all(),
        "plain": (values < 0).any() and (values > 0).any() and (np.abs(values) >= 0.25).all(),
        "negative": (values < 0).all(),
        "near_one": (np.abs(np.abs(values) - 1) <= 4 * format_.unit_roundoff).all() and (np.abs(values) != 1).any(),
        "large": (np.abs(values) >= 2.0 ** (min(20, format_.emax // 3) - 1)).all(),
        "small": (np.abs(values) <= 2.0 ** (2 - min(20, format_.emax // 3))).all() and (values != 0).all(),
        "mixed": (values == 0).any() and (values < 0).any() and (values > 1).any(),
    }
    assert holds[name]


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        pytest.param(eps_values(minimum=-1.0), r"minimum=-1.0 must lie within 0..1", id="negative minimum"),
        pytest.param(eps_values(allowed=(0.5,)), "must be among", id="unknown eps"),
        pytest.param(eps_values(allowed=(0.0,), minimum=1e-5), "leave nothing to draw", id="nothing left"),
        pytest.param(presences(affine="neither"), "affine='neither' must be", id="affine"),
        pytest.param(gamma_names(allowed=("two",)), "'two', which is not known", id="gamma"),
        pytest.param(beta_names(allowed=()), "is empty", id="beta"),
    ],
)
def test_arguments_are_checked_when_drawn_from(minimal, strategy, message):
    with pytest.raises(UsageError, match=message):
        minimal(strategy)
