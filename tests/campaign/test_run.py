"""Whole campaigns: sound kernels are never accused, planted faults are found, and what is known stays known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.run import Report
from bnfuzz.casefile import read
from bnfuzz.corpus import Corpus
from bnfuzz.corpus.known import KnownFinding, append
from bnfuzz.errors import UsageError

Run = Callable[..., Report]
Targets = Callable[[str], str]

PLAIN: dict[str, Any] = {"modes": ("training",), "formats": ("float32",)}
"""What a function without state and of unstated formats can be asked for."""


def kinds(report: Report) -> set[str]:
    return {discovery.first.kind for discovery in report.discoveries.distinct}


def test_a_sound_function_is_not_accused(campaign: Run, corpus: Corpus, targets: Targets) -> None:
    report = campaign(("numpy", targets("sound")), corpus, cases=6000, seed=2)
    assert kinds(report) <= {"range"}, [d.finding.signature for d in report.discoveries.distinct]
    assert not report.failed
    assert report.tally.judged >= 6000


def test_a_one_pass_variance_is_found_confirmed_shrunk_and_saved(
    campaign: Run, corpus: Corpus, targets: Targets
) -> None:
    announced: list[Discovery] = []
    # Time enough for shrinking, however slow the machine is.
    report = campaign(
        (targets("one_pass"),), corpus, announced, cases=4000, seed=2, families=("offset",), shrink_share=20.0
    )
    assert report.failed
    # `wrong` where the one-pass bound says nothing any more: that trial then stands for the others.
    found = [discovery for discovery in announced if discovery.first.kind in ("unstable", "wrong")]
    assert found
    assert "unstable" in {
        signature.split("/")[5] for one in found for signature in (one.finding.signature, *one.earlier)
    }
    best = max(found, key=lambda discovery: discovery.first.severity)
    assert best.finding.confirmed
    assert best.finding.case.inputs.x.size <= 12
    assert best.path is not None
    stored = read(best.path)
    assert stored.signatures == (best.finding.signature,)
    assert stored.descent is not None
    assert stored.descent.steps


def test_a_wrong_factor_is_found_in_few_trials(campaign: Run, targets: Targets) -> None:
    report = campaign((targets("unbiased"),), None, cases=300, seed=2)
    assert "wrong" in kinds(report)


def test_a_second_campaign_knows_what_the_first_found(campaign: Run, corpus: Corpus, targets: Targets) -> None:
    backend = targets("unbiased")
    first = campaign((backend,), corpus, cases=300, seed=2)
    assert first.failed
    corpus.reload()
    second = campaign((backend,), corpus, cases=300, seed=2)
    assert not second.failed
    assert set(second.discoveries.known) >= {d.finding.signature for d in first.discoveries.failing}


def test_a_listed_finding_is_known(campaign: Run, corpus: Corpus, targets: Targets) -> None:
    corpus.check_ready()
    append(corpus.folder / "known.toml", KnownFinding(signature="v1/target:planted.py:unbiased/*", reason="planted"))
    corpus.reload()
    report = campaign((targets("unbiased"),), corpus, cases=300, seed=2)
    assert report.discoveries.known
    assert not report.failed


@pytest.mark.parametrize("cases", [1, 100, 1000])
def test_a_budget_of_cases_is_kept_within_five_per_cent(campaign: Run, cases: int) -> None:
    report = campaign(("numpy",), None, cases=cases)
    assert cases <= report.tally.judged <= max(1.05 * cases, cases + 1)


def test_the_first_failure_does_not_hide_another(campaign: Run, targets: Targets) -> None:
    report = campaign((targets("unbiased"), targets("one_pass")), None, cases=4000, seed=2)
    accused = {discovery.finding.signature.split("/")[1] for discovery in report.discoveries.distinct}
    assert accused == {"target:planted.py:unbiased", "target:planted.py:one_pass"}


def test_an_exception_is_a_finding(campaign: Run, corpus: Corpus, targets: Targets) -> None:
    report = campaign((targets("raises"), "numpy"), corpus, cases=200, **PLAIN)
    (found,) = report.discoveries.failing
    assert (found.first.output, found.first.kind) == ("call", "error")
    assert "no batch norm today" in found.first.why
    assert report.tally.backends["numpy"].judged >= 100


def test_a_crash_is_blamed_on_the_trial_that_causes_it(campaign: Run, corpus: Corpus, targets: Targets) -> None:
    report = campaign((targets("dies"), "numpy"), corpus, cases=600, seed=2, families=("noise", "offset"), **PLAIN)
    crashes = [d for d in report.discoveries.failing if d.first.kind == "crash"]
    assert crashes
    for crash in crashes:
        assert crash.finding.confirmed
        assert abs(crash.finding.case.inputs.x).max() > 2
        assert "SIGSEGV" in crash.first.why
    assert report.tally.backends["numpy"].judged >= 300


def test_a_death_that_does_not_come_again_is_saved_as_flaky(campaign: Run, corpus: Corpus, targets: Targets) -> None:
    report = campaign((targets("dies_once"),), corpus, cases=300, **PLAIN)
    (found,) = report.discoveries.failing
    assert found.first.kind == "crash"
    assert not found.finding.confirmed
    assert found.path is not None
    assert read(found.path).state == "flaky"
    assert report.tally.judged >= 200


def test_a_hang_is_a_finding_and_the_rest_goes_on(campaign: Run, corpus: Corpus, targets: Targets) -> None:
    with Pool(Limits(call_seconds=2.0, compile_seconds=4.0)) as impatient:
        report = campaign((targets("hangs"), "numpy"), corpus, pool=impatient, cases=300, **PLAIN)
    (found,) = report.discoveries.failing
    assert found.first.kind == "hang"
    assert report.tally.backends[targets("hangs")].hung
    assert report.tally.backends["numpy"].judged >= 200


def test_a_campaign_ends_where_every_backend_has_hung(campaign: Run, targets: Targets) -> None:
    with Pool(Limits(call_seconds=1.0, compile_seconds=2.0)) as impatient:
        report = campaign((targets("hangs"),), None, pool=impatient, cases=100_000, **PLAIN)
    assert [found.first.kind for found in report.discoveries.failing] == ["hang"]
    assert report.tally.tried < 1000


def test_outputs_that_were_not_asked_for_are_not_judged(campaign: Run) -> None:
    report = campaign(("numpy",), None, cases=300, outputs=("dx",))
    assert set(report.tally.backends["numpy"].outputs) == {"dx"}


def test_outputs_that_nobody_offers_are_refused(campaign: Run, targets: Targets) -> None:
    with pytest.raises(UsageError, match="they offer y"):
        campaign((targets("unbiased"),), None, cases=300, outputs=("dx",))


def test_filters_that_leave_nothing_are_refused(campaign: Run, targets: Targets) -> None:
    with pytest.raises(UsageError, match="widen"):
        campaign((targets("unbiased"),), None, cases=300, modes=("inference",))


def test_a_budget_of_cases_ends_where_every_call_fails(campaign: Run, targets: Targets) -> None:
    report = campaign((targets("raises"),), None, cases=300, **PLAIN)
    assert report.tally.judged == 0
    assert report.tally.tried >= 300
