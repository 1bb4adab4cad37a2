"""The corpus: a model of it, writers side by side, writers that are killed, and hostile surroundings."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import bnfuzz
from bnfuzz.case import Case, Inputs, batch_norm_spec
from bnfuzz.casefile import CaseFile, dumps, from_finding, read
from bnfuzz.casefile.atomic import LEFTOVER
from bnfuzz.corpus import Corpus, case_paths, file_stem
from bnfuzz.corpus import folder as corpus_folder
from bnfuzz.corpus.upkeep import prunable
from bnfuzz.errors import InfrastructureError, UsageError
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict

BACKENDS = ("flax", "jax", "torch")


def finding(
    number: int, backend: str = "flax", *, severity: float = 10.0, rows: int = 2, regime: str = "offset"
) -> Finding:
    spec = batch_norm_spec((rows, 1), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
    x = np.arange(rows, dtype=np.float32).reshape(1, rows, 1) + np.float32(number)
    return Finding(
        case=Case(spec=spec, inputs=Inputs(x=x)),
        backend=backend,
        verdicts=(Verdict(output="y", kind="wrong", severity=severity),),
        signature=f"v1/{backend}/batch_norm/training/y/wrong/float32-float32-float32/{regime}",
        origin="a test",
    )


def backends_of(file: CaseFile) -> set[str]:
    return {entry.backend for entry in file.expectations}


class CorpusMachine(RuleBasedStateMachine):
    """Two corpora with two writers each, against a dictionary: case number -> (backends, state)."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.folders = [self.root / "first", self.root / "second"]
        self.writers = [[Corpus(folder), Corpus(folder)] for folder in self.folders]
        self.model: list[dict[int, tuple[set[str], str]]] = [{}, {}]
        self.junk = [0, 0]
        self.numbers = {finding(number).case.inputs.x.tobytes(): number for number in range(4)}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    which = st.integers(0, 1)
    number = st.integers(0, 3)

    @rule(which=which, writer=which, number=number, backend=st.sampled_from(BACKENDS))
    def add(self, which: int, writer: int, number: int, backend: str) -> None:
        path = self.writers[which][writer].add_finding(finding(number, backend))
        assert path.parent == self.folders[which] / "found"
        backends, state = self.model[which].get(number, (set(), "open"))
        self.model[which][number] = (backends | {backend}, "flaky" if state == "flaky" else "open")

    @rule(which=which, writer=which, number=number, state=st.sampled_from(["open", "fixed", "flaky", "seed"]))
    def set_state(self, which: int, writer: int, number: int, state: Any) -> None:
        corpus = self.writers[which][writer]
        corpus.reload()
        present = corpus.find(from_finding(finding(number)).id)
        assert (present is not None) == (number in self.model[which])
        if present is not None:
            corpus.set_state(present.path, state)
            self.model[which][number] = (self.model[which][number][0], state)

    @rule(source=which, writer=which)
    def merge(self, source: int, writer: int) -> None:
        target = 1 - source
        self.writers[target][writer].merge(Corpus(self.folders[source]))
        for number, (backends, state) in self.model[source].items():
            own, own_state = self.model[target].get(number, (set(), state))
            self.model[target][number] = (own | backends, own_state)

    @rule(which=which, writer=which, number=number)
    def remove(self, which: int, writer: int, number: int) -> None:
        corpus = self.writers[which][writer]
        corpus.reload()
        present = corpus.find(from_finding(finding(number)).id)
        if present is not None:
            corpus.remove(present.path)
            del self.model[which][number]

    @precondition(lambda self: self.folders[0].exists())
    @rule(text=st.sampled_from(["", "{", "[1]", '{"schema": 9}']))
    def put_junk(self, text: str) -> None:
        self.junk[0] += 1
        (self.folders[0] / f"junk{self.junk[0]}.json").write_text(text)

    @invariant()
    def files_say_what_the_model_says(self) -> None:
        for which, folder in enumerate(self.folders):
            corpus = Corpus(folder)
            held = {
                self.numbers[entry.file.case.inputs.x.tobytes()]: (backends_of(entry.file), entry.file.state)
                for entry in corpus.entries
            }
            assert held == self.model[which]
            assert len(corpus.entries) == len(held)
            assert len(corpus.problems) == self.junk[which]
            known = {
                finding(0, backend).signature
                for backends, state in held.values()
                if state in ("open", "flaky")
                for backend in backends
            }
            assert corpus.signatures() == known
            assert all(corpus.known(signature) for signature in known)
            assert not list(folder.rglob(f"{LEFTOVER}*"))


CorpusMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)
TestCorpusMachine = CorpusMachine.TestCase

WRITER = """
import sys
import numpy as np
from bnfuzz.case import Case, Inputs, batch_norm_spec
from bnfuzz.corpus import Corpus
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict

folder, name, first, last, step = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
corpus = Corpus(folder)
spec = batch_norm_spec((2, 1), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
print("ready", flush=True)
for number in range(first, last):
    backend = name.format(number)
    x = np.array([[[number * step], [number * step + 1]]], dtype=np.float32)
    path = corpus.add_finding(Finding(
        case=Case(spec=spec, inputs=Inputs(x=x)), backend=backend, signature=f"v1/{backend}/y",
        verdicts=(Verdict(output="y", kind="wrong"),),
    ))
    print(path, flush=True)
"""


def writer(folder: Path, backend: str, first: int, last: int, *, step: int = 1) -> subprocess.Popen[str]:
    """A process that adds the cases first * step … last * step, `{}` in the backend's name being the number."""
    environment = os.environ | {"PYTHONPATH": str(Path(bnfuzz.__file__).parents[1])}
    arguments = [sys.executable, "-c", WRITER, str(folder), backend, str(first), str(last), str(step)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)


def test_two_processes_add_at_once(tmp_path: Path) -> None:
    processes = [writer(tmp_path, "flax", 0, 30), writer(tmp_path, "jax", 10, 40)]
    paths = [process.communicate()[0].splitlines()[1:] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    corpus = Corpus(tmp_path)
    assert not corpus.problems
    assert {str(entry.path) for entry in corpus.entries} == set(paths[0]) | set(paths[1])
    held = {int(entry.file.case.inputs.x[0, 0, 0]): backends_of(entry.file) for entry in corpus.entries}
    assert held == {n: {"flax"} if n < 10 else {"jax"} if n >= 30 else {"flax", "jax"} for n in range(40)}


def test_two_processes_extend_one_file_at_once(tmp_path: Path) -> None:
    processes = [writer(tmp_path, name, 0, 12, step=0) for name in ("flax{}", "jax{}")]
    assert [process.wait() for process in processes if process.communicate()] == [0, 0]
    (entry,) = Corpus(tmp_path).entries
    assert backends_of(entry.file) == {f"{name}{number}" for name in ("flax", "jax") for number in range(12)}


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_killed_writer_leaves_a_readable_corpus(tmp_path: Path) -> None:
    rng = random.Random(7)
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        with writer(folder, "flax", 0, 10_000) as process:
            assert process.stdout is not None
            told = [process.stdout.readline().strip() for _ in range(rng.randint(1, 12))][1:]
            process.send_signal(signal.SIGKILL)
            told += process.stdout.read().split()
        corpus = Corpus(folder)
        assert not corpus.problems
        assert {str(entry.path) for entry in corpus.entries} >= set(told)
        assert len(corpus.entries) <= len(told) + 1
        corpus.add_finding(finding(-1))


def test_names_tell_backend_output_kind_and_id(tmp_path: Path) -> None:
    path = Corpus(tmp_path / "new" / "corpus").add_finding(finding(1))
    assert path == tmp_path / "new" / "corpus" / "found" / f"flax-y-wrong-{read(path).id[:8]}.json"


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("../../../etc/cron.d/x", "etc-cron.d-x"),
        ("target:/home/me/f.py:norm", "target-home-me-f.py-norm"),
        ("..", "case"),
        (".tmp-1", "tmp-1"),
        ("a\nb", "a-b"),
        ("", "case"),
        ("é" * 200, "case"),
        ("x" * 200, "x" * 80),
    ],
)
def test_no_name_leaves_its_folder(name: str, stem: str, tmp_path: Path) -> None:
    assert file_stem(name) == stem
    path = Corpus(tmp_path).add_finding(replace(finding(1), backend=name or "x"))
    assert path.parent == tmp_path / "found"
    assert not path.name.startswith(".")


def test_the_folder_of_a_function_is_in_no_name(tmp_path: Path) -> None:
    backend = "target:/home/me/secret/f.py:norm"
    path = Corpus(tmp_path).add_finding(replace(finding(1), backend=backend))
    assert path.name == f"target-f.py-norm-y-wrong-{read(path).id[:8]}.json"


def test_another_case_under_the_same_name_is_not_overwritten(tmp_path: Path) -> None:
    path = Corpus(tmp_path).add_finding(finding(1))
    other = dumps(from_finding(finding(2)))
    path.write_text(other)
    assert Corpus(tmp_path).add_finding(finding(1)).name == f"flax-y-wrong-{from_finding(finding(1)).id}.json"
    assert path.read_text() == other


def test_unreadable_files_are_problems_and_stop_nothing(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    corpus.add_finding(finding(1))
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "a.json").write_bytes(b"\xff")
    (tmp_path / "b.json").symlink_to("nowhere")
    (tmp_path / ".hidden.json").write_text("")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "c.json").write_text("")
    (tmp_path / f"{LEFTOVER}1-aa").write_text('{"half":')
    (tmp_path / "loop").symlink_to(tmp_path)
    corpus.reload()
    assert len(corpus.entries) == 1
    assert [problem.path.name for problem in corpus.problems] == ["b.json", "a.json"]
    assert all(str(problem.path) in problem.message for problem in corpus.problems)
    assert len(list(case_paths(tmp_path))) == 3
    corpus.add_finding(finding(2))


def test_a_curated_case_gains_expectations_where_it_is(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    question = replace(from_finding(finding(1)), expectations=(), state="seed", verdicts={})
    path = corpus.add(question, folder="questions", name="two-values")
    assert corpus.signatures() == frozenset()
    assert corpus.add_finding(finding(1)) == path
    assert read(path).state == "open"
    assert corpus.find_by_signature(finding(1).signature)[0].path == path


def test_a_fixed_case_is_reopened_by_a_campaign_but_not_by_a_merge(tmp_path: Path) -> None:
    old, corpus = Corpus(tmp_path / "old"), Corpus(tmp_path / "new")
    old.add_finding(finding(1))
    path = corpus.add_finding(finding(1))
    corpus.set_state(path, "fixed")
    assert corpus.known(finding(1).signature) is None
    assert corpus.merge(old).unchanged == (path,)
    assert read(path).state == "fixed"
    corpus.add_finding(finding(1))
    assert read(path).state == "open"


def test_what_is_known_of_an_open_case(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    path = corpus.add_finding(replace(finding(1), cause="one pass,\nnot two"))
    file = read(path)
    narrow = replace(file.expectations[0], versions="<0.13", link="https://example.org/1")
    corpus.replace(path, replace(file, expectations=(narrow,)))
    known = corpus.known(finding(1).signature, "0.12.8")
    assert known is not None
    assert (known.versions, known.link, known.reason) == ("<0.13", "https://example.org/1", "one pass, not two")
    assert corpus.known(finding(1).signature, "0.13.0") is None
    assert corpus.known("v1/none/y") is None


def test_a_long_cause_is_cut_in_a_known_finding(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    corpus.add_finding(replace(finding(1), cause="why " * 4000))
    known = corpus.known(finding(1).signature)
    assert known is not None
    assert known.reason.endswith("…")


def test_known_toml_comes_first(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text('[[finding]]\nsignature = "v1/flax/*"\nreason = "known"\nstatus = "ignored"\n')
    known = Corpus(tmp_path).known(finding(1).signature)
    assert known is not None
    assert known.status == "ignored"


def test_prune_keeps_the_worst_and_the_simplest_of_each_signature(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    corpus.add_finding(finding(1, severity=1e6, rows=9))
    middle = corpus.add_finding(finding(2, severity=10, rows=5))
    corpus.add_finding(finding(3, severity=2, rows=2))
    corpus.add_finding(finding(4, severity=3, rows=8, regime="plain"))
    fixed = corpus.add_finding(finding(5, severity=3, rows=8))
    corpus.set_state(fixed, "fixed")
    corpus.add(from_finding(finding(6, severity=3, rows=8)), folder="reports")
    assert prunable(corpus) == (middle,)
    corpus.remove(middle)
    assert prunable(Corpus(tmp_path)) == ()
    assert len(Corpus(tmp_path).entries) == 5


def test_merge_keeps_places_and_gives_way_to_other_files(tmp_path: Path) -> None:
    source, target = Corpus(tmp_path / "a"), Corpus(tmp_path / "b")
    for number, corpus in enumerate((source, target)):
        path = corpus.add(from_finding(finding(number)), folder="reports/flax", name="x")
        path.rename(path.with_name("same.json"))
        corpus.reload()
    done = target.merge(source)
    assert [path.name for path in done.added] == [f"same-{from_finding(finding(0)).id}.json"]
    assert done.added[0].parent == tmp_path / "b" / "reports" / "flax"
    assert read(tmp_path / "b" / "reports" / "flax" / "same.json").id == from_finding(finding(1)).id


@pytest.fixture
def another_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when it is called, another campaign adds to the case of finding 1 while its writer waits for the lock."""

    def begin() -> None:
        usual = corpus_folder.locked

        @contextmanager
        def late(path: Path) -> Iterator[bool]:
            monkeypatch.setattr(corpus_folder, "locked", usual)
            Corpus(tmp_path).add_finding(finding(1, "torch"))
            with usual(path) as held:
                yield held

        monkeypatch.setattr(corpus_folder, "locked", late)

    return begin


def test_what_another_adds_while_a_finding_is_withdrawn_stays(
    tmp_path: Path, another_writes: Callable[[], None]
) -> None:
    corpus = Corpus(tmp_path)
    path = corpus.add_finding(finding(1, "flax"))
    corpus.add_finding(finding(1, "jax"))
    another_writes()
    corpus.withdraw(path, "jax")
    assert backends_of(read(path)) == {"flax", "torch"}


def test_a_file_that_another_has_just_extended_does_not_go_with_the_last_finding(
    tmp_path: Path, another_writes: Callable[[], None]
) -> None:
    corpus = Corpus(tmp_path)
    path = corpus.add_finding(finding(1, "flax"))
    another_writes()
    corpus.withdraw(path, "flax")
    assert backends_of(read(path)) == {"torch"}


@pytest.mark.parametrize("place", ["found", "questions"])
def test_what_another_adds_while_a_smaller_case_comes_stays(
    tmp_path: Path, another_writes: Callable[[], None], place: str
) -> None:
    corpus = Corpus(tmp_path)
    path = corpus.add(from_finding(finding(1, "flax")), folder=place)
    another_writes()
    corpus.supersede(path, from_finding(finding(2, "flax")), "flax")
    left = Corpus(tmp_path).find(from_finding(finding(1)).id)
    assert left is not None
    assert "torch" in backends_of(left.file)
    assert Corpus(tmp_path).find(from_finding(finding(2)).id) is not None


def test_a_file_that_has_changed_since_it_was_read_is_not_removed(
    tmp_path: Path, another_writes: Callable[[], None]
) -> None:
    corpus = Corpus(tmp_path)
    path = corpus.add_finding(finding(1, "flax"))
    another_writes()
    assert not corpus.remove(path)
    assert backends_of(read(path)) == {"flax", "torch"}
    assert corpus.remove(path)
    assert not path.exists()


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(tmp_path)
    path = corpus.add_finding(finding(1))
    before = path.read_bytes()

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for lost in (finding(1, "jax"), finding(2)):
            with pytest.raises(InfrastructureError, match="No space left on device; make room"):
                corpus.add_finding(lost)
    assert path.read_bytes() == before
    assert [entry.path for entry in Corpus(tmp_path).entries] == [path]
    assert not list(tmp_path.rglob(f"{LEFTOVER}*"))
    corpus.add_finding(finding(1, "jax"))
    assert backends_of(read(path)) == {"flax", "jax"}


def test_folders_that_cannot_hold_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is no folder; give the folder of a corpus"):
        Corpus(tmp_path / "file")
    with pytest.raises(UsageError, match="choose a folder that you may write to"):
        Corpus(tmp_path / "file" / "corpus").add_finding(finding(1))


def test_a_wrong_list_of_known_findings_shows_before_a_campaign_begins(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text("broken = [")
    with pytest.raises(UsageError, match=r"known\.toml"):
        Corpus(tmp_path).check_ready()
