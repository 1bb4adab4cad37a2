"""`bnfuzz fuzz`: what it refuses, what it shows, and its exit codes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bnfuzz.campaign.run import Report
from bnfuzz.campaign.shards import run_campaign
from bnfuzz.cli import bnfuzz
from bnfuzz.cli import fuzz as command


def fuzz(tmp_path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(bnfuzz, ["fuzz", "--corpus", str(tmp_path / "corpus"), *arguments])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--jobs", "0"], "jobs=0 must be at least 1"),
        (["--jobs", "1000"], "jobs=1000 must be at least 1 and at most"),
        (["--jobs", "2", "--dask", "tcp://127.0.0.1:8786"], "jobs=2 and dask=tcp://127.0.0.1:8786 exclude each other"),
        (["--dask", "nowhere"], "--dask nowhere: not the address of a scheduler"),
    ],
)
def test_contradictions_are_refused_before_anything_runs(tmp_path: Path, arguments: list[str], says: str) -> None:
    result = fuzz(tmp_path, "--backend", "numpy", "--cases", "10", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_two_jobs_end_with_one_table(tmp_path: Path) -> None:
    result = fuzz(tmp_path, "--backend", "numpy", "--cases", "100", "--seed", "4", "--jobs", "2")
    assert result.exit_code in (0, 1)
    assert result.stdout.startswith("bnfuzz fuzz: seed 4, backends numpy, 2 jobs\n")
    assert result.stdout.count("judged trials in") == 1


def test_a_new_finding_is_named_by_its_whole_path_and_with_what_says_more(
    tmp_path: Path, implementations: Path
) -> None:
    result = fuzz(tmp_path, "--target", f"{implementations}:wrong_y", "--cases", "64", "--mode", "training")
    assert result.exit_code == 1, result.output
    paths = {line.split()[-1] for line in result.stdout.splitlines() if line.startswith(("NEW ", "SHRUNK "))}
    saved = {str(path) for path in (tmp_path / "corpus" / "found").glob("*.json")}
    assert saved
    assert paths >= saved
    explain, report = (
        next(line for line in result.stdout.splitlines() if f"bnfuzz {command} " in line).partition("bnfuzz ")[2]
        for command in ("explain", "report")
    )
    for line in (explain, report):
        _, path, option, backend = line.split()
        assert path in saved
        assert (option, backend) == ("--backend", f"target:{implementations}:wrong_y")


def test_a_campaign_that_judged_nothing_is_no_success(tmp_path: Path) -> None:
    result = fuzz(tmp_path, "--backend", "numpy", "--minutes", "1e-6")
    assert "not one trial was judged, so this says nothing" in result.stderr
    assert result.exit_code == 3


def test_what_was_lost_is_named_and_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_a_loss(*arguments: Any, **others: Any) -> Report:
        report = run_campaign(*arguments, **others)
        assert not report.failed
        return replace(report, lost=("unit 7 (round 1, Specs 5 to 6): its worker was lost",))

    monkeypatch.setattr(command, "run_campaign", with_a_loss)
    result = fuzz(tmp_path, "--backend", "numpy", "--cases", "20")
    assert "lost: unit 7 (round 1, Specs 5 to 6): its worker was lost" in result.stdout
    assert result.exit_code == 3
