"""Gathers what a report says beside its finding: cause, other backends, ladder, machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bnfuzz import machine
from bnfuzz.backends import registry
from bnfuzz.backends.pool import Pool
from bnfuzz.diagnosis.explain import explain_case
from bnfuzz.diagnosis.explanation import Explanation
from bnfuzz.errors import BnfuzzError
from bnfuzz.evaluation import Result, evaluate_block
from bnfuzz.report.clock import Clock
from bnfuzz.report.issue.facts import Facts, stable_rows
from bnfuzz.report.issue.ladder import Ladder, applies, climb
from bnfuzz.report.issue.plausibility import plausibility
from bnfuzz.report.issue.subject import Subject
from bnfuzz.report.scripts.writers import writer_of
from bnfuzz.signature import portable, signature

CLIMBED = ("y", "dgamma", "dx")
"""Outputs whose error the ladder of y tells something about."""


def facts_of(pool: Pool, backend: str, subject: Subject, clock: Clock, others: Iterable[str] | None) -> Facts:
    """Everything that the text says beside the finding itself."""
    versions = pool.versions(backend)
    judgement = subject.judgement
    explanation: Explanation | None = None
    if subject.first is not None and judgement is not None and clock.allows("the cause", 10.0):
        explanation = explain_case(pool, backend, subject.case, probing=clock.allows("further questions", 30.0))
    results: Mapping[str, Result] = {}
    if clock.allows("the other backends"):
        results = _others(pool, backend, subject, others)
    return Facts(
        backend=backend,
        call=writer_of(backend).call,
        conventions=pool.conventions(backend),
        versions=versions,
        machine=machine.describe({portable(backend): pool.version(backend) or ""}),
        signature=signature(subject.case.spec, backend, subject.verdicts) or "",
        explanation=explanation,
        stable=stable_rows(subject, pool.conventions(backend)),
        others=results,
        other_versions={name: pool.version(name) or "" for name in results},
        plausibility=plausibility(subject.case, judgement.reference if judgement is not None else None),
    )


def _others(pool: Pool, backend: str, subject: Subject, asked: Iterable[str] | None) -> dict[str, Result]:
    """The same input through every other backend that starts."""
    names = []
    for name in registry.available() if asked is None else asked:
        try:
            pool.versions(name)
        except BnfuzzError:
            continue
        if name != backend:
            names.append(name)
    return evaluate_block(pool, names, subject.case.spec, subject.case.inputs)


def ladder_for(pool: Pool, backend: str, subject: Subject, clock: Clock, others: Mapping[str, Result]) -> Ladder | None:
    """Not of a finding of range, or of statistics alone: growing offsets say nothing about those."""
    told = {verdict.output for verdict in subject.failing if verdict.kind != "range"}
    if subject.judgement is None or told.isdisjoint(CLIMBED) or not applies(subject.case.spec):
        return None
    if not clock.allows("the offset ladder", 10.0):
        return None
    return climb(pool, backend, subject.case.spec, [name for name, result in others.items() if result.judged])
