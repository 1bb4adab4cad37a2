"""`bnfuzz report`: exit codes, files, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bnfuzz.cli import bnfuzz
from bnfuzz.cli import report as command
from bnfuzz.report.issue.prepare import Issue

Write = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, implementations: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)

    def runner(*arguments: str, function: str = "") -> Result:
        backend = ["--backend", f"target:mine.py:{function}"] if function else []
        return CliRunner().invoke(bnfuzz, ["report", *arguments, *backend, "--compare", "numpy"])

    return runner


def test_a_ready_report(run: Callable[..., Result], write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"})
    result = run("a.json", function="wrong_y")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# wrong\\_y of mine.py: y is ")
    assert "ended with exit code 1:" in result.stdout
    assert "NOT READY" not in result.output


def test_a_report_that_is_not_ready(run: Callable[..., Result], write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"})
    result = run("a.json", function="right")
    assert result.exit_code == 1
    assert result.stderr.startswith("NOT READY: not reproduced: judged with mpmath, nothing fails on target:")
    assert "> **NOT READY**" in result.stdout


def test_files(run: Callable[..., Result], write_case: Write, tmp_path: Path) -> None:
    write_case("a.json", expect={"y": "wrong"})
    result = run("a.json", "--output", "out/of", function="wrong_y")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "out" / "of"
    assert sorted(path.name for path in folder.iterdir()) == ["ladder.png", "ladder.svg", "report.md", "script.py"]
    text = (folder / "report.md").read_text()
    assert (folder / "script.py").read_text().rstrip() in text
    assert "(<ladder.png>)" in text
    assert (folder / "ladder.svg").read_bytes().startswith(b"<?xml")
    assert result.stdout.startswith("out/of/report.md: wrong_y of mine.py: y is ")


def test_a_plot_that_cannot_be_written_is_said(run: Callable[..., Result], write_case: Write, tmp_path: Path) -> None:
    write_case("a.json", expect={"y": "wrong"})
    (tmp_path / "p.svg").mkdir()
    result = run("a.json", "--plot", "p.svg", function="wrong_y")
    assert result.exit_code == 2
    assert result.stderr.startswith("bnfuzz: p.svg cannot be written: Is a directory")
    assert list((tmp_path / "p.svg").iterdir()) == []


def test_where_there_is_no_script_no_file_is_written(
    run: Callable[..., Result], write_case: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = Issue(title="it", markdown="# it\n", script="", script_output="", ready=False, not_ready="no script")
    monkeypatch.setattr(command, "prepare", lambda *_, **__: bare)
    write_case("a.json", expect={"y": "wrong"})
    result = run("a.json", "--output", "out", function="wrong_y")
    assert result.exit_code == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.md"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name either cases or --signature SIGNATURE"),
        (["a.json", "--signature", "v1/x"], "name either cases or --signature SIGNATURE"),
        (["--signature", "v9/x/y"], "no case of corpus has the signature v9/x/y"),
        (["nothing-here"], "'nothing-here' is no file and no case of corpus"),
        (["a.json", "--plot", "x.gif"], "--plot x.gif: .gif is no format of a plot; end it in .svg or .png"),
        (["a.json"], "say which backend is meant with --backend NAME"),
        (["a.json", "--backend", "nix"], "backend 'nix' is unknown"),
    ],
)
def test_misuse(run: Callable[..., Result], write_case: Write, arguments: list[str], message: str) -> None:
    write_case("a.json")
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
