"""The reference is never further from the truth than it says, on any rung; and climbs until that is little."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.case import Inputs, batch_norm_spec
from bnfuzz.conventions import Conventions
from bnfuzz.numerics.reference import CERTIFICATE_SHARE, RUNGS, reference

from . import adversarial
from .textbook import distance, textbook

MODEST = {"max_examples": 50, "derandomize": True, "deadline": None}


@st.composite
def problems(draw, trials: int = 2):
    """(Spec, Inputs, Conventions): any formats, offsets to 1e15, spreads to 0, eps 0 to 1, n to 64."""
    name = draw(st.sampled_from(list(adversarial.TRIPLES)))
    triple, compute = adversarial.TRIPLES[name]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([1, 2, 3, 5, 8, 17, 64]))
    conventions = adversarial.conventions_of(rng, compute)
    spec, inputs = adversarial.block(rng, triple, trials, shape=(n, 1), extreme=draw(st.booleans()))
    return spec, inputs, conventions


def told(spec, inputs, conventions, name, at, **numbers):
    """What a failure says: the case, the output and the numbers."""
    trial = {key: array[at[0]].tolist() for key, array in inputs.items()}
    shown = ", ".join(f"{key} {value!r}" for key, value in numbers.items())
    return f"{name}{at}: {shown}\n{spec}\n{conventions}\n{trial}"


@pytest.mark.parametrize("rung", RUNGS)
@settings(**MODEST)
@given(problem=problems())
def test_a_rung_errs_by_no_more_than_its_bound(rung, problem):
    spec, inputs, conventions = problem
    result = reference(spec, inputs, conventions, rung=rung)
    exact = textbook(spec, inputs, conventions)
    for name, output in result.outputs.items():
        judged = ~output.undefined & np.isfinite(output.value) & np.isfinite(output.rest)
        error = distance(_finite(output, judged), exact[name])
        beyond = judged & (error > output.rung_bound)
        if beyond.any():
            at = tuple(int(place[0]) for place in np.nonzero(beyond))
            numbers = {"exact": output.value[at], "error": error[at], "bound": output.rung_bound[at]}
            pytest.fail(told(spec, inputs, conventions, name, at, rung=rung, **numbers))


@settings(**MODEST)
@given(problem=problems())
def test_the_ladder_ends_fine_enough(problem):
    spec, inputs, conventions = problem
    result = reference(spec, inputs, conventions)
    start = 1 if result.rules.compute.name == "float64" else 0
    assert all(RUNGS.index(rung) >= start for rung in result.rungs)
    for name, output in result.outputs.items():
        fine = output.undefined | (output.rung_bound <= output.bound / CERTIFICATE_SHARE)
        for trial, rung in enumerate(result.rungs):
            if rung != "mpmath" and not fine[trial].all():
                at = (trial, *(int(place[0]) for place in np.nonzero(~fine[trial])))
                numbers = {"bound": output.bound[at], "rung_bound": output.rung_bound[at]}
                pytest.fail(told(spec, inputs, conventions, name, at, rung=rung, **numbers))


@settings(**MODEST | {"max_examples": 25})
@given(problem=problems(trials=3))
def test_a_trial_alone_is_what_it_is_in_a_block(problem):
    spec, inputs, conventions = problem
    block = reference(spec, inputs, conventions)
    for trial in range(inputs.trials):
        alone = reference(spec, inputs.trial(trial), conventions)
        assert alone.rungs == block.rungs[trial : trial + 1]
        for name, output in alone.outputs.items():
            for field, array in vars(output).items():
                np.testing.assert_array_equal(array[0], getattr(block.outputs[name], field)[trial], f"{name} {field}")


@settings(**MODEST | {"max_examples": 25})
@given(problem=problems())
def test_confirmation_agrees_with_the_ladder(problem):
    spec, inputs, conventions = problem
    first, confirmed = (reference(spec, inputs, conventions, rung=rung) for rung in (None, "mpmath"))
    for name, output in first.outputs.items():
        other = confirmed.outputs[name]
        judged = ~output.undefined & np.isfinite(output.value) & np.isfinite(output.bound)
        with np.errstate(invalid="ignore"):
            apart = np.abs((output.value - other.value) + (output.rest - other.rest))
        allowed = output.rung_bound + other.rung_bound + 2.0**-52 * np.abs(output.value)
        assert (apart <= allowed)[judged].all(), f"{name}: {spec}\n{dict(inputs.items())}"


def _finite(output, judged):
    return replace(output, value=np.where(judged, output.value, 0.0), rest=np.where(judged, output.rest, 0.0))


def test_a_gamma_of_zero_meets_values_that_a_rung_overflows_on():
    """0 times an unbounded limit is 0: y is beta, whatever became of x on the way."""
    x = np.array([[[3.07e301, 3.15e301], [-5.5e300, 5.2e300]]])
    spec = batch_norm_spec(
        (2, 2), 0, data_format="float64", parameter_format="float64", statistics_format="float64",
        has_running=False, cotangent="sum",
    )  # fmt: skip
    inputs = Inputs(x=x, gamma=np.array([[0.0, -0.4]]), beta=np.array([[3.5, 1.0]]))
    y = reference(spec, inputs, Conventions(source="test")).outputs["y"]
    np.testing.assert_array_equal(y.value[0, 0], 3.5)
    assert not np.isnan(y.bound).any()
