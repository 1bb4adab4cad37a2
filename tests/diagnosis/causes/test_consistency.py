"""What counts as explained: inside an enclosure, apart from another one, reproduced by a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.case import Case
from bnfuzz.diagnosis.causes.consistency import Trial, alike, apart, consistency, inside
from bnfuzz.diagnosis.causes.enclosure import Enclosure, Setting
from bnfuzz.diagnosis.causes.hypothesis import Hypothesis, single_hypotheses
from bnfuzz.diagnosis.causes.observation import calling, observed
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE

SINGLE = Setting(formats.named("float32"))
NUMBERS = st.sampled_from((0.0, 1.0, -1.0, 3.0, float("inf"), float("-inf")))
INFINITY = float("inf")
NOTHING = float("nan")


def enclosed(lo: float, hi: float, nan: bool = False, v: float | None = None) -> Enclosure:
    ends = (np.asarray([number], dtype=np.longdouble) for number in (lo if v is None else v, lo, hi))
    return Enclosure(*ends, np.array([nan]), SINGLE)


@st.composite
def enclosures(draw: st.DrawFn) -> Enclosure:
    if draw(st.integers(0, 5)) == 0:
        return enclosed(NOTHING, NOTHING)
    lo, hi = sorted(draw(st.tuples(NUMBERS, NUMBERS)))
    return enclosed(lo, hi, draw(st.booleans()))


def holds(one: Enclosure, value: float) -> bool:
    return bool(inside(one, np.array([value], dtype=np.longdouble)).all())


@settings(deadline=None)
@given(enclosures(), enclosures(), NUMBERS | st.just(NOTHING))
def test_nothing_is_inside_two_that_are_apart(first: Enclosure, second: Enclosure, value: float) -> None:
    assert not (apart(first, second).all() and holds(first, value) and holds(second, value))


@settings(deadline=None)
@given(enclosures(), enclosures())
def test_where_they_are_not_apart_something_is_inside_both(first: Enclosure, second: Enclosure) -> None:
    values = (*(float(end[0]) for one in (first, second) for end in (one.lo, one.hi)), NOTHING)
    assert apart(first, second).all() != any(holds(first, value) and holds(second, value) for value in values)


def test_an_infinity_is_inside_where_its_own_end_is_one() -> None:
    upwards = enclosed(1.0, INFINITY)
    assert holds(upwards, INFINITY)
    assert not holds(upwards, -INFINITY)
    assert not holds(upwards, NOTHING)
    assert holds(enclosed(1.0, INFINITY, nan=True), NOTHING)
    assert holds(enclosed(1.0, 2.0, nan=True), NOTHING)


@pytest.mark.parametrize("seen", [INFINITY, -INFINITY, NOTHING])
@pytest.mark.parametrize("there", [INFINITY, -INFINITY, NOTHING, 0.0, 1e30])
def test_what_is_no_number_is_reproduced_by_the_same_alone(seen: float, there: float) -> None:
    same = seen == there or (np.isnan(seen) and np.isnan(there))
    with np.errstate(all="ignore"):
        assert alike(np.array([seen]), np.array([there]), np.array([1.0])).all() == same


@settings(deadline=None)
@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_a_number_is_reproduced_where_a_run_is_eight_times_nearer(seen: float, there: float, truth: float) -> None:
    expected = seen == there or 8 * abs(seen - there) <= abs(seen - truth)
    assert alike(np.array([seen]), np.array([there]), np.array([truth])).all() == expected


# -- whole trials -----------------------------------------------------------------------------------------------------


def hypothesis_named(name: str, case: Case) -> Hypothesis:
    return next(one for one in single_hypotheses(case.spec, CONVENTIONS) if one.name == name)


def trial_of(planted: str, suspected: str, case: Case) -> Trial:
    kernel = CATALOGUE[planted].kernel
    answer = calling(lambda spec, inputs: run(kernel, spec, inputs, CONVENTIONS))(case.spec, case.inputs)
    assert answer is not None
    return Trial(hypothesis_named(suspected, case), observed(case.spec, case.inputs, CONVENTIONS, answer))


@pytest.mark.parametrize("planted", ["onepass", "onepass_clamp"])
@pytest.mark.parametrize("suspected", ["onepass", "onepass_clamp"])
def test_squares_that_overflow_contradict_neither_way_to_write_one_pass(planted: str, suspected: str) -> None:
    """mean(x²) and mean² are both infinite there, and their difference is NaN, clamped or not."""
    example = CATALOGUE[planted].example.case(CONVENTIONS, ("float32",) * 3, seed=3)
    noise = np.random.default_rng(0).standard_normal(example.inputs.x.shape)
    x = (3e19 + 1e16 * noise).astype(np.float32)
    verdict = consistency(trial_of(planted, suspected, replace(example, inputs=replace(example.inputs, x=x))))
    assert verdict.holds, verdict.contradiction
    assert verdict.supported


@pytest.mark.parametrize(("planted", "suspected"), [("eps_outside", "eps_missing"), ("rv_std", "momentum_swapped")])
def test_a_fault_is_supported_by_its_own_answers_and_contradicts_another(planted: str, suspected: str) -> None:
    case = CATALOGUE[planted].example.case(CONVENTIONS, ("float32",) * 3, seed=1)
    own = consistency(trial_of(planted, planted, case))
    assert own.holds, own.contradiction
    assert own.supported
    assert consistency(trial_of(planted, suspected, case)).contradiction
