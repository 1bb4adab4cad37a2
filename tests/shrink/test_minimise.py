from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.case import Case, Inputs, Spec, batch_norm_spec, check_inputs
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.block import MOST, MOST_ELEMENTS, fingerprint
from bnfuzz.shrink.goal import Goal, severity_floor
from bnfuzz.shrink.measure import array_cost, measure
from bnfuzz.shrink.minimise import Accept, Evaluate, Shrunk, shrink
from bnfuzz.signature import first_failing, signature

from .planted import BACKEND, Judged, Told, adversarial_case, drawn_case


def goal_of(case: Case, evaluate: Evaluate) -> Goal:
    (verdicts,) = evaluate(case.spec, case.inputs)
    first = first_failing(verdicts)
    assert first is not None
    named = signature(case.spec, BACKEND, verdicts)
    assert named is not None
    return Goal(backend=BACKEND, signature=named, steps=case.spec.steps, floor=severity_floor(first.severity))


def shrunk(case: Case, evaluate: Evaluate, accept: Accept | None = None, *, alone: bool = False) -> Shrunk:
    return shrink(case, evaluate=evaluate, accept=accept or goal_of(case, evaluate), deadline=math.inf, alone=alone)


def wrong(spec: Spec, verdicts: tuple[Verdict, ...]) -> bool:
    del spec
    return any(verdict.kind == "wrong" for verdict in verdicts)


def crashed(spec: Spec, verdicts: tuple[Verdict, ...]) -> bool:
    del spec
    return any(verdict.kind == "crash" for verdict in verdicts)


class TestOnePassVariance:
    """The fault that every fuzzer of this kind meets first, from (8, 5, 4) noise at an offset."""

    def test_few_round_values_remain_and_still_convince(self) -> None:
        case = adversarial_case()
        evaluate = Judged()
        goal = goal_of(case, evaluate)
        result = shrunk(case, evaluate, goal)
        assert result.finished
        assert result.reproduced
        assert goal(result.case.spec, result.verdicts)
        assert result.case.spec.size <= 4
        assert array_cost("x", result.case.inputs.x) <= 70
        first = first_failing(result.verdicts)
        assert first is not None
        assert first.severity >= 100
        assert result.evaluations < 100

    def test_nothing_that_it_does_not_need_remains(self) -> None:
        spec = shrunk(adversarial_case(), Judged()).case.spec
        assert (spec.has_gamma, spec.has_beta, spec.has_running, spec.cotangent) == (False, False, False, "sum")
        assert (spec.eps, spec.parameter_axes) == (1e-5, (1,))

    def test_the_story_is_told(self) -> None:
        result = shrunk(adversarial_case(), Judged())
        assert "shape (8, 5, 4) to (2, 1)" in result.steps[0]
        assert any(step.startswith("rounder x: x {") for step in result.steps)

    @settings(max_examples=6, deadline=None)
    @given(
        st.sampled_from([(6, 3), (3, 2, 4), (2, 3, 2, 2)]),
        st.integers(0, 1),
        st.integers(0, 2**16),
        st.sampled_from(["contiguous", "flipped"]),
    )
    def test_any_case_keeps_its_signature_and_is_done_after_one_go(
        self, shape: tuple[int, ...], channel: int, seed: int, layout: str
    ) -> None:
        case = drawn_case(batch_norm_spec(shape, channel - len(shape), layout_x=layout), seed, offset=3e4)
        evaluate = Judged()
        goal = goal_of(case, evaluate)
        result = shrunk(case, evaluate, goal)
        check_inputs(result.case.spec, result.case.inputs)
        (again,) = evaluate(result.case.spec, result.case.inputs)
        assert again == result.verdicts
        assert goal(result.case.spec, again)
        assert measure(result.case) <= measure(case)
        assert fingerprint(shrunk(case, Judged(), goal).case) == fingerprint(result.case)
        assert shrunk(result.case, evaluate, goal).steps == ()


NEEDS: dict[str, Callable[[Case], bool]] = {
    "five values": lambda case: case.spec.size >= 5,
    "three channels": lambda case: len(case.spec.statistics_shape) > 0 and case.spec.statistics_shape[0] >= 3,
    "rank 3": lambda case: case.spec.rank >= 3,
    "gamma over 1": lambda case: case.inputs.gamma is not None and bool((case.inputs.gamma > 1).any()),
    "two distinct values": lambda case: len(np.unique(case.inputs.x)) >= 2,
    "a layout": lambda case: case.spec.layout_x == "zero_stride",
    "a step after another": lambda case: case.spec.steps[-2:] == ("training", "inference"),
    "an odd eps": lambda case: case.spec.eps == 1e-3,
    "running statistics": lambda case: case.spec.has_running,
    "a value over 1": lambda case: bool((case.inputs.x > 1).any()),
}


class TestWhateverIsNeededStays:
    def start(self) -> Case:
        spec = batch_norm_spec(
            (3, 4, 2), eps=1e-3, layout_x="zero_stride", steps=("training", "training", "inference"), momentum=0.25
        )
        case = drawn_case(spec, seed=3)
        x = np.repeat(case.inputs.x[:, :, :1], 3, axis=2) * 2
        gamma = np.array([[0.5, 1.5, 2.5, -1]], np.float32)
        return Case(spec=spec, inputs=replace(case.inputs, x=x, gamma=gamma))

    @pytest.mark.parametrize("first", NEEDS)
    def test_one_need_and_nothing_else(self, first: str) -> None:
        evaluate = Told(fails=NEEDS[first])
        result = shrunk(self.start(), evaluate, wrong)
        assert result.finished
        assert NEEDS[first](result.case)
        assert shrunk(result.case, evaluate, wrong).steps == ()

    @settings(max_examples=8, deadline=None)
    @given(st.sets(st.sampled_from(sorted(NEEDS)), min_size=2, max_size=4))
    def test_several_needs_at_once(self, names: set[str]) -> None:
        def fails(case: Case) -> bool:
            return all(NEEDS[name](case) for name in names)

        result = shrunk(self.start(), Told(fails=fails), wrong)
        assert result.finished
        assert fails(result.case)
        assert measure(result.case) < measure(self.start())
        assert fingerprint(shrunk(self.start(), Told(fails=fails), wrong).case) == fingerprint(result.case)

    def test_the_smallest_case_of_all(self) -> None:
        result = shrunk(self.start(), Told(fails=lambda case: True), wrong)
        spec = result.case.spec
        # Not (1, 1): training on a single value is a regime of its own, so another signature.
        assert spec.shape == (2, 1)
        assert len(spec.steps) == 1
        assert measure(result.case)[-1] == 0

    def test_a_fault_of_two_channels_keeps_two(self) -> None:
        result = shrunk(self.start(), Told(fails=lambda case: case.spec.statistics_shape[0] >= 2), wrong)
        assert result.case.spec.statistics_shape == (2,)

    def test_a_fault_of_many_values_keeps_just_as_many(self) -> None:
        case = drawn_case(batch_norm_spec((90, 2)))
        result = shrunk(case, Told(fails=lambda case: case.spec.n >= 37), wrong)
        assert result.case.spec.shape == (37, 1)


class TestTheEvaluatorDecides:
    def test_nothing_is_taken_that_it_refuses(self) -> None:
        case = drawn_case(batch_norm_spec((3, 2, 2), -2, eps=1e-3))
        original = fingerprint(case)
        evaluate = Told(fails=lambda other: fingerprint(other) == original)
        result = shrunk(case, evaluate, wrong)
        assert fingerprint(result.case) == original
        assert result.steps == ()
        assert result.finished
        assert result.evaluations == len(evaluate.calls)

    def test_a_case_that_does_not_fail_stays_as_it_is(self) -> None:
        evaluate = Told()
        result = shrunk(adversarial_case(), evaluate, wrong)
        assert not result.reproduced
        assert result.evaluations == 1
        assert result.steps == ()

    def test_every_candidate_of_a_call_fits_and_calls_stay_small(self) -> None:
        evaluate = Judged()
        shrunk(adversarial_case(), evaluate)
        for spec, trials in evaluate.calls:
            assert trials <= MOST
            assert trials == 1 or trials * spec.size <= MOST_ELEMENTS

    def test_nothing_is_evaluated_twice(self) -> None:
        seen = set()

        def fails(case: Case) -> bool:
            key = fingerprint(case)
            assert key not in seen
            seen.add(key)
            return case.spec.size >= 3

        shrunk(adversarial_case(), Told(fails=fails), wrong)

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    def test_values_that_are_not_finite_go_where_they_can(self, bad: float) -> None:
        case = adversarial_case()
        x = case.inputs.x.copy()
        x[0, 0, :, 0] = bad
        case = Case(spec=case.spec, inputs=replace(case.inputs, x=x))
        assert np.isfinite(shrunk(case, Told(fails=lambda case: True), wrong).case.inputs.x).all()
        kept = shrunk(case, Told(fails=lambda case: not np.isfinite(case.inputs.x).all()), wrong)
        assert kept.case.spec.size == 2

    def test_extreme_magnitudes_move_towards_one(self) -> None:
        case = drawn_case(batch_norm_spec((3, 2), data_format="float64"))
        case = Case(spec=case.spec, inputs=replace(case.inputs, x=case.inputs.x * 1e-250))

        def fails(candidate: Case) -> bool:
            return 0 < float(np.abs(candidate.inputs.x).max()) < 1e-3

        assert float(np.abs(shrunk(case, Told(fails=fails), wrong).case.inputs.x).max()) == 1e-4

    def test_an_empty_case_shrinks_too(self) -> None:
        spec = batch_norm_spec((0, 3, 2))
        result = shrunk(drawn_case(spec), Told(fails=lambda case: case.spec.size == 0), wrong)
        assert result.finished
        assert result.case.spec.size == 0


class TestTimeCap:
    """A clock that moves on by one second with each look at it."""

    def run(self, case: Case, evaluate: Evaluate, accept: Accept, seconds: float) -> Shrunk:
        ticks = count()
        return shrink(case, evaluate=evaluate, accept=accept, deadline=seconds, clock=lambda: float(next(ticks)))

    def test_it_stops_at_the_deadline(self) -> None:
        evaluate = Judged()
        goal = goal_of(adversarial_case(), evaluate)
        result = self.run(adversarial_case(), evaluate, goal, 3)
        assert result.evaluations == 3
        assert not result.finished
        assert goal(result.case.spec, result.verdicts)

    def test_a_deadline_in_the_past_costs_nothing(self) -> None:
        evaluate = Judged()
        result = self.run(adversarial_case(), evaluate, wrong, 0)
        assert evaluate.calls == []
        assert not result.finished
        assert fingerprint(result.case) == fingerprint(adversarial_case())

    def test_it_can_be_resumed_until_it_is_done(self) -> None:
        evaluate = Judged()
        goal = goal_of(adversarial_case(), evaluate)
        case, sizes = adversarial_case(), [measure(adversarial_case())]
        for _ in range(60):
            result = self.run(case, evaluate, goal, 12)
            case = result.case
            sizes.append(measure(case))
            if result.finished:
                break
        assert result.finished
        assert sizes == sorted(sizes, reverse=True)
        assert case.spec.size <= 4


class TestFaultsOfWholeCalls:
    def test_a_crash_is_tried_one_candidate_at_a_time(self) -> None:
        evaluate = Told(crashes=lambda case: bool((case.inputs.x > 19000).any()))
        result = shrunk(adversarial_case(), evaluate, crashed, alone=True)
        assert all(trials == 1 for _, trials in evaluate.calls)
        assert result.finished
        assert result.case.spec.size == 1
        assert result.case.inputs.x.ravel().tolist() == [20000.0]

    def test_known_verdicts_save_the_first_call(self) -> None:
        verdicts = (Verdict(output="call", kind="crash"),)
        case = drawn_case(batch_norm_spec((3, 2, 2), -2))
        tried = []

        def fails(candidate: Case) -> bool:
            tried.append(fingerprint(candidate))
            return False

        evaluate = Told(fails=fails)
        result = shrink(case, evaluate=evaluate, accept=crashed, deadline=math.inf, verdicts=verdicts, alone=True)
        assert result.verdicts == verdicts
        assert tried
        assert fingerprint(case) not in tried

    def test_calls_can_be_counted_out(self) -> None:
        evaluate = Told(crashes=lambda case: True)
        result = shrink(
            adversarial_case(),
            evaluate=evaluate,
            accept=crashed,
            deadline=math.inf,
            alone=True,
            most_evaluations=2,
        )
        assert result.evaluations == len(evaluate.calls) == 2
        assert not result.finished


def test_the_given_case_is_left_alone() -> None:
    case = adversarial_case()
    before = fingerprint(case)
    shrunk(case, Judged())
    assert fingerprint(case) == before
    assert isinstance(case.inputs, Inputs)
