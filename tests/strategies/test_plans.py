from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import strategies as st

from bnfuzz.case import batch_norm_spec, check_inputs
from bnfuzz.errors import UsageError
from bnfuzz.strategies import CotangentFamily, Plan, ValueFamily, plans, specs

SPEC = batch_norm_spec((4, 5, 3), 1)


@pytest.mark.parametrize("trials", [1, 3])
def test_all_plans_expand_to_what_their_spec_asks_for(assert_all_examples, trials):
    def check(drawn):
        inputs = drawn.expand(trials)
        check_inputs(drawn.spec, inputs)
        assert inputs.trials == trials
        for name, array in inputs.items():
            assert np.isfinite(array.astype(np.float64)).all(), name
            assert array.flags.c_contiguous
        if inputs.running_var is not None:
            assert (inputs.running_var >= 0).all()

    assert_all_examples(plans(specs(allow_empty=True)), check, 250)


def test_nothing_undefined_on_purpose_where_eps_is_0(assert_all_examples):
    def check(drawn):
        assert not {"constant", "large_constant"} & {family.name for family in drawn.families}
        assert drawn.running_var != "zero"

    assert_all_examples(plans(batch_norm_spec((4, 3), eps=0.0)), check)


def test_channels_of_different_families_occur(find_any):
    find_any(plans(), lambda drawn: len({family.name for family in drawn.families}) == 3)


def test_nonfinite_values_and_negative_variances_only_when_allowed(find_any):
    strategy = plans(batch_norm_spec((4, 2)), allow_nonfinite=True, allow_negative_variance=True)
    find_any(strategy, lambda drawn: any(family.name == "nonfinite" for family in drawn.families))
    find_any(strategy, lambda drawn: drawn.running_var == "negative")


def test_families_can_be_chosen(assert_all_examples):
    strategy = plans(SPEC, values=("wide",), cotangents=("one_hot",))
    assert_all_examples(strategy, lambda drawn: {f.name for f in drawn.families} == {"wide"}, 30)
    assert_all_examples(strategy, lambda drawn: drawn.cotangent.name == "one_hot", 30)


@pytest.mark.parametrize("vocabulary", [SPEC, (SPEC,), [SPEC], st.just(SPEC)], ids=["one", "tuple", "list", "strategy"])
def test_vocabularies(assert_all_examples, vocabulary):
    assert_all_examples(plans(vocabulary), lambda drawn: drawn.spec == SPEC, 5)


def test_shrinks(minimal):
    simplest = Plan(
        spec=batch_norm_spec((2, 2)),
        families=(ValueFamily("noise"),),
        cotangent=CotangentFamily("noise"),
        gamma="one",
        beta="zero",
        running_mean="zero",
        running_var="one",
        seed=0,
    )
    assert minimal(plans()) == simplest
    deep = minimal(plans(), lambda drawn: drawn.families[0].depth > 9)
    assert deep == dataclasses.replace(simplest, families=(ValueFamily("offset", 0, 10),))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"vocabulary": ()}, "must be a Spec, a sequence of at least one", id="no specs"),
        pytest.param({"vocabulary": ((2, 3),)}, "must be a Spec, a sequence of at least one", id="shapes"),
        pytest.param({"values": ("nois",)}, "'nois', which is not known", id="family"),
        pytest.param({"values": ("nonfinite",)}, "set allow_nonfinite=True", id="nonfinite"),
        pytest.param({"cotangents": "xhat"}, "is not known", id="cotangents as a string"),
    ],
)
def test_arguments_are_checked_when_drawn_from(minimal, arguments, message):
    strategy = plans(**arguments)
    with pytest.raises(UsageError, match=message):
        minimal(strategy)
