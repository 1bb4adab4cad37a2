from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bnfuzz.case import Mode, Spec, batch_norm_spec
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.goal import Goal, severity_floor
from bnfuzz.signature import signature

from .planted import BACKEND, drawn_case

WRONG = Verdict(output="y", kind="wrong", severity=1e6, regime="offset")


def goal_for(spec: Spec, verdict: Verdict = WRONG) -> Goal:
    named = signature(spec, BACKEND, (verdict,))
    assert named is not None
    return Goal.of(Finding(case=drawn_case(spec), backend=BACKEND, verdicts=(verdict,), signature=named))


@pytest.mark.parametrize(
    ("severity", "floor"),
    [(0.0, 0.0), (1.0, 0.0), (4.0, 4.0), (99.0, 99.0), (100.0, 100.0), (1e4, 100.0), (1e6, 1e3), (math.inf, 100.0)],
)
def test_the_floor_is_half_the_logarithm_and_convincing_where_that_was(severity: float, floor: float) -> None:
    assert severity_floor(severity) == pytest.approx(floor)


class TestGoal:
    spec = batch_norm_spec((4, 3))
    goal = goal_for(spec)

    def test_the_finding_itself_meets_it(self) -> None:
        assert self.goal(self.spec, (WRONG,))

    @pytest.mark.parametrize(
        "other",
        [
            replace(WRONG, output="dx"),
            replace(WRONG, kind="unstable"),
            replace(WRONG, regime="plain"),
            replace(WRONG, kind="ok"),
            replace(WRONG, severity=999.0),
            replace(WRONG, severity=math.nan),
        ],
        ids=["output", "kind", "regime", "no finding", "too mild", "no number"],
    )
    def test_another_verdict_does_not(self, other: Verdict) -> None:
        assert not self.goal(self.spec, (other,))

    def test_an_earlier_output_that_fails_as_well_names_another_fault(self) -> None:
        assert not self.goal(self.spec, (replace(WRONG, output="batch_var"), WRONG))

    def test_other_formats_are_another_fault(self) -> None:
        assert not self.goal(replace(self.spec, data_format="float16"), (WRONG,))

    def test_half_of_the_logarithm_is_enough(self) -> None:
        assert self.goal(self.spec, (replace(WRONG, severity=1001.0),))

    def test_no_verdict_at_all_does_not(self) -> None:
        assert not self.goal(self.spec, ())


@pytest.mark.parametrize(
    ("steps", "serves"),
    [
        (("training", "training", "inference"), True),
        (("training", "inference"), True),
        (("inference",), True),
        (("training",), True),
        (("inference", "training"), False),
        (("training", "training", "training"), False),
    ],
)
def test_steps_may_be_left_out_but_not_changed(steps: tuple[Mode, ...], serves: bool) -> None:
    long = batch_norm_spec((4, 3), steps=("training", "training", "inference"))
    goal = goal_for(long)
    assert goal(replace(long, steps=steps), (WRONG,)) is serves


def test_a_training_step_alone_may_lose_the_running_statistics() -> None:
    long = batch_norm_spec((4, 3), steps=("training", "inference"))
    assert goal_for(long)(replace(long, steps=("training",), has_running=False), (WRONG,))
