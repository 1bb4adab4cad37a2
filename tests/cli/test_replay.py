"""`bnfuzz replay`: values side by side, exit codes, unreadable files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bnfuzz.cli import bnfuzz

Write = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, implementations: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)

    def runner(*arguments: str, functions: tuple[str, ...] = ()) -> Result:
        backends = [word for name in functions for word in ("--backend", f"target:mine.py:{name}")]
        return CliRunner().invoke(bnfuzz, ["replay", *arguments, *backends])

    return runner


def test_clean_case(run: Callable[..., Result], write_case: Write) -> None:
    path = write_case("a.json")
    result = run(str(path), "--backend", "numpy")
    assert result.exit_code == 0, result.output
    assert "exact" in result.stdout
    assert "n = 3, κ up to " in result.stdout
    assert "1 case on 1 backend: 1 ok" in result.stdout


def test_judged_against_mpmath(run: Callable[..., Result], write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"})
    result = run("corpus", "--mpmath", functions=("right", "wrong_y"))
    assert result.exit_code == 0, result.output
    assert "1 case on 2 backends, judged against mpmath: 1 fixed, 1 known" in result.stdout


def test_new_failure(run: Callable[..., Result], write_case: Write) -> None:
    write_case("a.json")
    result = run("corpus", functions=("right", "wrong_y"))
    assert result.exit_code == 1, result.output
    assert "wrong (new)" in result.stdout
    assert "target:mine.py:wrong_y: fails, and this is not what is known" in result.stdout
    assert "1 ok, 1 failed" in result.stdout


def test_known_failure_with_its_link(run: Callable[..., Result], write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"})
    result = run("corpus", functions=("wrong_y",))
    assert result.exit_code == 0, result.output
    assert "wrong (known)" in result.stdout
    assert "target:mine.py:wrong_y: known finding: planted https://example.org/7" in result.stdout


def test_fixed_finding_is_pointed_out(run: Callable[..., Result], write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"})
    result = run("corpus", functions=("right",))
    assert result.exit_code == 0, result.output
    assert "passes although a finding is recorded: y wrong; mark it fixed if it is" in result.stdout


def test_unreadable_files_are_named_and_the_rest_runs(run: Callable[..., Result], write_case: Write) -> None:
    write_case("b.json")
    write_case("a.json").write_text("{")
    result = run("corpus", "missing/c.json", "--backend", "numpy")
    assert result.exit_code == 2
    errors = result.stderr.splitlines()
    assert errors[0].startswith("bnfuzz: corpus/a.json: at line 1 column 2")
    assert errors[1].startswith("bnfuzz: missing/c.json: cannot be read")
    assert errors[2] == "2 of 3 files cannot be read"
    assert "b.json" in result.stdout
    assert "1 case on 1 backend: 1 ok" in result.stdout


def test_case_by_name_and_by_id(run: Callable[..., Result], write_case: Write) -> None:
    from bnfuzz.casefile import read

    identity = read(write_case("a.json")).id
    for word in ("a.json", "a", identity[:6]):
        result = run(word, "--backend", "numpy")
        assert result.exit_code == 0, result.output
        assert f"case {identity}, open" in result.stdout


def test_a_recorded_function_that_is_not_run_is_named(run: Callable[..., Result], write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"}, backend="target:mine.py:wrong_y")
    numpy_alone = ["replay", "corpus", "--backend", "numpy"]
    hint = "--backend target:FOLDER/mine.py:wrong_y"
    assert hint not in CliRunner().invoke(bnfuzz, numpy_alone).output
    assert hint not in run("corpus", functions=("wrong_y",)).output
    result = run("corpus")
    assert result.exit_code == 0, result.output
    assert f"target:mine.py:wrong_y: a finding is recorded, and it is not run: {hint}" in result.stdout
    assert result.stdout.endswith("1 not run\n")


def test_unsupported_says_why(run: Callable[..., Result], write_case: Write, plain_case: Callable[..., object]) -> None:
    write_case("a.json", case=plain_case([1.0, 2.0], channel_axis=0))
    result = run("corpus", functions=("right",))
    assert result.exit_code == 0
    assert "target:mine.py:right: unsupported: rank 1 is outside 2..5" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing-here"], 2, "bnfuzz: 'nothing-here' is no file and no case of corpus"),
        (["a.json", "--backend", "nix"], 2, "bnfuzz: backend 'nix' is unknown"),
        (["a.json", "--backend", "target:nix.py:f"], 2, "bnfuzz: target:nix.py:f: there is no file"),
        (["a.json", "--backend", "target:mine.py:nix"], 2, "bnfuzz: mine.py has no nix; it has "),
        (["a.json", "--backend", "mxnet"], 3, "bnfuzz: backend mxnet cannot run here: "),
        (["empty"], 2, "bnfuzz: empty holds no case files"),
    ],
)
def test_misuse_is_one_line(
    write_case: Write, implementations: Path, arguments: list[str], code: int, message: str
) -> None:
    write_case("a.json")
    (implementations.parent / "empty").mkdir()
    command = [sys.executable, "-m", "bnfuzz", "replay", *arguments]
    nowhere = {"BNFUZZ_ENVIRONMENTS": "/nowhere"}
    import os

    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=implementations.parent, env=os.environ | nowhere
    )
    assert done.returncode == code
    assert done.stderr.startswith(message), done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
