from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from bnfuzz.case import Case, batch_norm_spec, check_inputs
from bnfuzz.errors import UsageError
from bnfuzz.strategies import cases, specs


def test_all_cases_are_valid(assert_all_examples):
    def check(case):
        assert isinstance(case, Case)
        check_inputs(case.spec, case.inputs)
        assert np.isfinite(case.inputs.x.astype(np.float64)).all()

    assert_all_examples(cases(), check, 150)


def one_pass_variance_fails(case):
    """Whether mean(x²) - mean(x)² in float32 is off by more than a half: the fault that most needs an offset."""
    x = case.inputs.x[0]
    exact = x.astype(np.float64).var(axis=0)
    return bool((np.abs((x * x).mean(axis=0) - x.mean(axis=0) ** 2 - exact) > 0.5 * exact).any() and (exact > 0).all())


def test_a_fault_shrinks_to_plain_parameters_and_few_distinct_values(minimal):
    case = minimal(cases(batch_norm_spec((3, 1))), one_pass_variance_fails)
    assert (case.inputs.gamma == 1).all()
    assert (case.inputs.beta == 0).all()
    assert (case.inputs.running_var == 1).all()
    assert (case.inputs.cotangent == 0).all()
    assert len(np.unique(case.inputs.x)) == 2


def test_shrinks_to_zeros(minimal):
    case = minimal(cases())
    assert case.spec == batch_norm_spec((2, 2))
    assert (case.inputs.x == 0).all()


def test_drawing_value_by_value_can_be_turned_off(assert_all_examples):
    strategy = cases(batch_norm_spec((2, 2)), drawn_size=0)
    assert_all_examples(strategy, lambda case: case.inputs.x.any(), 50)


def test_chosen_families_are_kept(assert_all_examples):
    strategy = cases(batch_norm_spec((4, 1)), values=("symmetric",))
    assert_all_examples(
        strategy, lambda case: (np.sort(case.inputs.x, 1) == -np.sort(case.inputs.x, 1)[:, ::-1]).all(), 50
    )


@pytest.mark.parametrize("vocabulary", [batch_norm_spec((3, 2)), (batch_norm_spec((3, 2)),), specs(max_rank=2)])
def test_vocabularies(assert_all_examples, vocabulary):
    assert_all_examples(cases(vocabulary), lambda case: case.spec.rank == 2, 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"drawn_size": -1}, "drawn_size=-1 must not be negative", id="size"),
        pytest.param({"vocabulary": st.just(batch_norm_spec((2, 2))), "values": ("nois",)}, "not known", id="family"),
        pytest.param({"vocabulary": []}, "must be a Spec, a sequence of at least one", id="no specs"),
    ],
)
def test_arguments_are_checked_when_drawn_from(minimal, arguments, message):
    strategy = cases(**arguments)
    with pytest.raises(UsageError, match=message):
        minimal(strategy)
