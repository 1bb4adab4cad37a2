"""Nights of a few seconds on functions of our own, whose files change from one night to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bnfuzz.corpus import Entry
from bnfuzz.night import NightReport
from bnfuzz.nightly import issues
from bnfuzz.nightly.asked import Asked
from bnfuzz.nightly.run import run_night
from bnfuzz.report.issue.prepare import Issue

SOUND = """
import numpy as np

def _parts(x, axis):
    return tuple(i for i in range(x.ndim) if i != axis), [-1 if i == axis else 1 for i in range(x.ndim)]

def norm(x, gamma, beta, *, eps, axis):
    axes, shape = _parts(x, axis)
    centred = x - x.mean(axes, keepdims=True)
    variance = (centred * centred).mean(axes, keepdims=True)
    return centred / np.sqrt(variance + x.dtype.type(eps)) * gamma.reshape(shape) + beta.reshape(shape)
"""

SHIFTED = SOUND.replace("beta.reshape(shape)\n", "beta.reshape(shape) + 1\n")
"""Adds 1 to everything: wrong in every trial."""

Night = Callable[..., NightReport]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The file of the function under test, sound at first."""
    path = tmp_path / "mine.py"
    path.write_text(SOUND)
    return path


@pytest.fixture
def quick_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue texts without the run of their scripts, which takes seconds and is tested where they are written."""

    def prepare(pool: object, entries: Sequence[Entry], *, signature: str, **others: object) -> Issue:
        del pool, others
        text = f"# {signature}\n\n{entries[0].file.id}"
        return Issue(title=signature, markdown=text, script="", script_output="", ready=True)

    monkeypatch.setattr(issues, "prepare", prepare)


@pytest.fixture
def night(tmp_path: Path, mine: Path) -> Night:
    """Runs one night on the function of `mine`, in the folders `night/` and `corpus/`; lines told go to `told`."""

    def run(told: list[str] | None = None, *, cases: int = 16, **asked: Any) -> NightReport:
        heard = [] if told is None else told
        asked.setdefault("backends", (f"target:{mine}:norm",))
        settings = Asked(output=tmp_path / "night", corpus=tmp_path / "corpus", cases=cases, **asked)
        return run_night(settings, tell=heard.append)

    return run
