from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bnfuzz.case import batch_norm_spec, check_inputs
from bnfuzz.errors import UsageError
from bnfuzz.strategies import CotangentFamily, Plan, ValueFamily, label

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


def test_a_plan_expands_to_at_least_one_trial():
    with pytest.raises(UsageError, match="trials=0 must be at least 1"):
        plan().expand(0)
