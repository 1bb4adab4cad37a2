"""Specs, Inputs and Cases: derived facts, and a clear error for each thing that does not fit."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.case import (
    OUTPUT_NAMES,
    Case,
    Inputs,
    Outputs,
    Spec,
    batch_norm_spec,
    check_inputs,
    expected_arrays,
    expected_outputs,
)
from bnfuzz.errors import UsageError


def inputs_of(spec: Spec, trials: int = 1) -> Inputs:
    arrays = expected_arrays(spec).items()
    return Inputs(**{name: np.zeros((trials, *shape), format_name) for name, (shape, format_name) in arrays})


def test_facts_of_a_spec() -> None:
    spec = batch_norm_spec((4, 3, 5), channel_axis=-2)
    assert (spec.reduced_axes, spec.parameter_axes, spec.affine_axes) == ((0, 2), (-2,), (1,))
    assert (spec.rank, spec.size, spec.n) == (3, 60, 20)
    assert spec.kept_axes == (1,)
    assert spec.statistics_shape == spec.parameter_shape == (3,)
    assert spec.formats == ("float32", "float32", "float32")
    assert spec.mode == "training"


def test_relatives_have_other_axes() -> None:
    layer = Spec(operation="layer_norm", shape=(2, 3, 4), reduced_axes=(1, 2), parameter_axes=(2, 1))
    assert (layer.statistics_shape, layer.parameter_shape, layer.n) == ((2,), (4, 3), 12)
    whole = Spec(operation="layer_norm", shape=(2, 3), reduced_axes=(0, 1), parameter_axes=())
    assert (whole.statistics_shape, whole.parameter_shape, whole.n) == ((), (), 6)


def test_empty_shapes() -> None:
    assert batch_norm_spec((0, 3)).n == 0
    assert batch_norm_spec((4, 0)).statistics_shape == (0,)
    assert batch_norm_spec((0, 3, 10**12)).size == 0


@given(st.integers(1, 5).flatmap(lambda rank: st.tuples(st.just((2,) * rank), st.integers(-rank, rank - 1))))
def test_equal_specs_are_one_key(arguments: tuple[tuple[int, ...], int]) -> None:
    shape, axis = arguments
    first, second = (batch_norm_spec(shape, axis, eps=1e-3) for _ in range(2))
    assert first == second
    assert len({first, second, replace(first, eps=1e-4)}) == 2
    assert first.affine_axes == (axis % len(shape),)
    with pytest.raises(FrozenInstanceError):
        first.eps = 1.0  # type: ignore[misc]


GOOD: dict[str, Any] = {"shape": (4, 3), "reduced_axes": (0,), "parameter_axes": (1,)}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "operation": ({"operation": "power_norm"}, "operation='power_norm' is not known; use one of batch_norm"),
    "cotangent": ({"cotangent": "ones"}, "cotangent='ones' is not known"),
    "layout": ({"layout_x": "tiled"}, "layout_x='tiled' is not known"),
    "format": ({"statistics_format": "float8"}, "statistics_format='float8' is not known; use one of float16"),
    "step": ({"steps": ("training", "testing")}, "a step='testing' is not known"),
    "no step": ({"steps": ()}, r"steps=\(\) is empty; give at least one"),
    "no axis": ({"shape": ()}, "has rank 0; give between 1 and 8"),
    "nine axes": ({"shape": (1,) * 9}, "has rank 9"),
    "negative size": ({"shape": (4, -3)}, "has an entry that is no size; give non-negative"),
    "half a size": ({"shape": (4, 1.5)}, "has an entry that is no size"),
    "truth as size": ({"shape": (4, True)}, "has an entry that is no size"),
    "too large": ({"shape": (10**9, 10**9)}, "has 1000000000000000000 elements; the limit is"),
    "axes descend": ({"reduced_axes": (1, 0)}, r"reduced_axes=\(1, 0\) must ascend within 0..1, each axis once"),
    "axis twice": ({"reduced_axes": (0, 0)}, "each axis once"),
    "axis outside": ({"reduced_axes": (2,)}, "must ascend within 0..1"),
    "negative reduced axis": ({"reduced_axes": (-1,)}, "must ascend within 0..1"),
    "text as axis": ({"reduced_axes": ("0",)}, "must be integers"),
    "parameter axis outside": ({"parameter_axes": (2,)}, r"must lie within -2..1"),
    "parameter axis twice": ({"parameter_axes": (1, -1)}, "names an axis twice"),
    "whole eps": ({"eps": 1}, "eps=1 must be a float or None"),
    "text momentum": ({"momentum": "0.1"}, "momentum='0.1' must be a float or None"),
    "no state": ({"steps": ("inference",), "has_running": False}, "needs running statistics; set has_running=True"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_specs_refused_with_value_rule_and_remedy(name: str) -> None:
    changes, message = REFUSED[name]
    with pytest.raises(UsageError, match=message):
        Spec(**(GOOD | changes))


def test_channel_axis_outside() -> None:
    with pytest.raises(UsageError, match=r"channel_axis=2 must lie within -2..1 for shape \(4, 3\)"):
        batch_norm_spec((4, 3), channel_axis=2)


def test_expected_arrays_follow_the_spec() -> None:
    spec = batch_norm_spec((4, 3), data_format="float16", has_beta=False, steps=("training", "inference"))
    assert expected_arrays(spec) == {
        "x": ((2, 4, 3), "float16"),
        "gamma": ((3,), "float32"),
        "running_mean": ((3,), "float32"),
        "running_var": ((3,), "float32"),
        "cotangent": ((2, 4, 3), "float16"),
    }
    bare = batch_norm_spec((4, 3), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
    assert list(expected_arrays(bare)) == ["x"]
    assert list(expected_outputs(bare)) == ["batch_mean", "batch_var", "y", "dx"]
    assert list(expected_outputs(batch_norm_spec((4, 3)))) == list(OUTPUT_NAMES)
    assert "batch_mean" not in expected_outputs(batch_norm_spec((4, 3), steps=("inference",)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gamma": None}, "gamma is missing; this Spec needs it"),
        ({"cotangent": np.zeros((2, 4, 3), np.float32)}, "cotangent is given, but this Spec does without it"),
        ({"x": np.zeros((2, 3, 4), np.float32)}, r"x has shape \(2, 3, 4\); it must be \(2, 4, 3\)"),
        ({"beta": np.zeros((1, 3), np.float32)}, r"beta has shape \(1, 3\); it must be \(2, 3\)"),
        ({"beta": np.zeros((2, 3))}, "beta has dtype float64; it must be float32"),
        ({"beta": np.zeros((2, 3), ">f4")}, "beta has dtype >f4; it must be float32"),
    ],
)
def test_inputs_refused(changes: dict[str, Any], message: str) -> None:
    spec = batch_norm_spec((4, 3), cotangent="sum")
    inputs = inputs_of(spec, trials=2)
    check_inputs(spec, inputs)
    with pytest.raises(UsageError, match=message):
        check_inputs(spec, replace(inputs, **changes))


def test_trials_and_steps_are_picked() -> None:
    spec = batch_norm_spec((2, 1), steps=("training", "inference"))
    inputs = replace(inputs_of(spec, trials=3), x=np.arange(12, dtype=np.float32).reshape(3, 2, 2, 1))
    assert inputs.trials == 3
    assert inputs.trial(1).x.ravel().tolist() == [4, 5, 6, 7]
    assert inputs.select(np.array([True, False, True])).trials == 2
    step = inputs.at_step(1, running_mean=np.ones((3, 1), np.float32))
    assert step.x.ravel().tolist() == [2, 3, 6, 7, 10, 11]
    assert step.running_mean is not None
    assert step.running_mean.tolist() == [[1], [1], [1]]
    assert step.gamma is inputs.gamma


def test_a_case_is_one_trial() -> None:
    spec = batch_norm_spec((4, 3))
    Case(spec=spec, inputs=inputs_of(spec))
    with pytest.raises(UsageError, match=r"a Case holds one trial, not 2; pick one with Inputs.trial\(k\)"):
        Case(spec=spec, inputs=inputs_of(spec, trials=2))


def test_outputs_come_in_data_flow_order() -> None:
    outputs = Outputs(dx=np.zeros((2, 4)), y=np.ones((2, 4)), batch_var=np.zeros((2, 1)))
    assert [name for name, _ in outputs.items()] == ["batch_var", "y", "dx"]
    assert [len(array) for _, array in outputs.select(slice(1)).items()] == [1, 1, 1]
