"""Nights in a row: what is found is told once, kept without doubling, and said to be fixed when it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bnfuzz.casefile import read
from bnfuzz.night import NightReport
from bnfuzz.nightly import run
from bnfuzz.nightly.store import Store
from tests.nightly.conftest import SHIFTED, SOUND

Night = Callable[..., NightReport]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_finding_is_told_once_fixed_once_and_told_again_when_it_is_back(
    night: Night, mine: Path, tmp_path: Path
) -> None:
    mine.write_text(SHIFTED)
    first = night(seed=1)
    assert first.exit_code == 1
    assert {row.standing for row in first.findings} == {"new"}
    signatures = {row.signature for row in first.findings}
    assert any(signature.startswith("v1/target:mine.py:norm/") for signature in signatures)
    issues, cases, found = (files(tmp_path / name) for name in ("night/issues", "night/cases", "corpus/found"))
    assert len([name for name in issues if name.endswith(".md")]) == len(cases) == len(found) == len(first.findings)

    second = night(seed=1)
    assert second.exit_code == 0
    assert not second.news
    assert signatures <= {row.signature for row in second.findings if row.standing == "same"}
    assert files(tmp_path / "night/issues") == issues
    assert files(tmp_path / "night/cases") == cases
    assert files(tmp_path / "corpus/found") == found
    assert all("last seen in night 2" in (tmp_path / "night/issues" / row.issue).read_text() for row in second.findings)

    mine.write_text(SOUND)
    told: list[str] = []
    third = night(told, seed=1)
    assert third.exit_code == 0
    assert {row.standing for row in third.findings} == {"gone"}
    for row in third.findings:
        assert row.note.startswith("fixed in this version: mine.py ")
        assert row.version in row.note
        assert "fixed in this version" in (tmp_path / "night/issues" / row.issue).read_text()
        assert any(row.signature in line and "fixed in this version" in line for line in told)
    assert "fixed in this version: mine.py" in (tmp_path / "night/summary.md").read_text()
    assert {read(path).state for path in (tmp_path / "corpus/found").iterdir()} == {"fixed"}

    mine.write_text(SHIFTED)
    fourth = night(seed=1)
    assert fourth.exit_code == 1
    assert signatures & {row.signature for row in fourth.findings if row.standing == "back"}

    state = Store(tmp_path / "night").load()
    assert [one.number for one in state.nights] == [1, 2, 3, 4]
    assert [bool(one.counts.new + one.counts.back) for one in state.nights] == [True, False, False, True]
    assert len({row.signature for row in state.findings}) == len(state.findings)


@pytest.mark.usefixtures("quick_texts")
@pytest.mark.parametrize("place", ["_hunt", "_finish_findings"])
def test_what_an_interrupted_night_found_is_told_by_the_next(
    night: Night, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    mine.write_text(SHIFTED)

    def killed(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(run._Night, place, killed)
        with pytest.raises(KeyboardInterrupt):
            night(seed=2)
    assert not (tmp_path / "night/state.json").exists()
    saved = (tmp_path / "corpus/found").exists()
    assert saved == (place == "_finish_findings")

    told: list[str] = []
    after = night(told, seed=2)
    assert after.exit_code == 1
    assert after.night.number == 1
    assert any("interrupted" in line for line in told)
    assert {row.standing for row in after.findings} == {"new"}
    assert {row.note for row in after.findings} == {"found by a night that was interrupted" if saved else ""}


@pytest.mark.usefixtures("quick_texts")
def test_a_fresh_checkout_does_not_find_anew_what_the_state_has(night: Night, mine: Path, tmp_path: Path) -> None:
    mine.write_text(SHIFTED)
    first = night(seed=1)
    for path in (tmp_path / "corpus/found").iterdir():
        path.unlink()
    second = night(seed=1)
    assert second.exit_code == 0
    assert {row.signature for row in first.findings} <= {row.signature for row in second.findings}


@pytest.mark.usefixtures("quick_texts")
def test_new_only_tells_what_the_state_lacks_and_leaves_it_as_it_is(night: Night, mine: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(SHIFTED)
    mine.write_text(SHIFTED)
    assert night(seed=1).exit_code == 1
    state = (tmp_path / "night/state.json").read_bytes()
    known = night(seed=1, new_only=True)
    assert known.exit_code == 0
    assert known.findings == ()
    both = night(cases=128, seed=1, new_only=True, backends=(f"target:{mine}:norm", f"target:{other}:norm"))
    assert both.exit_code == 1
    assert {row.backend for row in both.findings} == {f"target:{other}:norm"}
    assert (tmp_path / "night/state.json").read_bytes() == state
    assert not (tmp_path / "night/flight.json").exists()


def kept(folder: Path) -> dict[str, bytes]:
    """All that a night stores for the next one."""
    paths = [folder / "state.json", folder / "flight.json", *folder.glob("cases/*"), *folder.glob("issues/*")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.exists()}


@pytest.mark.usefixtures("quick_texts")
def test_new_only_leaves_the_news_of_a_killed_night_to_the_next(
    night: Night, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine.write_text(SHIFTED)

    def killed(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(run._Night, "_finish_findings", killed)
        with pytest.raises(KeyboardInterrupt):
            night(seed=2)
    flight = (tmp_path / "night/flight.json").read_bytes()
    between = night(seed=2, new_only=True)
    assert between.exit_code == 1
    assert (tmp_path / "night/flight.json").read_bytes() == flight
    after = night(seed=2)
    assert after.exit_code == 1
    assert {row.standing for row in after.findings} == {"new"}
    assert {row.signature for row in between.findings} <= {row.signature for row in after.findings}
    assert not (tmp_path / "night/flight.json").exists()


@pytest.mark.usefixtures("quick_texts")
def test_new_only_works_on_nothing_that_is_stored(
    night: Night, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither on a case that is not shrunk to the end, nor on a text that is not ready."""
    mine.write_text(SHIFTED)
    with monkeypatch.context() as patched:
        patched.setattr(run._Night, "_finish_findings", lambda _: None)
        (row,) = night(seed=1, cases=8).findings
    assert row.open
    assert not row.issue_ready
    before = kept(tmp_path / "night")
    assert {"state.json", f"cases/{row.case}"} <= before.keys()
    assert night(seed=1, cases=8, new_only=True).findings == ()
    assert kept(tmp_path / "night") == before


@pytest.mark.usefixtures("quick_texts")
def test_a_planted_fault_that_is_lost_makes_the_night_worthless(night: Night, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/known.toml").write_text(
        '[[finding]]\nsignature = "v1/target:*"\nreason = "swallows whatever comes"\n'
    )
    lost = night(seed=1)
    assert lost.exit_code == 3
    assert not lost.night.planted.arrived
    assert "known.toml may swallow everything" in lost.night.troubles[0]
    assert "Not to be trusted" in (tmp_path / "night/summary.md").read_text()
    assert "Not to be trusted" in (tmp_path / "night/page.html").read_text()
    assert 'type="infrastructure"' in (tmp_path / "night/junit.xml").read_text()


@pytest.mark.usefixtures("quick_texts")
def test_the_budget_of_time_is_kept(night: Night) -> None:
    report = night(seed=1, cases=None, minutes=0.1)
    assert report.night.judged > 0
    assert report.night.budget == "0.1 minutes"


@pytest.mark.usefixtures("quick_texts")
def test_a_finding_that_fails_otherwise_goes_on_under_another_name_with_its_text(
    night: Night, mine: Path, tmp_path: Path
) -> None:
    mine.write_text(SHIFTED)
    (row,) = night(seed=1, cases=8).findings
    assert row.kind == "wrong"
    mine.write_text(SHIFTED.replace("+ 1\n", "+ np.nan\n"))
    second = night(seed=1, cases=8)
    assert second.exit_code == 0
    (changed,) = [one for one in second.findings if one.standing == "changed"]
    assert (changed.kind, changed.issue, changed.first_night) == ("nonfinite", row.issue, 1)
    assert changed.note.startswith("was y wrong in mine.py ")
    assert row.signature not in {one.signature for one in second.findings}
    assert files(tmp_path / "night/issues") == [row.issue]
    assert files(tmp_path / "night/cases") == [changed.case]
    third = night(seed=1, cases=8)
    assert [one.standing for one in third.findings if one.signature == changed.signature] == ["same"]


@pytest.mark.usefixtures("quick_texts")
def test_a_stored_case_that_fails_is_news_once(
    night: Night, mine: Path, tmp_path: Path, write_case: Callable[..., Path]
) -> None:
    write_case("a.json")
    mine.write_text(SHIFTED)
    first = night(seed=1, cases=1, backends=(f"target:{mine}:norm", "numpy"))
    assert first.exit_code == 1
    assert [(row.case, row.standing) for row in first.replayed] == [("a.json", "failed"), ("a.json", "ok")]
    assert {row.backend for row in first.news} == {f"target:{mine}:norm"}
    second = night(seed=1, cases=1, backends=(f"target:{mine}:norm", "numpy"))
    assert second.exit_code == 0
    assert (second.replayed[0].standing, second.replayed[0].reason) == ("open", "a finding since night 1")
    assert 'failures="0"' in (tmp_path / "night/junit.xml").read_text()


@pytest.mark.usefixtures("quick_texts")
def test_a_recorded_failure_that_passes_is_said_to_be_fixed(
    night: Night, tmp_path: Path, write_case: Callable[..., Path]
) -> None:
    path = write_case("a.json", expect={"y": "wrong"})
    before = path.read_bytes()
    report = night(seed=1, cases=1)
    assert report.exit_code == 0
    assert report.night.counts.replay_fixed == 1
    assert "1 recorded ones fixed" in (tmp_path / "night/summary.md").read_text()
    # What people have put into the corpus is left to people.
    assert path.read_bytes() == before


@pytest.mark.usefixtures("quick_texts")
def test_an_unreadable_file_stops_nothing_and_is_named(
    night: Night, tmp_path: Path, write_case: Callable[..., Path]
) -> None:
    write_case("a.json")
    write_case("b.json").write_text("{")
    report = night(seed=1, cases=1)
    assert report.exit_code == 0
    assert [row.case for row in report.replayed] == ["a.json"]
    assert [file.case for file in report.unreadable] == ["b.json"]
    assert "b.json" in (tmp_path / "night/summary.md").read_text()


@pytest.mark.usefixtures("quick_texts")
@pytest.mark.parametrize("part", ["shrink_rest", "explain_rest", "write_issues"])
def test_what_breaks_while_findings_are_finished_costs_no_finding(
    night: Night, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    mine.write_text(SHIFTED)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    told: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(run, part, broken)
        first = night(told, seed=1, cases=8)
    assert first.exit_code == 3
    assert first.night.troubles[0].endswith("failed: ZeroDivisionError: a mistake of ours")
    assert any("Traceback" in line for line in told)
    assert {row.standing for row in first.findings} == {"new"}
    assert "a mistake of ours" in (tmp_path / "night/summary.md").read_text()
    second = night(seed=1, cases=8)
    assert second.exit_code == 0
    assert {row.signature for row in first.findings} <= {row.signature for row in second.findings}
