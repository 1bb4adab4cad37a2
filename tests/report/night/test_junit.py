"""JUnit XML: well formed whatever is in it, its counts right, and only tonight's news fail."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.night import NightReport, Replayed, Unreadable
from bnfuzz.report.night.junit import junit
from tests.nightly.examples import SIGNATURE, hostile_report, night, report, tracked

STANDINGS = ("ok", "known", "open", "failed", "fixed", "undecided", "unsupported")


def parsed(whole: NightReport) -> ElementTree.Element:
    return ElementTree.fromstring(junit(whole).partition("?>")[2])


def test_one_test_case_per_stored_case_and_backend_and_per_new_finding() -> None:
    replayed = tuple(Replayed(case="a.json", backend=f"b{n}", standing=name) for n, name in enumerate(STANDINGS))
    old = tracked(signature=f"{SIGNATURE}/2", standing="same")
    root = parsed(report(tracked(), old, replayed=replayed, unreadable=(Unreadable(case="c.json", problem="no JSON"),)))
    corpus, findings, itself = root
    assert [case.get("classname") for case in corpus] == ["a.json"] * 7 + ["c.json"]
    assert [case.get("name") for case in findings] == [SIGNATURE]
    assert len(itself) == 1
    results = [[child.tag for child in case] for case in corpus]
    assert results == [[], ["skipped"], ["skipped"], ["failure"], ["system-out"], ["skipped"], ["skipped"], ["error"]]
    assert dict(root.attrib)["tests"] == "10"
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == ("2", "1", "4")
    assert (corpus.get("tests"), corpus.get("failures"), corpus.get("errors")) == ("8", "1", "1")


def test_what_fails_no_run_fails_no_test() -> None:
    root = parsed(report(tracked(kind="range"), tracked(signature="v1/b", standing="back", kind="wrong")))
    assert [[child.tag for child in case] for case in root[1]] == [["skipped"], ["failure"]]


def test_troubles_are_errors() -> None:
    root = parsed(report(night=night(troubles=("lost", "blind"))))
    assert root.get("errors") == "2"


def test_hostile_texts_are_text() -> None:
    root = parsed(hostile_report())
    tags = {element.tag for element in root.iter()}
    assert tags <= {"testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"}
    assert any("<script>" in (case.get("classname") or "") for case in root.iter("testcase"))


@given(st.text(max_size=30))
def test_any_text_is_well_formed(text: str) -> None:
    row = Replayed(case=text, backend=text, standing="failed", reason=text)
    (case,) = parsed(report(replayed=(row,)))[0]
    assert len(case) == 1
