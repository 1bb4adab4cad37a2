from __future__ import annotations

import pytest

from bnfuzz.errors import UsageError
from bnfuzz.strategies.weighted import subset, weighted

WEIGHTS = {"plain": 3, "rare": 1, "off": 0}


def test_only_keys_with_a_weight_are_drawn(draw_many):
    assert set(draw_many(weighted(WEIGHTS), 50)) == {"plain", "rare"}


def test_shrinks_to_the_first(minimal):
    assert minimal(weighted(WEIGHTS)) == "plain"


def test_a_key_of_weight_0_is_drawn_when_named(minimal):
    assert minimal(subset("names", WEIGHTS, ("off",))) == "off"


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        pytest.param("plain", "must be a collection", id="a string"),
        pytest.param(3, "must be a collection", id="a number"),
        pytest.param(("plane",), "'plane', which is not known; use some of plain, rare, off", id="unknown"),
        pytest.param((), "is empty", id="empty"),
    ],
)
def test_what_may_be_allowed(allowed, message):
    with pytest.raises(UsageError, match=message):
        subset("names", WEIGHTS, allowed)


def test_weights_that_leave_nothing():
    with pytest.raises(UsageError, match="leave nothing to draw"):
        weighted({"off": 0})
