"""Stored cases run again: the four things that an open finding can show, and a replay that takes up where it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import read
from bnfuzz.corpus import Corpus
from bnfuzz.nightly.replaying import replay_corpus, run_again
from tests.nightly.conftest import SHIFTED, SOUND

Write = Callable[..., Path]

EVERY_SECOND = SHIFTED.replace("def norm", "calls = []\n\ndef norm").replace(
    "+ 1\n", "+ (calls.append(0) or len(calls) % 2)\n"
)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as shared:
        yield shared


@pytest.mark.parametrize(
    ("text", "again", "kind"),
    [(SHIFTED, "same", "wrong"), (SOUND, "gone", ""), (EVERY_SECOND, "flaky", "wrong")],
    ids=["same", "gone", "flaky"],
)
def test_what_an_open_finding_shows(
    pool: Pool, tmp_path: Path, write_case: Write, text: str, again: str, kind: str
) -> None:
    path = tmp_path / f"{again}.py"
    path.write_text(text)
    shown = run_again(pool, read(write_case("a.json")), f"target:{path}:norm")
    assert shown.again == again
    assert (shown.verdict.kind if shown.verdict else "") == kind
    if again == "flaky":
        assert shown.note.endswith("of 3 runs fail")
    assert bool(shown.signature) == bool(kind)


def test_what_the_backend_does_not_take_is_unseen(
    pool: Pool, mine: Path, write_case: Write, plain_case: Callable[..., object]
) -> None:
    shown = run_again(
        pool, read(write_case("a.json", case=plain_case([1.0, 2.0], channel_axis=0))), f"target:{mine}:norm"
    )
    assert shown.again == "unseen"
    assert "does not take the case" in shown.note


def test_a_replay_goes_on_where_time_ran_out(pool: Pool, tmp_path: Path, write_case: Write) -> None:
    for name in "abcde":
        write_case(f"{name}.json")
    corpus = Corpus(tmp_path / "corpus")
    seen: list[str] = []
    begin = ""
    for _ in range(3):
        answers = iter([False, False, True, True, True, True])
        done = replay_corpus(
            pool, corpus, ("numpy",), begin=begin, without=(), over=lambda answers=answers: next(answers)
        )
        assert done.left == 3
        seen += [row.case for row in done.rows]
        begin = done.resume_at
    assert seen == ["a.json", "b.json", "c.json", "d.json", "e.json", "a.json"]


def test_pairs_that_were_run_already_are_left_out(pool: Pool, tmp_path: Path, write_case: Write) -> None:
    path = write_case("a.json")
    corpus = Corpus(tmp_path / "corpus")
    done = replay_corpus(pool, corpus, ("numpy",), begin="", without={(path, "numpy")}, over=lambda: False)
    assert (done.rows, done.left, done.resume_at) == ([], 0, "")
