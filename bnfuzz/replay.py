"""Stored cases run again: what each backend makes of one now, against what is recorded of it.

Shared by `bnfuzz replay` and the pytest plugin.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bnfuzz.backends import environments, registry
from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import CaseFile, Expectation
from bnfuzz.casefile.stored import failures
from bnfuzz.corpus import KNOWN_FILE
from bnfuzz.corpus import known as known_findings
from bnfuzz.corpus.known import KnownFinding
from bnfuzz.errors import BnfuzzError, InfrastructureError
from bnfuzz.evaluation import Result, evaluate_block
from bnfuzz.judge.verdict import FAILING, Verdict, precedence
from bnfuzz.numerics.reference import Rung
from bnfuzz.relating import relate_case
from bnfuzz.signature import portable, signature, titled

Standing = Literal["ok", "known", "failed", "fixed", "undecided", "unsupported"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """One stored case on one backend, now.

    standing   ok           passes, and nothing else is recorded
               known        exactly the recorded outputs fail, with the recorded kinds
               failed       fails otherwise
               fixed        passes, although a failure is recorded
               undecided    nothing can be said: vacuous, or the reference is too coarse
               unsupported  the backend cannot express the case
    reason     one clause
    link       of the known finding
    """

    backend: str
    version: str | None
    result: Result
    verdicts: tuple[Verdict, ...]
    standing: Standing
    reason: str = ""
    link: str = ""

    @property
    def title(self) -> str:
        return titled(self.backend, self.version)


def replay(
    pool: Pool,
    file: CaseFile,
    backends: Iterable[str],
    known: tuple[KnownFinding, ...] = (),
    *,
    rung: Rung | None = None,
) -> dict[str, Outcome]:
    """backend -> what it makes of the case, all run side by side.

    `known` holds the entries of the corpus' known.toml; `rung` forces the reference's rung ("mpmath": the finest).
    """
    names = tuple(backends)
    results = evaluate_block(pool, names, file.case.spec, file.case.inputs, rung=rung)
    outcomes = {}
    for name in names:
        version = pool.version(name)
        verdicts = results[name].verdicts(0)
        if results[name].judged and _records_a_relation(file, name, version):
            verdicts = _joined(verdicts, relate_case(pool, name, file.case))
        standing, reason, link = classify(file, name, version, verdicts, known)
        outcomes[name] = Outcome(
            backend=name,
            version=version,
            result=results[name],
            verdicts=verdicts,
            standing=standing,
            reason=reason,
            link=link,
        )
    return outcomes


def _records_a_relation(file: CaseFile, backend: str, version: str | None) -> bool:
    """Whether a recorded failure is one that only several calls together show."""
    kinds = {kind for entry in file.expected(backend, version) for kind in entry.findings.values()}
    return bool(kinds & {"leak", "nondeterministic"})


def _joined(verdicts: tuple[Verdict, ...], related: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """One verdict per output, the first by precedence."""
    found = {verdict.output: verdict for verdict in verdicts}
    for verdict in related:
        known = found.get(verdict.output)
        if known is None or precedence(verdict.kind) < precedence(known.kind):
            found[verdict.output] = verdict
    return tuple(found.values())


def classify(
    file: CaseFile, backend: str, version: str | None, verdicts: tuple[Verdict, ...], known: tuple[KnownFinding, ...]
) -> tuple[Standing, str, str]:
    """(standing, reason, link) of the verdicts, as narrowly as the record allows.

    A failure is known only where an expectation lists exactly it, or where known.toml has an entry for every
    failing output; known.toml does not speak for a backend whose record is gone from an `open` case (`_removed`).
    Kinds that fail no run by default (range, nondeterministic) count where they are recorded.
    """
    if any(verdict.kind == "unsupported" for verdict in verdicts):
        return "unsupported", next(verdict.why for verdict in verdicts if verdict.kind == "unsupported"), ""
    recorded = [entry for entry in file.expected(backend, version) if not entry.ok and _counts(file, entry)]
    passes_too = file.state == "flaky" or any(entry.ok for entry in file.expected(backend, version))
    for entry in recorded:
        if _seen(verdicts, entry) == dict(entry.findings):
            return "known", entry.explanation or _words(entry.findings), entry.link or file.origin.link
    failing = [verdict for verdict in verdicts if verdict.kind in FAILING]
    if failing:
        reason = f"recorded: {'; or '.join(_words(entry.findings) for entry in recorded)}" if recorded else ""
        entries = [_listed(file, backend, version, verdict, known) for verdict in failing]
        if not recorded and not _removed(file, backend) and all(entries):
            first = next(entry for entry in entries if entry is not None)
            return "known", first.reason, first.link
        return "failed", reason, ""
    blank = _blank(verdicts, recorded)
    if blank:
        return "undecided", blank, ""
    if recorded and not passes_too:
        entry = recorded[0]
        return "fixed", f"recorded: {_words(entry.findings)}", entry.link or file.origin.link
    return "ok", "", ""


def _counts(file: CaseFile, entry: Expectation) -> bool:
    """A failure recorded in a fixed case is history, save for the versions that it names."""
    return file.state != "fixed" or bool(entry.versions)


def _removed(file: CaseFile, backend: str) -> bool:
    """Whether an open case holds no failure of this backend although it must have: somebody took the record out.

    An open case records every failure that it shows. Only what a campaign has saved is about the backend that it was
    saved for, and silent on others, until one of them is judged and saved too.
    """
    if file.state != "open" or any(not entry.ok for entry in file.expected(backend)):
        return False
    silent = bool(file.origin.campaign) and portable(backend) not in file.verdicts
    return not silent or all(entry.ok for entry in file.expectations)


def _seen(verdicts: tuple[Verdict, ...], entry: Expectation) -> dict[str, str]:
    """The failures that count against this record."""
    return {output: kind for output, kind in failures(verdicts).items() if kind in FAILING or output in entry.findings}


def _listed(
    file: CaseFile, backend: str, version: str | None, verdict: Verdict, known: tuple[KnownFinding, ...]
) -> KnownFinding | None:
    """The entry of known.toml that speaks of this one failing output."""
    identity = signature(file.case.spec, backend, (verdict,))
    return known_findings.find(known, identity, version) if identity else None


def _blank(verdicts: tuple[Verdict, ...], recorded: list[Expectation]) -> str:
    """Why passing says nothing here, or an empty text."""
    uncertain = [verdict.output for verdict in verdicts if verdict.kind == "uncertain"]
    vacuous = [verdict.output for verdict in verdicts if verdict.kind == "vacuous"]
    if uncertain:
        return f"uncertain, the reference is too coarse: {', '.join(uncertain)}"
    awaited = {output for entry in recorded for output in entry.findings}
    if vacuous and (len(vacuous) == len(verdicts) or awaited & set(vacuous)):
        return f"vacuous, no value is wrong: {', '.join(vacuous)}"
    return ""


def _words(findings: Mapping[str, str]) -> str:
    return ", ".join(f"{output} {kind}" for output, kind in findings.items())


@dataclass(frozen=True)
class Roster:
    """The backends that take part, and why the others do not."""

    names: tuple[str, ...]
    absent: Mapping[str, str]

    def absence_lines(self) -> list[str]:
        """`NAME, NAME: why not`, one line per reason."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.absent.items():
            reasons.setdefault(reason, []).append(name)
        return [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]


def roster(asked: Iterable[str] = ()) -> Roster:
    """The backends asked for, or every one that is installed here. Imports no framework.

    Raises UsageError for an unknown name and InfrastructureError for one asked for that is not installed.
    """
    wanted = tuple(dict.fromkeys(asked))
    absent = {}
    for name in wanted or registry.names():
        reason = environments.absence(registry.get(name))
        if reason is not None:
            if wanted:
                raise InfrastructureError(f"backend {name} cannot run here: {reason}")
            absent[name] = reason
    return Roster(tuple(name for name in wanted or registry.names() if name not in absent), absent)


def started(pool: Pool, found: Roster, *, strict: bool = False) -> Roster:
    """The roster without the backends whose framework does not start; with `strict` that is an error."""
    absent = dict(found.absent)
    for name in found.names:
        try:
            pool.versions(name)
        except BnfuzzError as error:
            if strict:
                raise
            absent[name] = str(error).partition("\n")[0]
    return Roster(tuple(name for name in found.names if name not in absent), absent)


def corpus_of(path: Path) -> Path | None:
    """The nearest folder above `path` that holds a known.toml: the corpus that the file belongs to."""
    for folder in Path(os.path.abspath(path)).parents:
        if (folder / KNOWN_FILE).is_file():
            return folder
    return None


def known_of(path: Path) -> tuple[KnownFinding, ...]:
    """The known findings of the corpus that the file belongs to; raises UsageError where its known.toml is wrong."""
    folder = corpus_of(path)
    return known_findings.read(folder / KNOWN_FILE) if folder else ()
