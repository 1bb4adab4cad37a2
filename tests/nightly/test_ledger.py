"""The ledger: whatever the night brings in whatever order, nothing is lost, doubled or told twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.judge.verdict import Verdict
from bnfuzz.night import STANDINGS, Tracked
from bnfuzz.nightly.ledger import KEPT_GONE, Ledger
from tests.nightly.examples import SIGNATURE, names, rows, tracked

NUMBER = 7

events = st.lists(
    st.one_of(
        st.tuples(st.just("ran"), names, st.sampled_from(["same", "flaky", "gone", "unseen"])),
        st.tuples(st.just("seen"), names, st.just("")),
        st.tuples(st.just("found"), names, st.just("")),
        st.tuples(st.just("turned"), names, names),
    ),
    max_size=12,
)


def stored(drawn: list[Tracked]) -> list[Tracked]:
    return list({row.signature: row for row in drawn}.values())


@given(st.lists(rows(), max_size=6).map(stored), events)
def test_no_order_of_events_loses_doubles_or_retells(before: list[Tracked], told: list[tuple[str, str, str]]) -> None:
    ledger = Ledger(NUMBER, before)
    known = {row.signature for row in before}
    found, renamed = set(), set()
    for what, signature, detail in told:
        if what == "seen":
            ledger.seen(signature, version="b")
        elif what == "found":
            ledger.found(tracked(signature=signature, version="b"))
            found.add(signature)
        elif signature in ledger and ledger[signature].open:
            if what == "ran":
                ledger.ran(signature, detail, version="b")  # type: ignore[arg-type]  # drawn from the literals
            elif detail != signature:
                ledger.turned(signature, detail, Verdict(output="dx", kind="nonfinite"), version="b")
                renamed.add(detail)
    after = {row.signature: row for row in ledger.rows}
    assert len(after) == len(ledger.rows)
    assert set(after) <= known | found | renamed
    for row in after.values():
        if row.standing == "new":
            assert row.signature in found | renamed
            assert renamed or row.signature not in known
        if row.standing == "back":
            assert any(old.standing == "gone" for old in before)
        if row.standing in ("same", "changed", "flaky", "new", "back"):
            assert row.last_night == NUMBER
            assert row.fixed_in == ""
    places = [STANDINGS.index(row.standing) for row in ledger.rows]
    assert places == sorted(places)


def test_an_open_finding_that_nobody_mentions_is_unseen() -> None:
    ledger = Ledger(NUMBER, [tracked(standing="same", note="old news")])
    assert (ledger[SIGNATURE].standing, ledger[SIGNATURE].note) == ("unseen", "")
    ledger.seen(SIGNATURE, version="flax 0.13")
    assert (ledger[SIGNATURE].standing, ledger[SIGNATURE].version) == ("same", "flax 0.13")


def test_gone_says_in_which_version_and_since_which() -> None:
    ledger = Ledger(NUMBER, [tracked(version="flax 0.12.8")])
    ledger.ran(SIGNATURE, "gone", version="flax 0.13.0")
    assert ledger[SIGNATURE].note == "fixed in this version: flax 0.13.0 (last seen in flax 0.12.8)"
    assert ledger[SIGNATURE].fixed_in == "flax 0.13.0"
    again = Ledger(NUMBER, [tracked(version="flax 0.12.8")])
    again.ran(SIGNATURE, "gone", version="flax 0.12.8")
    assert "the machine or bnfuzz has changed" in again[SIGNATURE].note


def test_gone_on_its_case_but_seen_on_another_is_changed_and_open() -> None:
    ledger = Ledger(NUMBER, [tracked()])
    ledger.ran(SIGNATURE, "gone", version="b")
    ledger.found(tracked(case="other.json", version="b"))
    row = ledger[SIGNATURE]
    assert (row.standing, row.case, row.gone_night, row.first_night) == ("changed", "other.json", 0, 3)


def test_what_was_gone_comes_back_with_its_history() -> None:
    ledger = Ledger(NUMBER, [tracked(standing="gone", gone_night=5, fixed_in="flax 0.13.0", issue="a.md")])
    ledger.found(tracked(version="flax 0.14.0"))
    row = ledger[SIGNATURE]
    assert (row.standing, row.note, row.issue, row.first_night) == ("back", "was gone in flax 0.13.0", "a.md", 3)


def test_a_case_that_fails_otherwise_keeps_its_texts_under_the_other_signature() -> None:
    ledger = Ledger(NUMBER, [tracked(issue="a.md", case="a.json")])
    ledger.turned(SIGNATURE, "v1/other", Verdict(output="dx", kind="unstable", severity=3.0), version="flax 0.13.0")
    (row,) = ledger.rows
    assert (row.signature, row.issue, row.case, row.standing) == ("v1/other", "a.md", "a.json", "changed")
    assert (row.output, row.kind, row.note) == ("dx", "unstable", "was y wrong in flax 0.12.8")


def test_what_is_long_gone_is_forgotten() -> None:
    gone = tracked(standing="gone", gone_night=1)
    assert Ledger(1 + KEPT_GONE, [gone]).rows
    assert not Ledger(2 + KEPT_GONE, [gone]).rows
