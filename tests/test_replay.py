"""Stored cases run again: standing against the record, and which backends take part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case
from bnfuzz.casefile import CaseFile, Expectation, Origin, State, read
from bnfuzz.corpus.known import KnownFinding
from bnfuzz.errors import InfrastructureError, UsageError
from bnfuzz.judge.verdict import Kind, Verdict
from bnfuzz.replay import classify, corpus_of, known_of, replay, roster


def verdicts(**kinds: Kind) -> tuple[Verdict, ...]:
    return tuple(Verdict(output=output, kind=kind) for output, kind in kinds.items())


@pytest.fixture
def file(plain_case: Callable[..., Case]) -> Callable[..., CaseFile]:
    def build(*expectations: Expectation, state: State = "open") -> CaseFile:
        return CaseFile(case=plain_case(), state=state, expectations=expectations)

    return build


def recorded(**findings: str) -> Expectation:
    return Expectation(backend="jax", findings=findings)


@pytest.mark.parametrize(
    ("expected", "seen", "standing"),
    [
        ([], {"y": "ok"}, "ok"),
        ([], {"y": "wrong"}, "failed"),
        ([], {"y": "range", "dx": "nondeterministic"}, "ok"),
        ([], {"y": "vacuous", "dx": "ok"}, "ok"),
        ([], {"y": "vacuous", "dx": "vacuous"}, "undecided"),
        ([], {"y": "uncertain", "dx": "ok"}, "undecided"),
        ([], {"y": "uncertain", "dx": "wrong"}, "failed"),
        ([], {"call": "unsupported"}, "unsupported"),
        ([{"y": "wrong"}], {"y": "wrong", "dx": "ok"}, "known"),
        ([{"y": "wrong"}], {"y": "wrong", "dx": "range"}, "known"),
        ([{"y": "wrong"}], {"y": "wrong", "dx": "wrong"}, "failed"),
        ([{"y": "wrong"}], {"y": "unstable"}, "failed"),
        ([{"y": "wrong"}], {"y": "ok"}, "fixed"),
        ([{"y": "wrong"}], {"y": "vacuous", "dx": "ok"}, "undecided"),
        ([{"y": "wrong"}], {"y": "range"}, "fixed"),
        ([{"y": "range"}], {"y": "range"}, "known"),
        ([{"y": "range"}], {"y": "wrong"}, "failed"),
        ([{"y": "wrong", "dx": "range"}], {"y": "wrong", "dx": "ok"}, "failed"),
        ([{"y": "wrong"}, {"dx": "wrong"}], {"y": "ok", "dx": "wrong"}, "known"),
        ([{"y": "wrong"}, {}], {"y": "ok"}, "ok"),
        ([{"y": "wrong"}, {}], {"y": "wrong"}, "known"),
    ],
)
def test_standing(
    file: Callable[..., CaseFile], expected: list[dict[str, str]], seen: dict[str, Kind], standing: str
) -> None:
    stored = file(*(recorded(**findings) for findings in expected))
    assert classify(stored, "jax", "1.0", verdicts(**seen), ())[0] == standing


def test_known_list_speaks_of_every_failing_output_or_of_none(file: Callable[..., CaseFile]) -> None:
    entry = KnownFinding(signature="v1/jax/*/y/wrong/*", reason="listed", versions="<2", link="https://example.org")
    seed = file(state="seed")
    assert classify(seed, "jax", "1.0", verdicts(y="wrong"), (entry,)) == ("known", "listed", "https://example.org")
    assert classify(seed, "jax", "2.0", verdicts(y="wrong"), (entry,))[0] == "failed"
    assert classify(seed, "jax", "1.0", verdicts(y="wrong", dx="wrong"), (entry,))[0] == "failed"
    assert classify(seed, "flax", "1.0", verdicts(y="wrong"), (entry,))[0] == "failed"


def test_known_list_does_not_speak_for_a_backend_whose_record_is_gone(file: Callable[..., CaseFile]) -> None:
    entry = KnownFinding(signature="v1/*", reason="everything")
    other = Expectation(backend="flax", findings={"y": "wrong"})
    older = Expectation(backend="jax", versions="<0.4", findings={"y": "wrong"})

    def standing(stored: CaseFile) -> str:
        return classify(stored, "jax", "0.5", verdicts(y="wrong"), (entry,))[0]

    # An open case records every failure that it shows.
    assert standing(file()) == "failed"
    assert standing(file(recorded())) == "failed"
    assert standing(file(other)) == "failed"
    assert standing(file(other, state="seed")) == "known"
    # The record is there, of older versions.
    assert standing(file(other, older)) == "known"
    # One that a campaign saved is about what it was saved for, and silent on others until they are saved too.
    saved = replace(file(other), origin=Origin(campaign="bnfuzz fuzz --seed 1"), verdicts={"flax": verdicts(y="wrong")})
    assert standing(saved) == "known"
    assert standing(replace(saved, verdicts={**saved.verdicts, "jax": verdicts(y="wrong")})) == "failed"
    assert standing(replace(saved, expectations=())) == "failed"


def test_known_list_does_not_widen_a_record(file: Callable[..., CaseFile]) -> None:
    entry = KnownFinding(signature="v1/jax/*", reason="everything")
    stored = file(recorded(dx="wrong"))
    assert classify(stored, "jax", None, verdicts(y="wrong"), (entry,)) == ("failed", "recorded: dx wrong", "")


def test_a_case_on_several_backends(write_case: Callable[..., Path], implementations: Path) -> None:
    right, wrong = (f"target:{implementations}:{name}" for name in ("right", "wrong_y"))
    stored = read(write_case("a.json", expect={"y": "wrong"}, backend=wrong))
    with Pool() as pool:
        outcomes = replay(pool, stored, (right, wrong))
    assert [outcome.standing for outcome in outcomes.values()] == ["ok", "known"]
    assert outcomes[wrong].link == "https://example.org/7"
    assert outcomes[wrong].version


def test_corpus_of_a_file_is_the_nearest_folder_with_known_findings(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    (inner / "deep").mkdir(parents=True)
    (tmp_path / "outer" / "known.toml").touch()
    assert corpus_of(inner / "deep" / "x.json") == tmp_path / "outer"
    (inner / "known.toml").write_text('[[finding]]\nsignature = "v1/jax/*"\nreason = "r"\n')
    assert corpus_of(inner / "deep" / "x.json") == inner
    assert [entry.reason for entry in known_of(inner / "deep" / "x.json")] == ["r"]


def test_roster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BNFUZZ_ENVIRONMENTS", "/nowhere")
    everything = roster()
    assert "numpy" in everything.names
    assert "mxnet" in everything.absent
    lines = everything.absence_lines()
    assert len(lines) == len(set(everything.absent.values()))
    assert any(line.startswith("mxnet, ") and "bnfuzz backends install mxnet" in line for line in lines)
    assert roster(["numpy", "numpy"]).names == ("numpy",)
    with pytest.raises(UsageError, match="'nix' is unknown"):
        roster(["nix"])
    with pytest.raises(InfrastructureError, match=r"backend mxnet cannot run here: .*install"):
        roster(["mxnet"])


TWO_CHANNELS = ((1.0, 1.0), (2.0, 3.0), (4.0, 5.0))

LEAKY = """
import numpy as np

def leaks(x, gamma, beta, *, eps, axis):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + x.dtype.type(eps))
    y = y * gamma.reshape(shape) + beta.reshape(shape)
    # The last bit of every value tells whether anything anywhere is negative.
    return np.nextafter(y, np.inf).astype(x.dtype) if (x < 0).any() else y
"""


def test_a_recorded_leak_is_looked_for_again(
    write_case: Callable[..., Path], plain_case: Callable[..., Case], tmp_path: Path
) -> None:
    file = tmp_path / "leaky.py"
    file.write_text(LEAKY)
    backend = f"target:{file}:leaks"
    stored = read(write_case("a.json", case=plain_case(TWO_CHANNELS), expect={"y": "leak"}, backend=backend))
    with Pool() as pool:
        (outcome,) = replay(pool, stored, (backend,)).values()
    assert (outcome.standing, [v.kind for v in outcome.verdicts if v.output == "y"]) == ("known", ["leak"])
