"""`bnfuzz explain`: the cause by name, with and without the backend, and unreadable files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bnfuzz.case import Case
from bnfuzz.casefile import CaseFile, Expectation, dumps
from bnfuzz.cli import bnfuzz
from bnfuzz.conventions import Conventions
from bnfuzz.evaluation import References
from bnfuzz.faults.backend import run as run_kernel
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.judge.compare import judge

FUNCTION = """
def batch_norm(x, gamma, beta, *, eps, axis):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) / (variance**0.5 + x.dtype.type(eps)) * gamma.reshape(shape) + beta.reshape(shape)
"""
CONVENTIONS = Conventions(source="a test")


def near_eps() -> Case:
    return CATALOGUE["eps_outside"].example.case(CONVENTIONS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "user.py").write_text(FUNCTION)
    return tmp_path


def written(folder: Path, *, backend: str, values: bool = True) -> Path:
    """A case on which y fails, recorded for a backend, with its verdicts where `values`."""
    case = near_eps()
    outputs = run_kernel(CATALOGUE["eps_outside"].kernel, case.spec, case.inputs)
    verdicts = judge(References(case.inputs).of(case.spec, CONVENTIONS), outputs).verdicts(0)
    file = CaseFile(
        case=case,
        expectations=(Expectation(backend=backend, findings={"y": "wrong"}),),
        verdicts={backend: verdicts} if values else {},
    )
    path = folder / "case.json"
    path.write_text(dumps(file))
    return path


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(bnfuzz, ["explain", *arguments])


def test_a_function_of_the_users_own(folder: Path) -> None:
    path = written(folder, backend="target:user.py:batch_norm", values=False)
    result = explain(str(path), "--backend", "target:user.py:batch_norm")
    assert result.exit_code == 0, result.output
    assert "cause: eps_outside: r = 1/(sqrt(var) + eps)" in result.output
    assert "asked:" in result.output


def test_without_probes_the_backend_runs_on_the_case_alone(folder: Path) -> None:
    path = written(folder, backend="target:user.py:batch_norm", values=False)
    result = explain(str(path), "--no-probe", "--backend", "target:user.py:batch_norm")
    assert result.exit_code == 0, result.output
    assert "eps_outside" in result.output
    assert "asked:" not in result.output


def test_a_backend_that_is_not_here_is_explained_from_its_verdicts(folder: Path) -> None:
    path = written(folder, backend="target:gone.py:batch_norm")
    result = explain(str(path))
    assert result.exit_code == 0, result.output
    assert "target:gone.py:batch_norm cannot run here" in result.output
    assert "eps_outside" in result.output
    assert "only the worst element of each failing output is stored" in result.output


def test_without_verdicts_it_says_what_is_needed(folder: Path) -> None:
    path = written(folder, backend="target:gone.py:batch_norm", values=False)
    result = explain(str(path))
    assert result.exit_code == 0, result.output
    assert "no verdicts are stored" in result.output


def test_a_sound_backend_has_nothing_to_explain(folder: Path) -> None:
    result = explain(str(written(folder, backend="target:gone.py:batch_norm")), "--backend", "numpy")
    assert result.exit_code == 0, result.output
    assert "nothing fails" in result.output


def test_an_unreadable_file_is_named_and_the_others_go_on(folder: Path) -> None:
    broken = folder / "broken.json"
    broken.write_text("{")
    result = explain(str(broken), str(written(folder, backend="numpy", values=False)))
    assert result.exit_code == 2
    assert "broken.json" in result.stderr
    assert "numpy" in result.stdout


def test_a_backend_nobody_knows(folder: Path) -> None:
    result = explain(str(written(folder, backend="numpy")), "--backend", "nnumpy")
    assert result.exit_code == 2
    assert "nnumpy" in result.stderr


def test_float64_is_told_in_all_its_digits(folder: Path) -> None:
    """Nine of them would print two neighbours as the same number."""
    spec = replace(near_eps().spec, data_format="float64", parameter_format="float64", statistics_format="float64")
    inputs = near_eps().inputs
    wide = replace(inputs, **{name: array.astype(np.float64) for name, array in inputs.items()})
    (folder / "wide.json").write_text(dumps(CaseFile(case=Case(spec=spec, inputs=wide))))
    done = explain("wide.json", "--backend", "target:user.py:batch_norm")
    (numbers,) = re.findall(r"y\[.*\] wrong: observed (\S+), exact (\S+),", done.output)
    assert all(repr(float(text)) == text and len(text) > 14 for text in numbers)
    assert f"observed {numbers[0]} (" in done.output, "the evidence for the cause tells the same number"


def test_a_function_that_is_elsewhere_is_asked_for_with_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(folder, backend="target:user.py:batch_norm")
    assert explain(str(path)).output.count("eps_outside: ") == 1
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    hint = "user.py is not in this folder; say where it is: --backend target:FOLDER/user.py:batch_norm"
    assert hint in explain(str(path)).output
    shrunk = CliRunner().invoke(bnfuzz, ["corpus", "shrink", "--corpus", str(folder), str(path)])
    assert shrunk.exit_code == 2
    assert hint in shrunk.output
