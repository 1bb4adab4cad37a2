"""Campaigns that are killed, side by side, or out of space: the corpus stays whole, and what was printed is in it."""

from __future__ import annotations

import random
from collections.abc import Collection
from pathlib import Path

import pytest
from bnfuzz_survival import Command

from bnfuzz.casefile.atomic import LEFTOVER
from bnfuzz.corpus import Corpus

FUNCTION = """\
import numpy as np

def nan(x, gamma, beta, *, eps, axis):
    return np.full_like(x, np.nan)

def zero(x, gamma, beta, *, eps, axis):
    return np.zeros_like(x)
"""

KILLS = 50


def fuzz(folder: Path, *, function: str = "nan", seed: int, cases: int = 64) -> list[str]:
    """The arguments of a campaign that finds something at once, and several signatures before it is over."""
    target = folder / "mine.py"
    target.write_text(FUNCTION)
    options = {"--target": f"{target}:{function}", "--seed": seed, "--cases": cases, "--trials": 8}
    return ["fuzz", "--corpus", str(folder / "corpus"), *(str(word) for pair in options.items() for word in pair)]


def faults(signatures: Collection[str]) -> set[tuple[str, ...]]:
    """(backend, operation, mode, formats, regime) of each.

    A campaign may learn that two of its findings are one fault, and keeps it under one signature then: the outputs and
    kinds that had been printed first may be those of the other.
    """
    parts = [signature.split("/") for signature in signatures]
    return {(*part[1:4], *part[6:]) for part in parts}


class Undisturbed:
    """How long a campaign lasts: in file operations, and in looks at its process."""

    def __init__(self, folder: Path) -> None:
        command = Command(fuzz(folder, seed=1), folder / "output", ("counted", str(folder / "count")))
        self.polls = command.polls()
        assert command.ended() == 1, command.text
        self.operations = int((folder / "count").read_text())
        self.found = command.signatures


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"))


def killed(rng: random.Random, folder: Path, undisturbed: Undisturbed, number: int) -> Command:
    """A campaign of some seed that was killed somewhere in its life, if it was not over by then."""
    arguments = fuzz(folder, seed=rng.randrange(1000), function=rng.choice(["nan", "zero"]))
    output = folder / f"output{number}"
    if rng.random() < 0.5:
        command = Command(arguments, output, ("dies", rng.randint(1, undisturbed.operations)))
        command.ended()
    else:
        command = Command(arguments, output)
        command.polls(rng.randint(1, undisturbed.polls))
        command.kill()
    return command


def test_fifty_kills_lose_nothing_that_was_printed(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Campaigns one after the other on a corpus, until one comes to its end in spite of all; then on the next."""
    rng = random.Random(20260)
    dead = told = ended = corpora = attempt = 0
    printed: set[str] = set()
    while dead < KILLS:
        folder = tmp_path / str(corpora)
        folder.mkdir(exist_ok=True)
        attempt += 1
        command = killed(rng, folder, undisturbed, attempt)
        corpus = Corpus(folder / "corpus")
        assert not corpus.problems
        printed |= command.signatures
        assert faults(corpus.signatures()) >= faults(printed)
        if command.process.exitcode == -9:
            dead += 1
            told += bool(command.signatures)
        else:
            # A restart went on to its end.
            assert command.process.exitcode in (0, 1), command.text
            ended, corpora, printed = ended + 1, corpora + 1, set()
    assert told >= KILLS // 5
    assert ended >= 3


def test_two_campaigns_on_one_corpus(tmp_path: Path) -> None:
    commands = [
        Command(fuzz(tmp_path, seed=seed, function=function), tmp_path / f"output{seed}")
        for seed, function in ((1, "nan"), (2, "nan"), (3, "zero"))
    ]
    assert [command.ended() for command in commands] == [1, 1, 1]
    corpus = Corpus(tmp_path / "corpus")
    assert not corpus.problems
    assert faults(corpus.signatures()) == faults(set().union(*(command.signatures for command in commands)))
    assert not list(tmp_path.rglob(f"{LEFTOVER}*"))


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_disk_that_fills_up(share: float, tmp_path: Path, undisturbed: Undisturbed) -> None:
    at = 1 + int(share * undisturbed.operations)
    command = Command(fuzz(tmp_path, seed=1), tmp_path / "output", ("full", at))
    assert command.ended() == 3, command.text
    assert "No space left on device; make room or choose another folder" in command.text
    assert "Traceback" not in command.text
    corpus = Corpus(tmp_path / "corpus")
    assert not corpus.problems
    assert faults(corpus.signatures()) >= faults(command.signatures)
    # The one that could not be saved is named.
    (last,) = [line for line in command.text.splitlines() if line.startswith("bnfuzz: finding ")]
    assert last.startswith("bnfuzz: finding v1/target:mine.py:nan/")
    assert " is not saved: " in last
    assert not list(tmp_path.rglob(f"{LEFTOVER}*"))
    # With room again, the same campaign saves what it could not.
    again = Command(fuzz(tmp_path, seed=1), tmp_path / "again")
    assert again.ended() in (0, 1), again.text
    assert faults(Corpus(tmp_path / "corpus").signatures()) == faults(undisturbed.found)
