"""What a night tells of a finding: links that are its own, and a cause only where one was looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import dumps, read
from bnfuzz.casefile.stored import Origin
from bnfuzz.corpus import Corpus
from bnfuzz.diagnosis.explanation import UNKNOWN
from bnfuzz.nightly.findings import from_failure, keep_turned
from bnfuzz.nightly.ledger import Ledger
from bnfuzz.nightly.replaying import Failure, Shown, replay_corpus
from bnfuzz.nightly.store import Store
from bnfuzz.nightly.unfinished import explain_rest
from bnfuzz.report.night.page import page
from tests.nightly.conftest import SHIFTED
from tests.nightly.examples import report, tracked

Write = Callable[..., Path]


@pytest.fixture
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


def test_the_link_of_an_input_is_not_that_of_another_implementations_failure(
    pool: Pool, tmp_path: Path, mine: Path, write_case: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_case("a.json")
    elsewhere = "https://example.org/another-project/3"
    path.write_text(dumps(replace(read(path), origin=Origin(title="t", link=elsewhere, note="why"))))
    mine.write_text(SHIFTED)
    store, backend = Store(tmp_path / "night"), f"target:{mine}:norm"
    done = replay_corpus(pool, Corpus(tmp_path / "corpus"), (backend,), begin="", without=(), over=lambda: False)
    (failure,) = done.failures
    row = from_failure(failure, pool, store, number=3, version="mine.py 1")
    assert row.link == ""
    again = keep_turned(store, pool, row, read(store.cases / row.case), shown_of(failure))
    assert read(store.cases / again).origin == Origin(title="t", note=f"why; input from {elsewhere}")
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "/* plots */")
    text = page(report(row), store.folder)
    assert f'href="{elsewhere}"' not in text
    assert f"input from {elsewhere}" in text


def shown_of(failure: Failure) -> Shown:
    return Shown(again="same", signature=failure.signature, verdicts=failure.outcome.verdicts)


@pytest.mark.parametrize(
    ("before", "standing", "asked"),
    [("", "same", True), ("one-pass", "new", False), (UNKNOWN, "changed", True), (UNKNOWN, "same", False)],
)
def test_a_cause_that_was_looked_for_in_vain_is_not_one_that_there_was_no_time_for(
    pool: Pool, tmp_path: Path, mine: Path, write_case: Write, before: str, standing: str, asked: bool
) -> None:
    mine.write_text(SHIFTED.replace("+ 1\n", "+ np.cos(x * 1000)\n"))
    store, backend = Store(tmp_path / "night"), f"target:{mine}:norm"
    row = tracked(backend=backend, standing="new", cause=before)
    row = replace(row, case=store.keep_case(row.signature, read(write_case("a.json"))))
    ledger = Ledger(3, ())
    ledger.adopt(replace(row, standing=standing))
    explain_rest(ledger, store, pool, (backend,), lambda: True)
    assert ledger[row.signature].cause == before
    explain_rest(ledger, store, pool, (backend,), lambda: False)
    assert (ledger[row.signature].cause != before) == (asked and before != UNKNOWN)
    if asked:
        assert ledger[row.signature].cause == UNKNOWN
