"""The root of the command line: exit codes, one line per error, lazy commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bnfuzz import __version__
from bnfuzz.cli import COMMANDS, LazyGroup, bnfuzz
from bnfuzz.errors import InfrastructureError, InternalError, UsageError


def command_line(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bnfuzz", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@click.command()
@click.argument("what")
def failing(what: str) -> None:
    raise {
        "usage": UsageError("x=1 is bad; use 2"),
        "machine": InfrastructureError("no disk; make room\nline two\nline three"),
        "internal": InternalError("NaN in a bound"),
        "control": UsageError("\x1b[31mred"),
        "interrupt": KeyboardInterrupt(),
        "pipe": BrokenPipeError(),
        "abort": click.Abort(),
        "fault": ZeroDivisionError("a fault of ours"),
    }[what]


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> LazyGroup:
    """The root with the command `failing` in it."""
    monkeypatch.setitem(sys.modules, "failing_command", type(sys)("failing_command"))
    sys.modules["failing_command"].failing = failing
    table = {"failing": "failing_command:failing", "gone": "bnfuzz.cli.gone:gone", "broken": "broken_command:broken"}
    return LazyGroup(name="bnfuzz", callback=bnfuzz.callback, params=bnfuzz.params, commands_at=table, help="Root.")


@pytest.mark.parametrize(
    ("what", "code", "stderr"),
    [
        ("usage", 2, "bnfuzz: x=1 is bad; use 2\n"),
        ("machine", 3, "bnfuzz: no disk; make room (for more: --details)\n"),
        ("internal", 3, "bnfuzz: NaN in a bound\n"),
        ("control", 2, "bnfuzz: \ufffd[31mred\n"),
        ("interrupt", 130, "bnfuzz: interrupted\n"),
        ("abort", 130, "bnfuzz: interrupted\n"),
    ],
)
def test_every_error_is_one_line_and_an_exit_code(group: LazyGroup, what: str, code: int, stderr: str) -> None:
    result = CliRunner().invoke(group, ["failing", what])
    assert (result.exit_code, result.stderr) == (code, stderr)


def test_a_reader_that_is_gone_is_met_with_silence(group: LazyGroup) -> None:
    result = CliRunner().invoke(group, ["failing", "pipe"])
    assert result.exit_code == 141
    assert result.stderr == ""


@pytest.mark.parametrize("place", [0, 1, 2])
def test_details_show_the_lines_below_wherever_it_stands(place: int, group: LazyGroup) -> None:
    words = ["failing", "machine"]
    result = CliRunner().invoke(group, [*words[:place], "--details", *words[place:]])
    assert result.stderr == "bnfuzz: no disk; make room\nline two\nline three\n"


def test_details_behind_two_dashes_is_a_word_like_any_other(group: LazyGroup) -> None:
    result = CliRunner().invoke(group, ["failing", "--", "--details"])
    assert "no disk" not in result.stderr


def test_a_fault_of_ours_is_no_finding(group: LazyGroup) -> None:
    result = CliRunner().invoke(group, ["failing", "fault"])
    assert result.exit_code == 3
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith("bnfuzz: internal error (ZeroDivisionError); please report the lines above\n")


def test_help_lists_only_what_can_be_loaded(group: LazyGroup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken_command.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = CliRunner().invoke(group, ["--help"])
    assert result.exit_code == 0
    assert "failing" in result.stdout
    assert "gone" not in result.stdout
    assert "broken" not in result.stdout
    assert CliRunner().invoke(group, ["gone"]).exit_code == 2
    broken = CliRunner().invoke(group, ["broken"])
    assert broken.exit_code == 3
    assert broken.stderr.startswith("bnfuzz: command broken cannot be loaded: No module named")
    assert broken.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["nix"], ["replay"], ["corpus", "list", "--nix"], ["--nix"]])
def test_misuse_of_the_command_line(arguments: list[str]) -> None:
    result = CliRunner().invoke(bnfuzz, arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_every_command_has_its_help() -> None:
    loaded = [name for name in COMMANDS if name in CliRunner().invoke(bnfuzz, ["--help"]).stdout]
    assert {"replay", "corpus"} <= set(loaded)
    for name in loaded:
        assert CliRunner().invoke(bnfuzz, [name, "--help"]).exit_code == 0


def test_as_a_module(tmp_path: Path) -> None:
    assert command_line("--version").stdout == f"bnfuzz {__version__}\n"
    done = command_line("corpus", "list", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bnfuzz: corpus is no folder; name the corpus with --corpus FOLDER\n"


def test_the_root_imports_no_framework_and_no_numpy() -> None:
    code = "import sys, bnfuzz.cli; assert not {'numpy', 'jax', 'hypothesis'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
