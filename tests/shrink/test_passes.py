"""What the passes propose: valid cases of one Spec a block, values that the formats hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bnfuzz import strategies
from bnfuzz.case import Case, Spec, batch_norm_spec
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.block import Block
from bnfuzz.shrink.minimise import PASSES
from bnfuzz.shrink.plain import bare, with_plain_values
from bnfuzz.shrink.values import single_values, whole_arrays

from .planted import drawn_case

VERDICTS = (
    Verdict(output="y", kind="wrong", index=(), n=4),
    Verdict(output="dgamma", kind="wrong", index=(0,), n=4),
    Verdict(output="new_running_var", kind="wrong", index=(0,), n=4, regime="n1"),
    Verdict(output="call", kind="crash"),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    strategies.cases(strategies.specs(max_size=48, large_size=None)),
    st.sampled_from(VERDICTS),
    st.sampled_from(PASSES),
)
def test_every_block_is_of_one_spec_and_every_case_valid(case: Case, verdict: Verdict, propose: Any) -> None:
    for block in propose(case, verdict):
        assert isinstance(block, Block)
        assert block.what
        assert {candidate.spec for candidate in block.cases} == {block.spec}
        assert block.inputs.trials == len(block.cases)
        for candidate in block.cases:
            assert isinstance(candidate, Case)
            assert candidate.spec.size <= case.spec.size
            assert candidate.spec.formats == case.spec.formats


@pytest.mark.parametrize("data_format", ["float16", "bfloat16", "float32", "float64"])
def test_values_change_and_the_spec_does_not(data_format: Any) -> None:
    spec = batch_norm_spec((3, 2), data_format=data_format)
    case = drawn_case(spec, offset=100.0)
    for propose in (whole_arrays, single_values):
        for block in propose(case, VERDICTS[0]):
            assert block.spec == spec


@pytest.mark.parametrize(
    "value", [0.0, 1e-300, 5e-324, 65504.0, 6e-8, 3.4e38, 1.7e308, -1.7e308, np.inf, -np.inf, np.nan]
)
@pytest.mark.parametrize("data_format", ["float16", "bfloat16", "float32", "float64"])
def test_the_ends_of_every_format_are_no_trouble(value: float, data_format: Any) -> None:
    case = drawn_case(batch_norm_spec((3, 1), data_format=data_format))
    with np.errstate(over="ignore"):
        x = np.array([value, 1.5, -value]).astype(case.inputs.x.dtype).reshape(1, 3, 1)
    case = Case(spec=case.spec, inputs=with_array(case, "x", x))
    for propose in PASSES:
        assert all(block.cases for block in propose(case, VERDICTS[0]))


def with_array(case: Case, name: str, array: Any) -> Any:
    return replace(case.inputs, **{name: array})


@pytest.mark.parametrize(
    ("output", "left"),
    [
        ("y", ("x",)),
        ("dx", ("x", "cotangent")),
        ("dgamma", ("x", "gamma", "cotangent")),
        ("dbeta", ("x", "beta")),
        ("new_running_mean", ("x", "running_mean", "running_var")),
    ],
)
def test_a_bare_case_has_what_its_output_needs(output: str, left: tuple[str, ...]) -> None:
    spec = batch_norm_spec((3, 2), -1, eps=1e-3, layout_x="flipped", cotangent="explicit")
    case = bare(drawn_case(spec), Verdict(output=output, kind="wrong"))
    assert tuple(name for name, _ in case.inputs.items()) == left
    assert case.spec.eps == 1e-5
    assert case.spec.layout_x == "contiguous"
    assert case.spec.parameter_axes == (1,)


def test_an_inference_case_keeps_its_running_statistics() -> None:
    case = drawn_case(batch_norm_spec((3, 2), steps=("inference",)))
    assert bare(case, Verdict(output="y", kind="wrong")).spec.has_running


def test_plain_values() -> None:
    plain = with_plain_values(drawn_case(batch_norm_spec((3, 2))), "gamma", "running_mean").inputs
    assert plain.gamma is not None
    assert plain.running_mean is not None
    assert plain.beta is not None
    assert plain.gamma.tolist() == [[1, 1]]
    assert plain.running_mean.tolist() == [[0, 0]]
    assert plain.beta.any()


def test_a_relative_without_a_single_channel_axis_has_proposals_too() -> None:
    spec = Spec(operation="layer_norm", shape=(3, 4), reduced_axes=(1,), parameter_axes=(1,), has_running=False)
    for propose in PASSES:
        for block in propose(drawn_case(spec), VERDICTS[0]):
            assert all(case.spec.operation == "layer_norm" for case in block.cases)
