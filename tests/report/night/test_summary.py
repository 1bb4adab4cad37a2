"""The summary: short when all is quiet, bounded when nothing is, and inert whatever is in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.night import KnownEntry, Replayed
from bnfuzz.report.links import linked, web_address
from bnfuzz.report.night.odd import FEW
from bnfuzz.report.night.summary import headline, summary
from tests.nightly.examples import FOUND, SIGNATURE, hostile_report, night, report, tracked


def test_a_quiet_night_takes_a_few_lines() -> None:
    text = summary(report(tracked(standing="same")))
    assert text.count("\n") <= 6
    assert text.startswith("## bnfuzz night 3: nothing new\n")
    assert "150,000 trials judged in 500 s (300/s)" in text
    assert FOUND in text
    assert SIGNATURE not in text


def test_what_is_new_and_what_is_gone_is_listed() -> None:
    gone = tracked(signature=f"{SIGNATURE}/2", standing="gone", gone_night=3, note="fixed in this version: flax 0.13.0")
    long_gone = tracked(signature=f"{SIGNATURE}/3", standing="gone", gone_night=1)
    text = summary(report(tracked(link="https://example.org/7", cause="one-pass"), gone, long_gone))
    assert "1 new finding, " in text
    assert f"| new | `{SIGNATURE}` | 120 | 3 | [one-pass](https://example.org/7) |" in text
    assert "fixed in this version: flax 0.13.0" in text
    assert f"{SIGNATURE}/3" not in text


def test_expired_entries_and_odd_cases_are_listed() -> None:
    entry = KnownEntry(signature="v1/flax/*", reason="one-pass", standing="fixed", note="fixed in this version: flax 1")
    odd = Replayed(case="a.json", backend="flax", standing="fixed", reason="y wrong")
    text = summary(report(known=(entry,), replayed=(odd,)))
    assert "| fixed | `v1/flax/*` |" in text
    assert "| fixed | `a.json` | flax | y wrong |" in text


@pytest.mark.parametrize("count", [FEW, 77])
def test_the_stored_cases_of_one_faulty_function_take_one_row(count: int) -> None:
    rows = tuple(Replayed(case=f"{n}.json", backend="target:m.py:f", standing="failed") for n in range(count))
    other = Replayed(case="z.json", backend="flax", standing="fixed")
    lines = [line for line in summary(report(replayed=(*rows, other))).splitlines() if ".json" in line]
    assert lines[-1].startswith("| fixed | `z.json` | flax |")
    assert len(lines) == (FEW if count == FEW else 1) + 1
    if count > FEW:
        assert lines[0].startswith("| failed | 77 cases | target:m.py:f | `0.json`, `1.json`, `2.json`, …")


def test_findings_that_there_was_no_time_to_write_about_are_counted() -> None:
    rows = [tracked(signature=f"v1/{n}", case="a.json") for n in range(3)]
    written = tracked(signature="v1/w", case="a.json", issue="w.md")
    assert "No time was left for 3 findings to get their issue texts" in summary(report(*rows, written))
    for quiet in (
        written,
        tracked(case="a.json", standing="gone", gone_night=3),
        tracked(case="a.json", standing="unseen"),
    ):
        assert "No time was left" not in summary(report(quiet))


def test_a_night_not_to_be_trusted_says_so_first() -> None:
    text = summary(report(tracked(), night=night(troubles=("the planted fault is lost",))))
    assert text.splitlines()[0] == "## bnfuzz night 3: not to be trusted"
    assert "the planted fault is lost" in text.splitlines()[2]


def test_ten_thousand_findings_stay_far_below_the_limit_of_a_step_summary() -> None:
    rows = [tracked(signature=f"{SIGNATURE}{n}", cause=f"{n:0500}") for n in range(10_000)]
    text = summary(report(*rows))
    assert len(text.encode()) < 100_000
    assert "9975 more" in text


def test_hostile_texts_are_text() -> None:
    text = summary(hostile_report())
    outside = re.sub(r"(`+).*?\1", "", text)
    assert not re.search(r"(?<!\\)[<>]", outside.replace("> **Not to be trusted:**", ""))
    for target in re.findall(r"(?<!\\)\]\(([^)]*)\)", outside):
        assert target.startswith(("http://", "https://"))
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("| ")}
    assert widths <= {4, 5, 6}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("  HTTP://example.org ", "HTTP://example.org"),
        ("javascript:alert(1)", ""),
        ("java\nscript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("https:///nowhere", ""),
        ("//example.org", ""),
        ("https://[", ""),
        ('https://example.org/"onx=1>(y)', "https://example.org/%22onx=1%3E%28y%29"),
        ("https://example.org/\u202e", ""),
    ],
)
def test_only_addresses_of_the_web_are_links(given: str, shown: str) -> None:
    assert web_address(given) == shown
    assert linked("text", given) == (f"[text]({shown})" if shown else "text")


@given(st.text(max_size=40))
def test_no_address_ends_its_link(text: str) -> None:
    safe = web_address(f"https://example.org/{text}")
    assert not set(safe) & set(" \"'()<>[]`\n")


def test_headlines() -> None:
    assert headline(report(tracked(), tracked(signature="v1/b", standing="back"))) == "1 new finding, 1 came back"
    assert headline(report(tracked(standing="flaky"))) == "nothing new"
    assert headline(report(tracked(kind="range"))) == "1 new finding (of a kind that fails no run)"
    assert headline(report(tracked(kind="range"), tracked(signature="v1/b"))) == "2 new findings"
