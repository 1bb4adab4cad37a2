"""Small campaigns on functions of our own: sound ones, and ones with a fault planted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.run import Campaign, Report
from bnfuzz.campaign.settings import Settings
from bnfuzz.corpus import Corpus

FUNCTIONS = """
import os
import pathlib
import signal
import numpy as np


def _parts(x, axis):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    return axes, [-1 if i == axis else 1 for i in range(x.ndim)]


def sound(x, gamma, beta, *, eps, axis):
    axes, shape = _parts(x, axis)
    mean = x.mean(axes, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axes, keepdims=True)
    normal = centred / np.sqrt(variance + x.dtype.type(eps))
    return normal * gamma.reshape(shape) + beta.reshape(shape)


def one_pass(x, gamma, beta, *, eps, axis):
    axes, shape = _parts(x, axis)
    mean = x.mean(axes, keepdims=True)
    variance = np.maximum((x * x).mean(axes, keepdims=True) - mean * mean, x.dtype.type(0))
    normal = (x - mean) / np.sqrt(variance + x.dtype.type(eps))
    return normal * gamma.reshape(shape) + beta.reshape(shape)


def unbiased(x, gamma, beta, *, eps, axis):
    axes, shape = _parts(x, axis)
    mean = x.mean(axes, keepdims=True)
    variance = x.var(axes, keepdims=True, ddof=1 if x.size > x.shape[axis] else 0)
    normal = (x - mean) / np.sqrt(variance + x.dtype.type(eps))
    return normal * gamma.reshape(shape) + beta.reshape(shape)


def raises(x, gamma, beta, *, eps, axis):
    raise ValueError("no batch norm today")


def dies(x, gamma, beta, *, eps, axis):
    if np.abs(x).max() > 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    return sound(x, gamma, beta, eps=eps, axis=axis)


def dies_once(x, gamma, beta, *, eps, axis):
    mark = pathlib.Path(__file__).with_name("died")
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGSEGV)
    return sound(x, gamma, beta, eps=eps, axis=axis)


def hangs(x, gamma, beta, *, eps, axis):
    reader, _writer = os.pipe()
    os.read(reader, 1)
"""


@pytest.fixture
def targets(tmp_path: Path) -> Callable[[str], str]:
    """Backend name of one of the functions above."""
    file = tmp_path / "planted.py"
    file.write_text(FUNCTIONS)
    return lambda name: f"target:{file}:{name}"


@pytest.fixture(scope="session")
def limits() -> Limits:
    return Limits(call_seconds=2.0, compile_seconds=20.0)


@pytest.fixture(scope="session")
def pool(limits: Limits) -> Iterator[Pool]:
    with Pool(limits) as shared:
        yield shared


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path / "corpus")


@pytest.fixture
def campaign(pool: Pool) -> Callable[..., Report]:
    """Runs a campaign to its end and returns its report; `announced` collects what was announced."""
    shared = pool

    def run(
        backends: tuple[str, ...],
        corpus: Corpus | None,
        announced: list[Discovery] | None = None,
        *,
        pool: Pool = shared,
        **asked: Any,
    ) -> Report:
        budget = {"cases": 600} if "minutes" not in asked and "cases" not in asked else {}
        settings = Settings(backends=backends, **(budget | asked))
        heard = [] if announced is None else announced
        return Campaign(settings, pool, corpus, announce=heard.append, tick=lambda _: None).run()

    return run
