"""What a self-check tries: every kind of Spec that a fault may need, the same for the same seed."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import find, given, settings

from bnfuzz.errors import UsageError
from bnfuzz.selfcheck.vocabulary import every_plan, plans_of_round, rounds, small_plans
from bnfuzz.strategies import specs
from bnfuzz.strategies.groups import group_norms
from bnfuzz.strategies.sequences import sequences

PLANS = list(islice(rounds(every_plan(), 0), 150))


@pytest.mark.parametrize(
    "wanted",
    [
        lambda plan: len(plan.spec.steps) > 1,
        lambda plan: plan.spec.size == 0,
        lambda plan: plan.spec.operation == "group_norm",
        lambda plan: plan.spec.layout_x != "contiguous",
        lambda plan: plan.spec.layout_cotangent != "contiguous",
        lambda plan: any(family.name == "nonfinite" for family in plan.families),
        lambda plan: plan.spec.mode == "inference",
        lambda plan: plan.spec.data_format == "bfloat16",
    ],
    ids=["sequence", "empty", "group norm", "layout of x", "of the cotangent", "nonfinite", "inference", "bfloat16"],
)
def test_every_kind_is_drawn(wanted):
    assert any(map(wanted, PLANS))


def test_rounds_repeat_and_differ():
    first = plans_of_round(every_plan(), 5, 0)
    assert plans_of_round(every_plan(), 5, 0) == first
    assert len({plan.spec for plan in first}) == len(first)


def test_plans_of_every_kind_expand():
    for plan in PLANS:
        assert plan.expand(2).trials == 2


def test_soaks_stay_small():
    for plan in plans_of_round(small_plans([("float32",) * 3], 64), 0, 0):
        assert plan.spec.size <= 64
        assert plan.spec.layout_x == "contiguous"


@given(sequences(specs(max_size=32, large_size=None)))
@settings(max_examples=50, deadline=None)
def test_sequences(spec):
    assert 2 <= len(spec.steps) <= 4
    assert "training" in spec.steps
    assert spec.has_running


def test_sequences_shrink_to_two_training_steps():
    assert find(sequences(specs()), lambda spec: True).steps == ("training", "training")


def test_sequences_of_nothing_are_refused():
    empty = specs(allow_empty=True).filter(lambda spec: spec.size == 0)
    with pytest.raises(UsageError, match="no elements"):
        find(sequences(empty), lambda spec: True)


@given(group_norms())
@settings(max_examples=50, deadline=None)
def test_group_norms(spec):
    assert spec.statistics_shape == spec.shape[:2]
    assert spec.parameter_shape == spec.shape[1:3]
