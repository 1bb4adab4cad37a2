"""Departures of a card as cases: judged, and saved as a finding where a verdict is one."""

from __future__ import annotations

from pathlib import Path

from bnfuzz import machine
from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import CaseFile, Origin
from bnfuzz.corpus import Corpus
from bnfuzz.diagnosis.card import Card, Row
from bnfuzz.evaluation import evaluate_case
from bnfuzz.finding import Finding
from bnfuzz.signature import signature

FOLDER = "conventions"
"""Below the corpus: cases whose outcome departs from a documented convention although no verdict of its own fails."""


def save_departure(pool: Pool, card: Card, row: Row, corpus: Corpus) -> Path | None:
    """Saves a departing line's case; where it is, or None where the line is not expressible as one."""
    if row.case is None:
        return None
    verdicts = evaluate_case(pool, card.backend, row.case, rung="mpmath")
    title = f"{card.backend}: {row.name} is {row.observed}, documented: {row.documented}"
    identity = signature(row.case.spec, card.backend, verdicts)
    if identity is None:
        file = CaseFile(case=row.case, state="open", origin=Origin(title=title, note=row.evidence))
        return corpus.add(file, folder=FOLDER, name=f"{card.backend}-{row.name}")
    finding = Finding(
        case=row.case,
        backend=card.backend,
        verdicts=verdicts,
        signature=identity,
        environment=machine.describe({card.backend: card.version}),
        confirmed=True,
        cause=f"{row.name}: {row.observed}",
        origin="bnfuzz conventions",
    )
    return corpus.add_finding(finding, title=title, note=row.evidence)
