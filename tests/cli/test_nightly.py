"""`bnfuzz nightly`: exit codes, misuse in one line, and what is printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bnfuzz.cli import bnfuzz

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, implementations: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def runner(*arguments: str) -> Result:
        return CliRunner().invoke(bnfuzz, ["nightly", "--output", "nights", *arguments])

    return runner


def test_a_night_with_news(run: Run, tmp_path: Path) -> None:
    result = run("--cases", "64", "--seed", "1", "--target", "mine.py:wrong_y")
    assert result.exit_code == 1, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("night 1, seed 1, 64 cases, backends target:mine.py:wrong_y (mine.py ")
    assert any(line.startswith("NEW v1/target:mine.py:wrong_y/") for line in lines)
    assert any(line.startswith("planted fault ") for line in lines)
    assert lines[-1].startswith("night 1: ")
    assert lines[-1].endswith("nights/page.html")
    folder = tmp_path / "nights"
    assert {"summary.md", "junit.xml", "night.json", "page.html", "state.json"} <= {p.name for p in folder.iterdir()}
    assert list((folder / "issues").glob("*.md"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--cases", "5", "--minutes", "1"], 2, "either minutes or cases"),
        (["--minutes", "0"], 2, "minutes=0.0 must be a positive number"),
        (["--cases", "5", "--jobs", "0"], 2, "jobs=0 must be at least 1"),
        (["--cases", "5", "--dask", "nowhere"], 2, "--dask nowhere: not the address of a scheduler"),
        (["--cases", "5", "--backend", "nix"], 2, "backend 'nix' is unknown"),
        (["--cases", "5", "--target", "mine.py:nix"], 2, "mine.py has no nix"),
        (["--cases", "5", "--corpus", "mine.py"], 2, "mine.py is no folder"),
        (["--cases", "5", "--output", "mine.py"], 2, "mine.py is no folder"),
    ],
)
def test_misuse_is_one_line(run: Run, arguments: list[str], code: int, message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_a_state_that_cannot_be_read_is_misuse(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nights").mkdir()
    (tmp_path / "nights" / "state.json").write_text("{")
    result = run("--cases", "5", "--target", "mine.py:right")
    assert result.exit_code == 2
    assert "state.json: at line 1" in result.stderr
    assert (tmp_path / "nights" / "state.json").read_text() == "{"
