"""Shrinking a stored case again: where it stopped, with its history kept and no fall below what was found first."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from bnfuzz import machine
from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case, Inputs, Spec
from bnfuzz.casefile import CaseFile, Descent, Expectation, from_finding
from bnfuzz.errors import UsageError
from bnfuzz.evaluation import CALL, evaluate_case
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.relating import relate_case, relate_trials
from bnfuzz.shrink.findings import MOST_HANGS, PoolEvaluator, descent_of
from bnfuzz.shrink.goal import Goal
from bnfuzz.shrink.minimise import Evaluate, Shrunk, shrink
from bnfuzz.shrink.related import SHRINKING_DRAWS
from bnfuzz.signature import first_failing, signature

OF_RELATIONS = frozenset({"leak", "nondeterministic"})
"""Kinds that several calls together show."""


@dataclass(frozen=True, kw_only=True)
class Again:
    """What became of a stored case on one backend.

    file      the smaller case, or the same one with more to tell; None where it does not show the fault now
    steps     what was done this time, one line each
    finished  nothing is left to try
    remark    why nothing was done, where that needs a reason
    """

    file: CaseFile | None
    steps: tuple[str, ...] = ()
    finished: bool = False
    remark: str = ""


def shrink_again(pool: Pool, file: CaseFile, backend: str, *, seconds: float, where: str | Path = "the case") -> Again:
    """A smaller case of the same finding of one backend, confirmed against mpmath, within about `seconds`.

    The severity stays above the floor that the case as it was found first had set (`Descent.severity`), however often
    this is called. Raises UsageError where the file records no failure of the backend.
    """
    recorded = _recorded(file, backend, pool.version(backend), where)
    related = bool(OF_RELATIONS & set(recorded.findings.values()))
    if file.descent is not None and file.descent.finished:
        return Again(file=file, finished=True, remark="is as small as it gets")
    verdicts = _judged(pool, backend, file.case, related=related)
    named, first = signature(file.case.spec, backend, verdicts), first_failing(verdicts)
    if named is None or first is None:
        return Again(file=None, remark="shows no failure now")
    if recorded.signature and named != recorded.signature:
        return Again(file=None, remark=f"shows {named} now, which is not what is recorded")
    finding = Finding(
        case=file.case,
        backend=backend,
        verdicts=verdicts,
        signature=named,
        environment=machine.describe(pool.versions(backend)),
        confirmed=True,
        cause=recorded.cause,
        descent=file.descent,
    )
    goal = Goal.of(finding)
    shrunk = _shrunk(pool, finding, goal, related=related, seconds=seconds)
    smaller = finding
    if shrunk.steps:
        found = _judged(pool, backend, shrunk.case, related=related)
        again = signature(shrunk.case.spec, backend, found)
        if again is None or not goal(shrunk.case.spec, found):
            return Again(file=None, remark="has a smaller case that mpmath does not confirm")
        smaller = replace(finding, case=shrunk.case, verdicts=found, signature=again)
    stored = _stored(file, recorded, smaller, descent_of(finding, shrunk))
    return Again(file=stored, steps=shrunk.steps, finished=shrunk.finished)


def _recorded(file: CaseFile, backend: str, version: str | None, where: str | Path) -> Expectation:
    failing = [entry for entry in file.expected(backend, version) if not entry.ok]
    if not failing:
        failing = [entry for entry in file.expected(backend) if not entry.ok]
    if not failing:
        names = ", ".join(dict.fromkeys(entry.backend for entry in file.expectations if not entry.ok)) or "nobody"
        raise UsageError(f"{where} records no failure of {backend}; it records failures of {names}")
    return failing[0]


def _judged(pool: Pool, backend: str, case: Case, *, related: bool) -> tuple[Verdict, ...]:
    return relate_case(pool, backend, case) if related else evaluate_case(pool, backend, case, rung="mpmath")


def _shrunk(pool: Pool, finding: Finding, goal: Goal, *, related: bool, seconds: float) -> Shrunk:
    first = first_failing(finding.verdicts)
    on_call = first is not None and first.output == CALL
    return shrink(
        finding.case,
        evaluate=_relating(pool, finding.backend) if related else PoolEvaluator(pool, finding.backend),
        accept=goal,
        deadline=time.monotonic() + seconds,
        verdicts=finding.verdicts,
        alone=on_call,
        most_evaluations=MOST_HANGS if first is not None and first.kind == "hang" else None,
    )


def _relating(pool: Pool, backend: str) -> Evaluate:
    def evaluate(spec: Spec, inputs: Inputs) -> list[tuple[Verdict, ...]]:
        return list(relate_trials(pool, backend, spec, inputs, draws=SHRINKING_DRAWS))

    return evaluate


def _stored(file: CaseFile, recorded: Expectation, finding: Finding, descent: Descent) -> CaseFile:
    """The finding's file, with what the old one says of its origin and of the failure."""
    if finding.case is file.case:
        return replace(file, descent=descent)
    fresh = from_finding(finding)
    # A pattern, which spoke for others too, gives way to the name.
    expectations = tuple(
        replace(entry, why=recorded.why, link=recorded.link, versions=recorded.versions) for entry in fresh.expectations
    )
    return replace(fresh, state=file.state, origin=file.origin, descent=descent, expectations=expectations)
