"""Keeping a corpus in order, against a model: accept, ignore, take back, migrate, shrink again, prune, merge."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bnfuzz.case import Case, Inputs, batch_norm_spec
from bnfuzz.casefile import SCHEMA, Descent, dumps, from_finding, read
from bnfuzz.casefile.atomic import LEFTOVER
from bnfuzz.corpus import KNOWN_FILE, Corpus, known, upkeep
from bnfuzz.corpus.known import KnownFinding, Status
from bnfuzz.errors import UsageError
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict

BACKENDS = ("flax", "jax", "torch")
NUMBERS = range(5)
SEVERITIES = (1e3, 1e6, 1e2, 1e5, 1e4)
"""Of the numbered cases; a larger number is a case of more rows."""

ORDER = ("flaky", "open", "fixed", "seed")


def finding(number: int, backend: str) -> Finding:
    rows = 2 + number
    spec = batch_norm_spec((rows, 1), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
    return Finding(
        case=Case(spec=spec, inputs=Inputs(x=np.arange(rows, dtype=np.float32).reshape(1, rows, 1))),
        backend=backend,
        verdicts=(Verdict(output="y", kind="wrong", severity=SEVERITIES[number]),),
        signature=f"v1/{backend}/batch_norm/training/y/wrong/float32-float32-float32/plain",
        confirmed=True,
        cause=f"cause of {backend}",
        origin="a campaign",
    )


class Model:
    """number -> (backends, state), and what is known, in order."""

    def __init__(self) -> None:
        self.cases: dict[int, tuple[set[str], str]] = {}
        self.known: list[KnownFinding] = []

    def add(self, number: int, backend: str) -> None:
        backends, state = self.cases.get(number, (set(), "open"))
        self.cases[number] = (backends | {backend}, min(state, "open", key=ORDER.index))

    def drop(self, number: int, backend: str) -> None:
        backends, state = self.cases.pop(number)
        if backends != {backend}:
            self.cases[number] = (backends - {backend}, state)

    def prunable(self) -> set[int]:
        candidates = {number: backends for number, (backends, state) in self.cases.items() if state == "open"}
        kept = set()
        for backend in BACKENDS:
            group = [number for number, backends in candidates.items() if backend in backends]
            if group:
                kept |= {max(group, key=lambda number: SEVERITIES[number]), min(group)}
        return candidates.keys() - kept


class UpkeepMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.folders = [self.root / "first", self.root / "second"]
        self.models = [Model(), Model()]
        self.ids = {from_finding(finding(number, "flax")).id: number for number in NUMBERS}
        for folder in self.folders:
            folder.mkdir()
            (folder / KNOWN_FILE).write_text("# What is known here.\n\n")

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    which = st.integers(0, 1)
    number = st.sampled_from(NUMBERS)
    backend = st.sampled_from(BACKENDS)
    patterns = st.sampled_from(["v1/flax/*", "v1/*/y/wrong/*", finding(0, "jax").signature])

    def path(self, which: int, number: int) -> Path:
        (path,) = (e.path for e in Corpus(self.folders[which]).entries if self.ids[e.file.id] == number)
        return path

    @rule(which=which, number=number, backend=backend)
    def add(self, which: int, number: int, backend: str) -> None:
        Corpus(self.folders[which]).add_finding(finding(number, backend))
        self.models[which].add(number, backend)

    @rule(which=which, number=number, state=st.sampled_from(["open", "fixed", "flaky"]))
    def set_state(self, which: int, number: int, state: str) -> None:
        cases = self.models[which].cases
        if number not in cases:
            return
        Corpus(self.folders[which]).set_state(self.path(which, number), state)  # type: ignore[arg-type]  # a State
        cases[number] = (cases[number][0], state)

    @rule(which=which, number=number, backend=backend, smaller=number)
    def shrink_again(self, which: int, number: int, backend: str, smaller: int) -> None:
        model = self.models[which]
        if smaller >= number or backend not in model.cases.get(number, (set(), ""))[0]:
            return
        old = self.path(which, number)
        descent = Descent(origin=read(old).id, severity=SEVERITIES[number], steps=("fewer rows",), finished=True)
        file = replace(from_finding(finding(smaller, backend)), descent=descent)
        present = smaller in model.cases
        new = Corpus(self.folders[which]).supersede(old, file, backend)
        assert new.parent == old.parent
        assert read(new).id == file.id
        assert present or read(new).descent == descent
        model.add(smaller, backend)
        model.drop(number, backend)

    @rule(which=which, number=number)
    def nothing_smaller(self, which: int, number: int) -> None:
        if number not in self.models[which].cases:
            return
        path = self.path(which, number)
        descent = Descent(origin=read(path).id, severity=SEVERITIES[number], finished=True)
        assert Corpus(self.folders[which]).supersede(path, replace(read(path), descent=descent), "flax") == path
        assert read(path).descent == descent

    @rule(source=which)
    def merge(self, source: int) -> None:
        Corpus(self.folders[1 - source]).merge(Corpus(self.folders[source]))
        target = self.models[1 - source].cases
        for number, (backends, state) in self.models[source].cases.items():
            own, own_state = target.get(number, (set(), state))
            target[number] = (own | backends, own_state)

    @rule(which=which)
    def prune(self, which: int) -> None:
        corpus, model = Corpus(self.folders[which]), self.models[which]
        paths = upkeep.prunable(corpus)
        assert {self.ids[read(path).id] for path in paths} == model.prunable()
        for path in paths:
            corpus.remove(path)
        for number in model.prunable():
            del model.cases[number]
        assert not upkeep.prunable(Corpus(self.folders[which]))

    @rule(which=which, number=number)
    def age(self, which: int, number: int) -> None:
        """A file as an older release would have written it, in another layout."""
        if number not in self.models[which].cases:
            return
        path = self.path(which, number)
        tree = json.loads(path.read_text()) | {"schema": 1}
        tree.pop("descent", None)
        for entry in tree["expectations"]:
            # One that is old already has no cause of its own.
            entry["why"] = entry.pop("cause", entry.get("why"))
        path.write_text(json.dumps(tree))

    @rule(which=which)
    def migrate(self, which: int) -> None:
        corpus = Corpus(self.folders[which])
        assert not upkeep.migrate(corpus).unreadable
        assert all(f'"schema": {SCHEMA}' in entry.path.read_text() for entry in corpus.entries)
        assert all(entry.path.read_text() == dumps(entry.file) for entry in corpus.entries)
        assert not upkeep.migrate(corpus).rewritten

    @rule(which=which, pattern=patterns, status=st.sampled_from(["accepted", "ignored"]), link=st.booleans())
    def note(self, which: int, pattern: str, status: Status, link: bool) -> None:
        entry = KnownFinding(
            signature=pattern,
            status=status,
            reason='with "quotes", \\ and # signs',
            link="https://example.org/#1" if link else "",
        )
        path = self.folders[which] / KNOWN_FILE
        if entry in self.models[which].known:
            with pytest.raises(UsageError, match="says the same already"):
                known.append(path, entry)
        else:
            known.append(path, entry)
            self.models[which].known.append(entry)

    @precondition(lambda self: any(model.known for model in self.models))
    @rule(which=which, data=st.data())
    def take_back(self, which: int, data: st.DataObject) -> None:
        model = self.models[which]
        if not model.known:
            return
        entry = data.draw(st.sampled_from(model.known))
        known.remove(self.folders[which] / KNOWN_FILE, entry)
        model.known.remove(entry)
        with pytest.raises(UsageError, match="nothing to take out"):
            known.remove(self.folders[which] / KNOWN_FILE, entry)

    @invariant()
    def the_folder_says_what_the_model_says(self) -> None:
        for folder, model in zip(self.folders, self.models, strict=True):
            corpus = Corpus(folder)
            assert not corpus.problems
            held = {
                self.ids[entry.file.id]: ({e.backend for e in entry.file.expectations}, entry.file.state)
                for entry in corpus.entries
            }
            assert held == model.cases
            assert len(corpus.entries) == len(held)
            # What explains a finding outlives all of it.
            assert all(e.cause == f"cause of {e.backend}" for entry in corpus.entries for e in entry.file.expectations)
            assert list(corpus.known_list) == model.known
            assert (folder / KNOWN_FILE).read_text().startswith("# What is known here.\n")
            for backend in BACKENDS:
                signature = finding(0, backend).signature
                listed = next((entry for entry in model.known if entry.matches(signature)), None)
                open_here = any(backend in names and state in ("open", "flaky") for names, state in held.values())
                found = corpus.known(signature)
                assert (found is not None) == (listed is not None or open_here)
                assert listed is None or found == listed
            assert not list(folder.rglob(f"{LEFTOVER}*"))


UpkeepMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestUpkeepMachine = UpkeepMachine.TestCase

ENTRY = KnownFinding(signature="v1/flax/*", reason="one pass")
comments = st.sampled_from(["", "# about it\n", "# two\n# lines\n", "\n", "# apart\n\n", "\n\n"])


@given(st.lists(st.tuples(comments, st.sampled_from(BACKENDS)), min_size=1, max_size=4), st.data())
def test_taking_an_entry_out_keeps_all_others_as_they_are_written(
    parts: list[tuple[str, str]], data: st.DataObject
) -> None:
    entries = [replace(ENTRY, signature=f"v1/{name}/{number}/*") for number, (_, name) in enumerate(parts)]
    blocks = [comment + known.dumps(entry) for (comment, _), entry in zip(parts, entries, strict=True)]
    number = data.draw(st.integers(0, len(parts) - 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / KNOWN_FILE
        path.write_text("# At the top.\n\n" + "\n".join(blocks))
        known.remove(path, entries[number])
        text = path.read_text()
        assert list(known.read(path)) == entries[:number] + entries[number + 1 :]
    assert text.startswith("# At the top.\n")
    for other in (*range(number), *range(number + 1, len(parts))):
        assert blocks[other].strip("\n") in text
    assert known.dumps(entries[number]) not in text


def test_an_entry_whose_lines_cannot_be_told_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / KNOWN_FILE
    text = 'finding = [{signature = "v1/flax/*", reason = "one pass"}, {signature = "v1/jax/*", reason = "r"}]\n'
    path.write_text(text)
    with pytest.raises(UsageError, match="the lines of finding 1 cannot be told from others; edit it by hand"):
        known.remove(path, ENTRY)
    assert path.read_text() == text


def test_a_curated_case_that_shrinks_keeps_its_name(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    path = corpus.add(from_finding(finding(3, "flax")), folder="reports", name="x")
    named = path.rename(path.with_name("a-report.json"))
    corpus.reload()
    assert corpus.supersede(named, from_finding(finding(1, "flax")), "flax") == named
    assert read(named).id == from_finding(finding(1, "flax")).id


def test_a_case_that_has_gone_meanwhile_leaves_a_place_for_the_smaller_one(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    path = corpus.add_finding(finding(3, "flax"))
    path.unlink()
    new = corpus.supersede(path, from_finding(finding(1, "flax")), "flax")
    assert [entry.path for entry in Corpus(tmp_path).entries] == [new]
