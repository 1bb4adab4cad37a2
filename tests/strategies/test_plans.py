from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import strategies as st

from bnfuzz.case import batch_norm_spec, check_inputs
from bnfuzz.errors import UsageError
from bnfuzz.strategies import CotangentFamily, Plan, ValueFamily, label, plans, specs

SPEC = batch_norm_spec((4, 5, 3), 1)


def plan(spec=SPEC, **others):
    recipe = {
        "families": (ValueFamily("offset", 8, 6), ValueFamily("constant", 2)),
        "cotangent": CotangentFamily("orthogonal"),
        "gamma": "plain",
        "beta": "plain",
        "running_mean": "near_data",
        "running_var": "plain",
        "seed": 7,
    }
    return Plan(spec=spec, **(recipe | others))


def same_bits(first, second):
    return all(
        name == other and array.tobytes() == twin.tobytes()
        for (name, array), (other, twin) in zip(first.items(), second.items(), strict=True)
    )


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


def test_expansion_is_a_function_of_the_plan():
    assert same_bits(plan().expand(5), plan().expand(5))
    assert not same_bits(plan().expand(5), plan(seed=8).expand(5))


def test_no_two_trials_are_alike():
    x = plan().expand(64).x
    assert len(np.unique(x.reshape(64, -1), axis=0)) == 64


def test_channels_take_the_families_in_turn():
    x = plan().expand(6).x
    spread = np.ptp(x, axis=(1, 3))
    assert (spread[:, [1, 3]] == 0).all()
    assert (spread[:, [0, 2, 4]] > 0).all()


def test_an_orthogonal_cotangent_is_orthogonal():
    spec = batch_norm_spec((4, 5, 3), 1, data_format="float64", parameter_format="float64", statistics_format="float64")
    inputs = plan(spec, families=(ValueFamily("noise"),)).expand(6)
    x, g = inputs.x, inputs.cotangent
    centred = x - x.mean((1, 3), keepdims=True)
    assert np.abs(g.sum((1, 3))).max() < 1e-13
    assert np.abs((g * centred).sum((1, 3))).max() < 1e-12


@pytest.mark.parametrize("mode", ["training", "inference"])
def test_a_cotangent_along_xhat_uses_the_statistics_of_the_mode(mode):
    spec = batch_norm_spec((6, 2), 1, steps=(mode,), eps=1e-3)
    inputs = plan(spec, families=(ValueFamily("noise"),), cotangent=CotangentFamily("xhat")).expand(4)
    x = inputs.x.astype(np.float64)
    if mode == "training":
        mean, var = x.mean(1), x.var(1)
    else:
        mean, var = inputs.running_mean.astype(np.float64), inputs.running_var.astype(np.float64)
    ratio = inputs.cotangent * np.sqrt(var + 1e-3)[:, None] / (x - mean[:, None])
    scales = np.round(np.log2(np.median(ratio, axis=1, keepdims=True)))
    np.testing.assert_allclose(ratio / 2.0**scales, 1.0, rtol=1e-4)


def test_a_mean_near_the_data_makes_inference_cancel():
    inputs = plan(batch_norm_spec((50, 1), 1, steps=("inference",)), families=(ValueFamily("offset", 20, 10),)).expand(
        1
    )
    assert np.abs(inputs.x - inputs.running_mean).max() < 2.0**-5 * np.abs(inputs.x).max()


def test_zero_strides_get_data_that_repeat():
    spec = batch_norm_spec((4, 5, 3), 1, layout_x="zero_stride", layout_cotangent="zero_stride")
    inputs = plan(spec).expand(3)
    assert (inputs.x == inputs.x[:, :1]).all()
    assert (inputs.cotangent == inputs.cotangent[:, :1]).all()
    assert np.ptp(inputs.x, axis=(2, 3)).max() > 0


def test_sequences_have_data_of_their_own_at_every_step():
    spec = batch_norm_spec((4, 5, 3), 1, steps=("training", "training", "inference"))
    inputs = plan(spec).expand(2)
    check_inputs(spec, inputs)
    assert not np.array_equal(inputs.x[:, 0], inputs.x[:, 1])


def test_arrays_that_the_spec_does_without_are_absent():
    spec = dataclasses.replace(SPEC, has_gamma=False, has_running=False, cotangent="sum")
    inputs = plan(spec, gamma=None, cotangent=None, running_mean=None, running_var=None).expand(2)
    check_inputs(spec, inputs)


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


def test_labels_say_what_is_tried():
    assert label(plan()) == (
        "formats: float32/float32/float32",
        "mode: training",
        "shape: odd_channels",
        "layout: contiguous",
        "values: constant",
        "values: offset",
        "cotangent: orthogonal",
    )


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


def test_a_plan_expands_to_at_least_one_trial():
    with pytest.raises(UsageError, match="trials=0 must be at least 1"):
        plan().expand(0)
