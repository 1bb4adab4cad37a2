"""Keeping a corpus in order: what can go, what is odd, and its files in the newest structure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnfuzz.casefile import SCHEMA, CaseFile, dumps, read, write_atomic
from bnfuzz.casefile.exactarray import exact_bits
from bnfuzz.corpus.folder import FOUND, KNOWN_FILE, Corpus, Entry, case_paths
from bnfuzz.errors import CaseFileError


@dataclass(frozen=True)
class Migration:
    """Files that were rewritten, and what is wrong with those that cannot be read."""

    rewritten: tuple[Path, ...]
    unreadable: tuple[str, ...]


def migrate(corpus: Corpus) -> Migration:
    """Rewrites every file in the newest structure and layout, under the corpus' lock; a second time changes nothing."""
    rewritten, unreadable = [], []
    with corpus.writing():
        for path in case_paths(corpus.folder):
            try:
                text = dumps(read(path))
            except CaseFileError as error:
                unreadable.append(str(error))
                continue
            if path.read_bytes() != text.encode("utf-8"):
                write_atomic(path, text)
                rewritten.append(path)
    corpus.reload()
    return Migration(tuple(rewritten), tuple(unreadable))


def prunable(corpus: Corpus) -> tuple[Path, ...]:
    """Open cases in found/ that are neither the worst nor the simplest of any of their signatures."""
    found = corpus.folder / FOUND
    candidates = [entry for entry in corpus.entries if entry.file.state == "open" and found in entry.path.parents]
    groups: dict[str, list[Entry]] = {}
    for entry in candidates:
        for signature in entry.file.signatures:
            groups.setdefault(signature, []).append(entry)
    kept = {max(group, key=lambda entry: entry.file.severity).path for group in groups.values()}
    kept |= {min(group, key=lambda entry: _complexity(entry.file)).path for group in groups.values()}
    return tuple(entry.path for entry in candidates if entry.file.signatures and entry.path not in kept)


def _complexity(file: CaseFile) -> tuple[int, int, int]:
    """Elements, axes, distinct values of x: what makes a case harder to grasp."""
    spec = file.case.spec
    return (spec.size * len(spec.steps), spec.rank, len(np.unique(exact_bits(file.case.inputs.x))))


def remarks(corpus: Corpus) -> list[str]:
    """What is readable and yet odd, one line each with its remedy; raises UsageError where known.toml is wrong."""
    return [*_of_files(corpus), *_of_known(corpus)]


def _of_files(corpus: Corpus) -> list[str]:
    lines = []
    first: dict[str, Path] = {}
    for path, file in ((entry.path, entry.file) for entry in corpus.entries):
        if corpus.folder / FOUND in path.parents and not _ends_in_id(path.stem, file.id):
            lines.append(f"{path}: the name does not end in the id of its case, {file.id[:8]}; rename it")
        if file.id in first:
            lines.append(f"{path}: holds the same case as {first[file.id]}; keep one of them")
        first.setdefault(file.id, path)
        if file.state == "open" and all(entry.ok for entry in file.expectations):
            lines.append(f'{path}: is open, but records no failure; add its expectation, or set "state" to "seed"')
        if file.state == "seed" and any(not entry.ok for entry in file.expectations):
            lines.append(f'{path}: is a seed, but records a failure; set "state" to "open"')
        if f'"schema": {SCHEMA}' not in path.read_text("utf-8"):
            lines.append(f"{path}: is of an older structure; `bnfuzz corpus migrate` rewrites it")
    return lines


def _ends_in_id(stem: str, case_id: str) -> bool:
    end = stem.rpartition("-")[2]
    return len(end) >= 8 and case_id.startswith(end)


def _of_known(corpus: Corpus) -> list[str]:
    signatures = {signature for entry in corpus.entries for signature in entry.file.signatures}
    lines = []
    for number, known in enumerate(corpus.known_list, start=1):
        where = f"{corpus.folder / KNOWN_FILE}: finding {number} ({known.signature})"
        earlier = corpus.known_list[: number - 1]
        if any(other.matches(known.signature) and not other.versions for other in earlier):
            lines.append(f"{where} is covered by an earlier one; take it out")
        if not any(known.matches(signature) for signature in signatures):
            lines.append(f"{where} matches no stored case; it is of use only to campaigns")
    return lines
