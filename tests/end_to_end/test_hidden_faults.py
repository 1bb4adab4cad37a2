"""`bnfuzz fuzz --target`: faults that are in nobody's catalogue are found, saved, and told to be what they are."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from bnfuzz.corpus import Corpus

HERE = Path(__file__).parent

NUMPY = {
    "swapped_axis": "dx",
    "gamma_squared": "dx",
    "eps_twice": "y",
    "first_sample_left_behind": "y",
    "mean_through_half": "y",
    "tail_of_a_vector": "y",
    "saturated": "y",
    "about_the_new_mean": "new_running_var",
}
STATE = {"stuck_from_the_second_step": "new_running_mean"}
JAX = {"counts_the_first_axis": "y", "holds_half_of_the_mean": "dx", "root_in_bfloat16": "y"}
"""Function -> the output that is wrong first in the flow of data."""

RUNS = {
    "numpy": ("hidden_numpy.py", ["sound", *NUMPY], ["--cases", "7500"]),
    "jax": ("hidden_jax.py", ["sound", *JAX], ["--cases", "1600"]),
    "state": ("hidden_numpy.py", [*STATE], ["--cases", "1500", "--mode", "training"]),
}
"""Name -> (file, functions, budget and filters)."""


def fuzzed(run: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file, functions, options = RUNS[run]
    targets = [argument for name in functions for argument in ("--target", f"{HERE / file}:{name}")]
    command = ["fuzz", *targets, *options, "--seed", "4", "--trials", "12", "--corpus", str(folder)]
    return subprocess.run(
        [sys.executable, "-m", "bnfuzz", *command], capture_output=True, text=True, check=False, env=dict(os.environ)
    )


@pytest.fixture(scope="module")
def campaigned(tmp_path_factory):
    """Name of a run -> (the finished command, its corpus); each is run once."""

    @cache
    def finished(run: str) -> tuple[subprocess.CompletedProcess[str], Corpus]:
        folder = tmp_path_factory.mktemp("corpus") / "corpus"
        return fuzzed(run, folder), Corpus(folder)

    return finished


def signatures(corpus: Corpus, run: str, function: str) -> list[list[str]]:
    """Of the failing findings, in parts."""
    file, *_ = RUNS[run]
    found = [signature.split("/") for signature in corpus.signatures()]
    return [parts for parts in found if parts[1] == f"target:{file}:{function}" and parts[5] != "range"]


WANTED = {"numpy": NUMPY, "jax": JAX, "state": STATE}
ALL = [(run, name, output) for run, functions in WANTED.items() for name, output in functions.items()]


@pytest.mark.parametrize(("run", "function", "output"), ALL)
def test_a_hidden_fault_is_found(campaigned, run, function, output):
    done, corpus = campaigned(run)
    assert done.returncode == 1, done.stderr
    found = signatures(corpus, run, function)
    assert found, f"{function} was missed\n{done.stdout[-3000:]}"
    assert {parts[4] for parts in found} == {output}
    places = [(parts[3], parts[6], parts[7]) for parts in found]
    assert len(set(places)) == len(places), "one signature per mode, formats and regime"


@pytest.mark.parametrize("run", ["numpy", "jax"])
def test_the_sound_one_is_not_accused(campaigned, run):
    _, corpus = campaigned(run)
    assert signatures(corpus, run, "sound") == []


def test_a_fault_of_the_state_is_a_sequence_s_and_another_is_not(campaigned):
    of_state = signatures(campaigned("state")[1], "state", *STATE)
    assert {parts[3] for parts in of_state} == {"training+training"}
    others = [parts for name in NUMPY for parts in signatures(campaigned("numpy")[1], "numpy", name)]
    assert {parts[3] for parts in others} <= {"training", "inference"}


def test_what_was_found_of_the_state_is_replayed(campaigned):
    """The saved case fails in the recorded way again, on the function that it is of."""
    _, corpus = campaigned("state")
    (case, *_) = [
        entry.path for entry in corpus.entries if any("+" in name.split("/")[3] for name in entry.file.signatures)
    ]
    target = f"target:{HERE / 'hidden_numpy.py'}:stuck_from_the_second_step"
    done = subprocess.run(
        [sys.executable, "-m", "bnfuzz", "replay", str(case), "--backend", target],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 known" in done.stdout
