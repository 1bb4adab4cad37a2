"""The state: what is written is what is read, and what cannot be read is named and left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.casefile import atomic
from bnfuzz.casefile.exactjson import PlaceError, parse, render
from bnfuzz.errors import InfrastructureError, UsageError, printable
from bnfuzz.night import Night, NightReport, Tracked
from bnfuzz.nightly.store import Flight, LastSeen, State, Store, stem_of
from bnfuzz.nightly.tree import from_tree, to_tree
from tests.nightly.examples import SIGNATURE, dot, hostile_report, night, report, rows, tracked


def a_state() -> State:
    return State(
        nights=(night(1), night(2, troubles=("lost",))),
        findings=(tracked(severity=float("inf")),),
        known_seen=(LastSeen(signature="v1/*", night=2),),
        replay_from="reports/a.json",
    )


def test_a_state_reads_back_as_it_was_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "night")
    assert store.load() == State()
    assert store.load().next_number == 1
    store.take_off(Flight(number=3, seed=1, started="now", before=("v1/a",)))
    store.save(a_state())
    assert store.load() == a_state()
    assert store.load().next_number == 3
    assert store.flight() is None


@given(rows())
def test_findings_read_back(row: Tracked) -> None:
    assert from_tree(Tracked, parse(render(to_tree(row)))) == row


def test_reports_read_back() -> None:
    whole = report(tracked(), dots=(dot(kappa=float("inf")),))
    assert from_tree(NightReport, parse(render(to_tree(whole)))) == whole
    parse(render(to_tree(hostile_report())))


leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=5)
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))


@given(st.sampled_from(sorted(to_tree(night()))), trees)
def test_any_other_value_is_refused_with_its_place_or_read(field: str, value: object) -> None:
    place, read = f"$.{field}", None
    try:
        read = from_tree(Night, {**to_tree(night()), field: value})
    except PlaceError as error:
        place = error.place
    assert place.startswith(f"$.{field}")
    assert read is None or keeps(to_tree(read)[field], value)


def keeps(read: object, given: object) -> bool:
    """Whether all that was given was read: a field left out has its default, control characters go."""
    if isinstance(given, dict) and isinstance(read, dict):
        return all(name in read and keeps(read[name], value) for name, value in given.items())
    if isinstance(given, list) and isinstance(read, list):
        return len(read) == len(given) and all(map(keeps, read, given))
    return read == (printable(given) if isinstance(given, str) else given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1"),
        ("[]", "one JSON object"),
        ("{}", "schema"),
        ('{"schema": 2}', "2 is not 1"),
        ('{"schema": 1, "findings": [{}]}', "findings[0]: signature is missing"),
        ('{"schema": 1, "extra": 1}', "State has no such field"),
        ('{"schema": 1, "replay_from": 7}', "7 is no str"),
    ],
)
def test_a_state_that_cannot_be_read_is_named_and_left_alone(tmp_path: Path, text: str, message: str) -> None:
    store = Store(tmp_path)
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(UsageError) as caught:
        store.load()
    assert "state.json" in str(caught.value)
    assert message in str(caught.value)
    assert "move it away" in str(caught.value)
    assert (tmp_path / "state.json").read_text() == text


def test_a_full_disk_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    store.save(a_state())

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "write", full)
    with pytest.raises(InfrastructureError, match="make room"):
        store.save(State())
    monkeypatch.undo()
    assert store.load() == a_state()
    assert {path.name for path in tmp_path.iterdir()} == {"state.json", "cases", "issues"}


def test_two_nights_do_not_share_a_folder_at_a_time(tmp_path: Path) -> None:
    with Store(tmp_path).alone(), pytest.raises(UsageError, match="another night is running"), Store(tmp_path).alone():
        pass
    with Store(tmp_path).alone():
        pass


@given(st.text(min_size=1, max_size=300))
def test_a_signature_names_one_file_of_its_folder(signature: str) -> None:
    name = stem_of(signature)
    assert Path(name).name == name
    assert len(name.encode()) < 100
    assert stem_of(signature + "x") != name


def test_a_case_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "night")
    (tmp_path / "night" / "secret.json").write_text(json.dumps({}))
    assert store.case_of(tracked(case="../secret.json")) is None
    assert store.case_of(tracked(case="")) is None
    assert store.case_of(tracked(signature=SIGNATURE, case="missing.json")) is None
