"""Shrinking whole findings: through a pool in process, and through real workers where flax is installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from bnfuzz.backends import registry
from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case, Inputs, Outputs, Spec, batch_norm_spec
from bnfuzz.casefile.tree import case_id
from bnfuzz.evaluation import evaluate_case
from bnfuzz.faults import backend as catalogue
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.findings import MOST_HANGS, PoolEvaluator, confirm, shrink_case, shrink_finding
from bnfuzz.shrink.goal import Goal
from bnfuzz.shrink.measure import array_cost, measure
from bnfuzz.signature import first_failing, signature

from .planted import BACKEND, CONVENTIONS, InProcessPool, Kernel, adversarial_case, drawn_case, one_pass

MINUTES = 600.0
"""Far more than any of these tests takes: none of them waits for a deadline."""


def in_process(kernel: Kernel = one_pass, **options: Any) -> tuple[Pool, InProcessPool]:
    pool = InProcessPool(kernel, **options)
    return cast(Pool, pool), pool


def finding_on(pool: Pool, case: Case, backend: str = BACKEND) -> Finding:
    verdicts = evaluate_case(pool, backend, case)
    named = signature(case.spec, backend, verdicts)
    assert named is not None
    return Finding(
        case=case, backend=backend, verdicts=verdicts, signature=named, environment={"numpy": "2"}, origin="a test"
    )


class TestShrinkFinding:
    def test_a_small_case_comes_back_confirmed(self) -> None:
        pool, _ = in_process()
        finding = finding_on(pool, adversarial_case())
        result = shrink_finding(pool, finding, seconds=MINUTES)
        assert result.confirmed
        assert result.signature == finding.signature
        assert result.case.spec.size <= 4
        assert measure(result.case) < measure(finding.case)
        assert (result.environment, result.origin, result.backend) == ({"numpy": "2"}, "a test", BACKEND)
        assert signature(result.case.spec, BACKEND, result.verdicts) == finding.signature

    def test_no_time_means_confirming_only(self) -> None:
        pool, _ = in_process()
        finding = finding_on(pool, adversarial_case())
        result = shrink_finding(pool, finding, seconds=0.0)
        assert result.confirmed
        assert result.case is finding.case

    def test_a_finding_that_does_not_come_again_is_not_confirmed(self) -> None:
        pool, _ = in_process()
        finding = finding_on(pool, adversarial_case())
        sound = replace(finding, case=drawn_case(finding.case.spec))
        result = shrink_finding(pool, sound, seconds=MINUTES)
        assert not result.confirmed
        assert result.case is sound.case
        assert result.verdicts == finding.verdicts

    def test_what_mpmath_does_not_confirm_is_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pool, _ = in_process()
        finding = finding_on(pool, adversarial_case())

        def doubting(pool: Pool, backend: str, case: Case, **options: Any) -> tuple[Verdict, ...]:
            if case.spec.size < finding.case.spec.size:
                return (Verdict(output="y", kind="ok"),)
            return evaluate_case(pool, backend, case, **options)

        monkeypatch.setattr("bnfuzz.shrink.findings.evaluate_case", doubting)
        result = shrink_finding(pool, finding, seconds=MINUTES)
        assert result.case is finding.case
        assert result.confirmed

    def test_confirming_alone_changes_no_case(self) -> None:
        pool, _ = in_process()
        finding = finding_on(pool, adversarial_case())
        result = confirm(pool, finding)
        assert result.confirmed
        assert result.case is finding.case

    def test_the_first_goal_holds_on(self) -> None:
        pool, _ = in_process()
        finding = finding_on(pool, adversarial_case())
        goal = Goal.of(finding)
        once = shrink_case(pool, finding, seconds=MINUTES, goal=goal)
        again = shrink_case(pool, replace(finding, case=once.case, verdicts=once.verdicts), seconds=MINUTES, goal=goal)
        assert once.finished
        assert again.steps == ()

    def test_it_is_told_what_was_done_and_whether_anything_is_left(self) -> None:
        pool, _ = in_process()
        finding = finding_on(pool, adversarial_case())
        severity = max(verdict.severity for verdict in finding.verdicts if verdict.output == "y")
        cut_short = shrink_finding(pool, finding, seconds=0.0)
        assert cut_short.descent is not None
        assert not cut_short.descent.finished
        once = shrink_finding(pool, finding, seconds=MINUTES)
        assert once.descent is not None
        assert once.descent.origin == case_id(finding.case)
        assert once.descent.severity == severity
        assert once.descent.steps
        assert once.descent.finished
        again = shrink_finding(pool, once, seconds=MINUTES)
        assert again.descent == once.descent
        assert again.case is once.case

    def test_a_shrunk_finding_is_measured_by_what_was_found_first(self) -> None:
        pool, _ = in_process()
        finding = finding_on(pool, adversarial_case())
        once = shrink_finding(pool, finding, seconds=MINUTES)
        assert Goal.of(once).floor == Goal.of(finding).floor
        fresh = Goal.of(replace(once, descent=None)).floor
        assert fresh <= Goal.of(once).floor


class TestCallsThatFail:
    """Kernels that kill the process: a block with one bad trial in it fails as a whole."""

    def test_one_bad_trial_does_not_condemn_its_block(self) -> None:
        pool, _ = in_process(poison=lambda inputs: bool((inputs.x == 7).any()))
        spec = batch_norm_spec((2, 1), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
        x = np.array([[10000, 10001], [7, 8], [0, 1], [20000, 20001]], np.float32).reshape(4, 2, 1)
        verdicts = PoolEvaluator(pool, BACKEND)(spec, Inputs(x=x))
        firsts = [first_failing(verdict) for verdict in verdicts]
        assert [first.kind if first else "ok" for first in firsts][1:3] == ["crash", "ok"]
        assert all(first is not None and first.output == "y" for first in (firsts[0], firsts[3]))
        assert [len(verdicts[k]) > 0 for k in range(-4, 0)] == [True, True, False, True]

    def test_a_crash_shrinks_one_candidate_at_a_time(self) -> None:
        pool, inside = in_process(poison=lambda inputs: bool((inputs.x > 19000).any()))
        finding = finding_on(pool, adversarial_case())
        inside.submissions.clear()
        result = shrink_finding(pool, finding, seconds=MINUTES)
        assert result.confirmed
        assert result.signature == finding.signature
        # With a single value per channel it would be another regime.
        assert result.case.inputs.x.tolist() == [[[20000.0], [20000.0]]]
        assert all(trials == 1 for _, trials in inside.submissions)

    def test_what_a_backend_cannot_express_is_never_kept(self) -> None:
        def fails(spec: Spec, inputs: Inputs) -> Outputs:
            return replace(one_pass(spec, inputs), y=one_pass(spec, inputs).y[:, :1])  # type: ignore[index]

        pool, inside = in_process(fails)
        finding = finding_on(pool, adversarial_case())
        result = shrink_finding(pool, finding, seconds=MINUTES)
        assert first_failing(result.verdicts) is not None
        assert CONVENTIONS.unsupported(result.case.spec) is None
        assert inside.submissions

    def test_a_hang_gets_few_calls(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pool, inside = in_process()
        case = adversarial_case()
        hung = (Verdict(output="call", kind="hang"),)
        named = signature(case.spec, BACKEND, hung)
        assert named is not None
        result = shrink_case(pool, Finding(case=case, backend=BACKEND, verdicts=hung, signature=named), seconds=MINUTES)
        assert result.evaluations == len(inside.submissions) == MOST_HANGS
        assert result.case is case


@pytest.mark.parametrize("name", ["dgamma_uses_x", "rv_std", "cumulative", "axes_missing_spatial", "beta_scaled"])
def test_faults_of_the_catalogue_shrink_to_very_few_values(name: str) -> None:
    fault = CATALOGUE[name]
    conventions = fault.conventions(catalogue.CONVENTIONS)
    pool, inside = in_process(lambda spec, inputs: catalogue.run(fault.kernel, spec, inputs, conventions))
    inside.documented = conventions
    finding = finding_on(pool, fault.example.case(conventions))
    result = shrink_finding(pool, finding, seconds=MINUTES)
    assert result.confirmed
    assert result.case.spec.size <= 4
    assert sum(array_cost(name, array) for name, array in result.case.inputs.items()) <= 120


@pytest.fixture(scope="module")
def workers() -> Iterator[Pool]:
    if "flax" not in registry.available():
        pytest.skip("flax is not installed here")
    with Pool() as pool:
        yield pool


def test_the_default_variance_of_flax_shrinks_to_a_round_pair(workers: Pool) -> None:
    case = adversarial_case()
    finding = finding_on(workers, case, "flax")
    shrunk = shrink_case(workers, finding, seconds=MINUTES)
    assert shrunk.finished
    assert shrunk.evaluations < 100
    result = shrink_finding(workers, finding, seconds=MINUTES)
    assert result.confirmed
    assert result.signature == finding.signature
    assert result.case.spec.size <= 4
    assert array_cost("x", result.case.inputs.x) <= 70
    first, original = first_failing(result.verdicts), first_failing(finding.verdicts)
    assert first is not None
    assert original is not None
    assert first.severity >= min(100.0, original.severity)
