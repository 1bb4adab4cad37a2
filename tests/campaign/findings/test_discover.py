"""Of one fault one signature and one file are left, whichever trial came first; what is known stays known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from bnfuzz.campaign.findings.discover import Discoveries, Discovery
from bnfuzz.campaign.findings.sightings import Sighting
from bnfuzz.case import OUTPUT_NAMES, Case
from bnfuzz.corpus import Corpus
from bnfuzz.corpus.known import KnownFinding, append
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Kind, Verdict
from bnfuzz.signature import signature

Seen = Callable[..., Finding]
BACKEND = "numpy"


@pytest.fixture
def seen(plain_case: Callable[..., Case]) -> Seen:
    """A finding whose outputs fail as given; `x` makes another case of it."""

    def finding(x: float = 1.0, severity: float = 1e3, **kinds: Kind) -> Finding:
        case = plain_case(((x,), (2.0,), (4.0,)))
        verdicts = tuple(
            Verdict(output=name, kind=kinds.get(name, "ok"), severity=severity if name in kinds else 0.1)
            for name in ("call", *OUTPUT_NAMES)
            if name in kinds or not name.startswith(("batch", "call"))
        )
        named = signature(case.spec, BACKEND, verdicts)
        assert named is not None
        return Finding(case=case, backend=BACKEND, verdicts=verdicts, signature=named, confirmed=True)

    return finding


def campaign(corpus: Corpus | None, findings: list[Finding], announced: list[str] | None = None) -> Discoveries:
    """Each finding as the first trial of its signature in a unit of its own, three trials each."""
    told = [] if announced is None else announced

    def announce(discovery: Discovery) -> None:
        told.append(discovery.finding.signature)

    found = Discoveries(corpus, versions={BACKEND: "1.0"}, announce=announce)
    for finding in findings:
        identity = finding.signature
        if found.settled().severity(identity, "1.0") is None:
            found.take(Sighting(identity=identity, finding=finding))
        failing = frozenset(verdict.output for verdict in finding.verdicts if verdict.is_finding)
        found.count({identity: 3}, {identity: BACKEND}, {}, {identity: failing})
    return found


def files(folder: Path) -> list[str]:
    return sorted(path.name.rpartition("-")[0] for path in (folder / "found").glob("*.json"))


def output_of(signature: str) -> str:
    return "/".join(signature.split("/")[4:6])


def test_one_fault_is_one_finding_whichever_trial_came_first(seen: Seen, tmp_path: Path) -> None:
    parts = [
        seen(1.0, dx="wrong"),
        seen(1.5, y="unstable", dx="unstable"),
        seen(2.5, dgamma="wrong"),
        seen(3.0, y="nonfinite", dgamma="nonfinite"),
    ]
    for number, order in enumerate(permutations(parts)):
        folder = tmp_path / str(number)
        found = campaign(Corpus(folder), list(order))
        (one,) = found.distinct
        assert output_of(one.finding.signature) == "y/nonfinite"
        assert one.outputs == {"y", "dgamma", "dx"}
        assert found.counts == {one.finding.signature: 12}
        assert files(folder) == ["numpy-y-nonfinite"]


def test_what_tells_more_is_announced_in_its_place(seen: Seen) -> None:
    announced: list[str] = []
    found = campaign(None, [seen(dx="wrong"), seen(y="wrong"), seen(dgamma="wrong")], announced)
    assert [output_of(signature) for signature in announced] == ["dx/wrong", "y/wrong"]
    assert [output_of(signature) for signature in found.distinct[0].earlier] == ["dx/wrong"]


@pytest.mark.parametrize("named_so", [False, True])
def test_what_was_doubted_once_is_found_when_it_is_confirmed(seen: Seen, tmp_path: Path, named_so: bool) -> None:
    """Under its own name, or under that which mpmath gives to the trial of another one."""
    announced: list[Discovery] = []
    found = Discoveries(Corpus(tmp_path / "c"), versions={BACKEND: "1.0"}, announce=announced.append)
    doubted, other = seen(1.0, y="wrong"), seen(1.5, y="unstable").signature

    def unit(sighting: Sighting) -> None:
        assert found.settled().severity(sighting.identity, "1.0") is None
        found.take(sighting)
        found.count({sighting.identity: 3}, {sighting.identity: BACKEND}, {}, {sighting.identity: frozenset({"y"})})

    unit(Sighting(identity=doubted.signature, finding=replace(doubted, confirmed=False), doubted=True))
    unit(Sighting(identity=doubted.signature, finding=replace(doubted, confirmed=False), doubted=True))
    assert list(found.unconfirmed) == [doubted.signature]
    assert found.distinct == ()
    unit(Sighting(identity=other if named_so else doubted.signature, finding=seen(2.5, y="wrong")))
    assert [one.finding.signature for one in found.failing] == [doubted.signature]
    assert announced == list(found.distinct)
    assert found.unconfirmed == {}
    assert found.counts == {doubted.signature: 9}
    assert files(tmp_path / "c") == ["numpy-y-wrong"]
    assert found.settled().severity(doubted.signature, "1.0") == 1e3


@pytest.mark.parametrize("by", ["another finding", "the list", "an open case"])
def test_what_shrinking_makes_of_a_finding_takes_no_other_ones_place(seen: Seen, tmp_path: Path, by: str) -> None:
    corpus = Corpus(tmp_path / "c")
    corpus.check_ready()
    other = seen(2.5, new_running_var="wrong")
    if by == "the list":
        append(corpus.folder / "known.toml", KnownFinding(signature=other.signature, reason="the unbiased variance"))
    elif by == "an open case":
        corpus.add_finding(other)
    corpus.reload()
    first = seen(1.0, y="wrong")
    found = campaign(corpus, [first, *([other] if by == "another finding" else [])])
    before, held = found.distinct, files(corpus.folder)
    found.replace(before[0], seen(4.0, new_running_var="wrong"))
    assert found.distinct == before
    assert [one.finding for one in found.distinct] == [first, other][: len(before)]
    assert found.counts[first.signature] == 3
    assert files(corpus.folder) == held


def test_what_shrinking_makes_of_a_finding_may_go_by_a_name_of_its_own(seen: Seen, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "c")
    found = campaign(corpus, [seen(1.0, y="wrong")])
    smaller = seen(2.5, y="unstable")
    found.replace(found.distinct[0], smaller)
    assert [one.finding for one in found.distinct] == [smaller]
    assert found.counts == {smaller.signature: 3}
    assert files(corpus.folder) == ["numpy-y-unstable"]


def test_two_faults_joined_by_a_third_trial_are_one(seen: Seen, tmp_path: Path) -> None:
    apart = [seen(1.0, y="wrong"), seen(1.5, new_running_var="wrong")]
    assert len(campaign(None, apart).distinct) == 2
    found = campaign(Corpus(tmp_path / "c"), [*apart, seen(2.5, y="wrong", new_running_var="wrong")])
    assert [output_of(one.finding.signature) for one in found.distinct] == ["y/wrong"]
    assert found.counts.total() == 9
    assert files(tmp_path / "c") == ["numpy-y-wrong"]


def test_another_class_is_another_fault(seen: Seen) -> None:
    found = campaign(None, [seen(y="wrong"), seen(y="dtype"), seen(call="error")])
    assert {output_of(one.finding.signature) for one in found.distinct} >= {"y/wrong", "y/dtype"}


def test_an_open_case_covers_what_it_records_and_no_more(seen: Seen, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "c")
    campaign(corpus, [seen(1.0, y="wrong"), seen(1.5, dx="wrong")])
    corpus.reload()
    less = campaign(corpus, [seen(2.5, dx="unstable"), seen(3.0, y="wrong", dx="wrong")])
    assert less.distinct == ()
    assert [output_of(signature) for signature in less.known] == ["y/wrong"]
    assert less.counts.total() == 6
    for more in (seen(3.5, dgamma="wrong"), seen(4.5, y="nonfinite"), seen(5.0, dx="nonfinite")):
        assert len(campaign(corpus, [more]).distinct) == 1, more.signature
        corpus = Corpus(tmp_path / "c")


def test_more_outputs_than_are_recorded_are_not_covered(seen: Seen, tmp_path: Path) -> None:
    """Neither by the first trial of a unit nor, once they were seen, by any."""
    corpus = Corpus(tmp_path / "c")
    campaign(corpus, [seen(1.0, y="wrong", dgamma="wrong")])
    corpus.reload()
    few, more = seen(1.5, dgamma="wrong"), seen(2.5, dgamma="wrong", dx="wrong")
    assert campaign(corpus, [few, few]).distinct == ()
    assert len(campaign(corpus, [more]).distinct) == 1
    corpus = Corpus(tmp_path / "d")
    campaign(corpus, [seen(1.0, y="wrong", dgamma="wrong")])
    corpus.reload()
    assert len(campaign(corpus, [few, more, few]).distinct) == 1


def test_the_list_speaks_of_what_it_matches_only(seen: Seen, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "c")
    corpus.check_ready()
    append(corpus.folder / "known.toml", KnownFinding(signature="v1/numpy/*/y/unstable/*", reason="a one-pass formula"))
    corpus.reload()
    found = campaign(corpus, [seen(1.0, y="unstable", dx="unstable"), seen(1.5, dx="wrong")])
    assert [output_of(signature) for signature in found.known] == ["y/unstable"]
    assert [output_of(one.finding.signature) for one in found.distinct] == ["dx/wrong"]


def test_what_fails_besides_is_kept_in_the_file(seen: Seen, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "c")
    campaign(corpus, [seen(1.0, y="wrong"), seen(1.5, dx="wrong")])
    corpus.reload()
    (entry,) = corpus.entries
    (expectation,) = entry.file.expectations
    assert expectation.also == ("dx",)
    assert dict(expectation.findings) == {"y": "wrong"}
