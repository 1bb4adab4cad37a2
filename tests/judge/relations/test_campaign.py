"""Campaigns check the relations that hold bit for bit, and confirm, shrink and save what violates them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.run import Campaign, Report
from bnfuzz.campaign.settings import Settings
from bnfuzz.casefile import read
from bnfuzz.corpus import Corpus
from bnfuzz.relating import relate_case

FUNCTIONS = """
import numpy as np

calls = 0


def sound(x, gamma, beta, *, eps, axis):
    axes, shape = tuple(i for i in range(x.ndim) if i != axis), [-1 if i == axis else 1 for i in range(x.ndim)]
    centred = x - x.mean(axes, keepdims=True)
    root = np.sqrt((centred * centred).mean(axes, keepdims=True) + x.dtype.type(eps))
    return centred / root * gamma.reshape(shape) + beta.reshape(shape)


def leaks(x, gamma, beta, *, eps, axis):
    return sound(x, gamma, beta, eps=eps, axis=axis) + 0 * x.sum()


def fickle(x, gamma, beta, *, eps, axis):
    global calls
    calls += 1
    y = sound(x, gamma, beta, eps=eps, axis=axis)
    return np.where(y == 0, y, np.nextafter(y, 2 * y)) if calls % 7 < 3 else y
"""


def campaign(folder: Path, function: str) -> tuple[Report, Pool]:
    (folder / "mine.py").write_text(FUNCTIONS, encoding="utf-8")
    asked = Settings(
        backends=(f"target:{folder / 'mine.py'}:{function}",),
        seed=3,
        cases=500,
        trials=16,
        modes=("training",),
        formats=("float32",),
        families=("noise",),
    )
    pool = Pool()
    corpus = Corpus(folder / "corpus")
    return Campaign(asked, pool, corpus, announce=lambda found: None, tick=lambda running: None).run(), pool


@pytest.mark.parametrize(("function", "kind"), [("sound", None), ("leaks", "leak"), ("fickle", "nondeterministic")])
def test_planted_violations(tmp_path: Path, function: str, kind: str | None) -> None:
    report, pool = campaign(tmp_path, function)
    with pool:
        found = [discovery for discovery in report.discoveries.distinct if discovery.first.kind != "range"]
        assert {discovery.first.kind for discovery in found} == ({kind} if kind else set())
        assert report.failed == (kind == "leak")
        for discovery in found:
            assert discovery.finding.confirmed
            assert discovery.path is not None
            stored = read(discovery.path)
            assert stored.expectations[0].findings == {"y": kind}
            if kind == "leak":
                assert stored.case.inputs.x.size <= 6
                again = relate_case(pool, discovery.finding.backend, stored.case)
                assert [(verdict.output, verdict.kind) for verdict in again] == [("y", "leak")]
