"""Open findings for which a night has no time of their own: replaying the corpus says what became of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bnfuzz.casefile import read
from bnfuzz.night import NightReport
from bnfuzz.nightly.asked import AGAIN_END, Schedule
from tests.nightly.conftest import SHIFTED, SOUND

Night = Callable[..., NightReport]


@pytest.mark.usefixtures("quick_texts")
@pytest.mark.parametrize(("text", "standing"), [(SOUND, "gone"), (SHIFTED, "same")])
def test_a_stored_case_that_is_replayed_is_the_word_on_its_finding(
    night: Night, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, standing: str
) -> None:
    mine.write_text(SHIFTED)
    first = night(seed=1, cases=8)
    assert first.findings
    mine.write_text(text)
    monkeypatch.setattr(Schedule, "over", lambda _, share: lambda: share == AGAIN_END)
    second = night(seed=1, cases=1)
    known = {row.signature for row in first.findings}
    assert {row.standing for row in second.findings if row.signature in known} == {standing}
    if standing == "gone":
        assert all(row.note.startswith("fixed in this version: mine.py ") for row in second.findings)
        assert second.night.counts.open == 0
        assert {read(path).state for path in (tmp_path / "corpus/found").iterdir()} == {"fixed"}
