"""Experiments: further inputs that a backend can be asked, of the case's own operation and formats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.backends import registry
from bnfuzz.case import Case, check_inputs, expected_arrays
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.causes.experiment import Experiment, deciding, opening, poisoned
from bnfuzz.diagnosis.causes.hypothesis import single_hypotheses
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.strategies import cases

BACKENDS = ("numpy", "jax", "flax", "mxnet", "mxnet-gluon", "torch")


@st.composite
def accepted(draw: st.DrawFn) -> tuple[Case, Conventions]:
    """A case, and conventions of a backend that takes it."""
    conventions = registry.get(draw(st.sampled_from(BACKENDS))).conventions
    case = draw(cases().filter(lambda case: conventions.unsupported(case.spec) is None))
    return case, conventions


def all_of(case: Case, conventions: Conventions) -> Iterator[Experiment]:
    yield from opening(case, conventions, raised=True)
    yield from deciding(case, conventions, single_hypotheses(case.spec, conventions)[:20])


@settings(max_examples=25)
@given(accepted())
def test_a_backend_can_be_asked_every_experiment(given_: tuple[Case, Conventions]) -> None:
    case, conventions = given_
    for experiment in all_of(case, conventions):
        spec = experiment.case.spec
        assert conventions.unsupported(spec) is None
        assert (spec.operation, spec.formats) == (case.spec.operation, case.spec.formats)
        assert set(dict(experiment.case.inputs.items())) == set(expected_arrays(spec))
        check_inputs(spec, experiment.case.inputs)


@settings(max_examples=25)
@given(accepted())
def test_the_same_case_gets_the_same_experiments(given_: tuple[Case, Conventions]) -> None:
    case, conventions = given_
    first, second = (list(all_of(case, conventions)) for _ in range(2))
    assert [experiment.title for experiment in first] == [experiment.title for experiment in second]
    for one, other in zip(first, second, strict=True):
        for name, array in one.case.inputs.items():
            assert array.tobytes() == dict(other.case.inputs.items())[name].tobytes()


@pytest.mark.parametrize("name", ["mxnet", "torch"])
def test_the_fixed_channel_axis_of_a_backend_is_kept(name: str) -> None:
    conventions = registry.get(name).conventions
    fault = CATALOGUE["ddof1_norm"]
    case = fault.example.case(conventions)
    for experiment in all_of(case, conventions):
        if conventions.channel_axes != "any":
            assert experiment.case.spec.parameter_axes == (conventions.channel_axes,)


def test_poison_stays_in_one_channel_and_changes_nothing_else() -> None:
    case = CATALOGUE["ddof1_norm"].example.case(registry.get("numpy").conventions)
    experiment = poisoned(case)
    assert experiment is not None
    changed = np.argwhere(experiment.case.inputs.x != case.inputs.x)
    assert len(changed) == 1
    assert np.isnan(experiment.case.inputs.x).sum() == 1
    for name, array in case.inputs.items():
        if name != "x":
            assert array.tobytes() == dict(experiment.case.inputs.items())[name].tobytes()
