"""A corpus: a folder of case files that several campaigns may read and extend at the same time.

    found/      what campaigns save, one file per finding
    elsewhere   curated cases (questions/, reports/, …), which campaigns only extend by expectations

Unreadable files are collected as problems and stop nothing else. A kill at any moment loses at most the case in
flight: files appear whole, under their final name, or not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bnfuzz.casefile import CaseFile, State, dumps, from_finding, merged, read
from bnfuzz.casefile.atomic import LEFTOVER, create_atomic, locked, make_folder, remove_leftovers, write_atomic
from bnfuzz.casefile.tree import clipped
from bnfuzz.casefile.versions import within
from bnfuzz.corpus import known as known_findings
from bnfuzz.corpus.known import KnownFinding
from bnfuzz.errors import BnfuzzError, CaseFileError, InfrastructureError, UsageError
from bnfuzz.finding import Finding
from bnfuzz.signature import first_failing, portable

FOUND = "found"
KNOWN_FILE = "known.toml"


@dataclass(frozen=True, eq=False)
class Entry:
    """A readable case file of a corpus."""

    path: Path
    file: CaseFile


@dataclass(frozen=True)
class Problem:
    """A file that cannot be read, and why: file, place and remedy."""

    path: Path
    message: str


@dataclass(frozen=True)
class Merge:
    """What a merge did: files added, files that learned something, files that were there already."""

    added: tuple[Path, ...] = ()
    extended: tuple[Path, ...] = ()
    unchanged: tuple[Path, ...] = ()


class Corpus:
    """The case files below `folder`, read once at the start; `reload` sees what others have added since.

    The folder need not exist before something is added.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{self.folder} is no folder; give the folder of a corpus")
        self._cleaned = False
        self.reload()

    def check_ready(self) -> None:
        """Makes the folder where it is missing; raises UsageError where nothing can be written into it, or where its
        known.toml cannot be read: both would show only when the first finding is there.
        """
        make_folder(self.folder)
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise UsageError(f"{self.folder} cannot be written to; change its permissions, or give another folder")
        _ = self.known_list

    def reload(self) -> None:
        """Reads all files anew."""
        self._files: dict[Path, CaseFile] = {}
        self._problems: dict[Path, str] = {}
        for path in case_paths(self.folder):
            self._take(path)
        self._known_list: tuple[KnownFinding, ...] | None = None

    def _take(self, path: Path) -> CaseFile | None:
        """Reads one file into the entries or the problems."""
        self._files.pop(path, None)
        self._problems.pop(path, None)
        try:
            self._files[path] = read(path)
        except CaseFileError as error:
            # A file that another process has just moved away is no problem of this corpus.
            if os.path.lexists(path):
                self._problems[path] = str(error)
            return None
        return self._files[path]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All readable files in the order of their paths."""
        return tuple(Entry(path, self._files[path]) for path in sorted(self._files))

    @property
    def known_list(self) -> tuple[KnownFinding, ...]:
        """The entries of the folder's known.toml; raises UsageError where it is wrong."""
        if self._known_list is None:
            self._known_list = known_findings.read(self.folder / KNOWN_FILE)
        return self._known_list

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All unreadable files in the order of their paths."""
        return tuple(Problem(path, self._problems[path]) for path in sorted(self._problems))

    def find(self, case_id: str) -> Entry | None:
        """The first file of the case with this id."""
        return next((entry for entry in self.entries if entry.file.id == case_id), None)

    def find_by_signature(self, signature: str) -> tuple[Entry, ...]:
        """The files, of any state, that hold a finding of this signature."""
        return tuple(entry for entry in self.entries if signature in entry.file.signatures)

    def signatures(self) -> frozenset[str]:
        """The signatures of all open and flaky cases."""
        return frozenset(
            signature
            for file in self._files.values()
            if file.state in ("open", "flaky")
            for signature in file.signatures
        )

    def known(self, signature: str, version: str | None = None) -> KnownFinding | None:
        """What is known of this signature at this backend version (None: any): from known.toml, else an open case."""
        entry = known_findings.find(self.known_list, signature, version)
        if entry is not None:
            return entry
        for case in self.find_by_signature(signature):
            if case.file.state not in ("open", "flaky"):
                continue
            for expectation in case.file.expectations:
                if expectation.signature == signature and within(version, expectation.versions):
                    return KnownFinding(
                        signature=signature,
                        backend=expectation.backend,
                        versions=expectation.versions,
                        link=expectation.link or case.file.origin.link,
                        reason=clipped(expectation.explanation, known_findings.MAX_TEXT)
                        or f"open case {case.path.name}",
                    )
        return None

    def add_finding(self, finding: Finding, *, title: str = "", note: str = "", seed: int | None = None) -> Path:
        """Saves a finding as an open case in found/, under <backend>-<output>-<kind>-<id>.json; where it is now.

        A case that the corpus holds already (the same Spec and bits, also when another campaign has just saved it)
        gains the finding instead, in its own file.
        """
        file = from_finding(finding, title=title, note=note, seed=seed)
        first = first_failing(finding.verdicts)
        what = f"{first.output}-{first.kind}" if first else "ok"
        try:
            return self.add(file, name=f"{portable(finding.backend)}-{what}")
        except BnfuzzError as error:
            # Nobody will see the finding but in this line.
            raise type(error)(f"finding {finding.signature} is not saved: {error}") from error

    def add(self, file: CaseFile, *, folder: str = FOUND, name: str = "case") -> Path:
        """Saves a case file below `folder` as <name>-<id>.json, or merges it into the file of the same case."""
        with self.writing():
            return self._add(file, folder, name)

    def _add(self, file: CaseFile, folder: str, name: str) -> Path:
        present = self._current(file.id)
        if present is not None:
            self._store(present.path, merged(present.file, file))
            return present.path
        start = self.folder / folder / file_stem(name)
        return self._create([start.with_name(f"{start.name}-{file.id[:digits]}.json") for digits in (8, 16)], file)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One writer of this corpus at a time, who knows what the others have added."""
        make_folder(self.folder)
        with locked(self.folder / ".lock"):
            if not self._cleaned:
                remove_leftovers(self.folder)
                self._cleaned = True
            for path in case_paths(self.folder):
                if path not in self._files and path not in self._problems:
                    self._take(path)
            yield

    def _current(self, case_id: str) -> Entry | None:
        """The file of the case as it is on the disk now."""
        present = self.find(case_id)
        file = self._take(present.path) if present else None
        return Entry(present.path, file) if present and file and file.id == case_id else None

    def _create(self, paths: list[Path], file: CaseFile) -> Path:
        """Writes a new file at the first path that is free, or merges into the one that holds the same case."""
        text = dumps(file)
        make_folder(paths[0].parent)
        for path in paths:
            if create_atomic(path, text):
                self._files[path] = file
                return path
            present = self._take(path)
            if present is not None and present.id == file.id:
                self._store(path, merged(present, file))
                return path
        raise InfrastructureError(f"{paths[-1]} exists and holds something else; move it out of the corpus")

    def _store(self, path: Path, file: CaseFile) -> bool:
        """Writes the file where it says something new; whether it did."""
        text = dumps(file)
        news = not path.is_file() or path.read_bytes() != text.encode("utf-8")
        if news:
            write_atomic(path, text)
        self._files[path] = file
        self._problems.pop(path, None)
        return news

    def supersede(self, path: Path, smaller: CaseFile, backend: str) -> Path:
        """Puts a smaller case in the place of what one backend's finding put into a file; where it is now.

        A file of that backend alone gives way: a curated one keeps its name. Others keep what other backends showed.
        """
        with self.writing():
            entry = self._take(path)
            if entry is not None and entry.id == smaller.id:
                self._store(path, replace(entry, descent=smaller.descent))
                return path
            place = str(path.parent.relative_to(self.folder))
            if entry is None:
                return self._add(smaller, place, path.stem)
            alone = all(expectation.backend == portable(backend) for expectation in entry.expectations)
            if alone and self.folder / FOUND not in path.parents:
                self._store(path, smaller)
                return path
            # First the new, then the old: a kill in between leaves both.
            new = self._add(smaller, place, _without_id(path.stem, entry.id))
            if new != path:
                self._withdraw(path, backend)
            return new

    def withdraw(self, path: Path, backend: str) -> None:
        """Takes what one backend's finding put into a file out of it; the file goes when nothing else is left."""
        with self.writing():
            self._withdraw(path, backend)

    def _withdraw(self, path: Path, backend: str) -> None:
        entry = self._take(path)
        if entry is None:
            return
        name = portable(backend)
        left = tuple(expectation for expectation in entry.expectations if expectation.backend != name)
        if not left:
            self._remove(path)
            return
        verdicts = {other: group for other, group in entry.verdicts.items() if other != name}
        self._store(path, replace(entry, expectations=left, verdicts=verdicts))

    def set_state(self, path: Path, state: State) -> None:
        """Writes another state into the file at `path`."""
        with self.writing():
            self._store(path, replace(read(path), state=state))

    def replace(self, path: Path, file: CaseFile) -> None:
        """Writes `file` in place of what is at `path` (a shrunk case in place of the original)."""
        with self.writing():
            self._store(path, file)

    def merge(self, source: Corpus) -> Merge:
        """Takes over every case of another corpus, at the same place below the folder.

        A case that is here already gains the expectations it lacks and keeps its state and place.
        """
        added, extended, unchanged = [], [], []
        with self.writing():
            for entry in source.entries:
                present = self._current(entry.file.id)
                if present is None:
                    place = self.folder / entry.path.relative_to(source.folder)
                    other = place.with_name(f"{place.stem}-{entry.file.id}.json")
                    added.append(self._create([place, other], entry.file))
                elif self._store(present.path, merged(present.file, entry.file, reopen=False)):
                    extended.append(present.path)
                else:
                    unchanged.append(present.path)
        return Merge(tuple(added), tuple(extended), tuple(unchanged))

    def remove(self, path: Path) -> bool:
        """Deletes a case file of this corpus as it was read; whether it is gone.

        A file into which another campaign has written since stays: what it says now nobody here has seen.
        """
        with self.writing():
            seen = self._files.get(path)
            now = self._take(path)
            if now is not None and (seen is None or dumps(now) != dumps(seen)):
                return False
            self._remove(path)
            return True

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._files.pop(path, None)
        self._problems.pop(path, None)


def case_paths(folder: Path) -> Iterator[Path]:
    """Every *.json below the folder in sorted order, without hidden ones; links to folders are not followed."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".json") and not name.startswith((".", LEFTOVER)):
                yield Path(place, name)


def file_stem(name: str) -> str:
    """A name that is safe in any folder: letters, digits, `_`, `.` and `-`, at most 80 of them."""
    stem = re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.")
    return stem[:80] or "case"


def _without_id(stem: str, case_id: str) -> str:
    """The start of a file's name, before the id of its case."""
    start, dash, end = stem.rpartition("-")
    return start if dash and len(end) >= 8 and case_id.startswith(end) else stem
