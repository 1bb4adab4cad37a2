"""What the campaigns have left undone: findings that are not shrunk to the end, and such as have no cause yet."""

from __future__ import annotations

import time
from collections.abc import Callable

from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import CaseFile, from_finding
from bnfuzz.corpus import Corpus
from bnfuzz.diagnosis.explain import explain_case
from bnfuzz.diagnosis.explanation import UNKNOWN
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.night import Tracked
from bnfuzz.nightly.findings import live
from bnfuzz.nightly.ledger import Ledger
from bnfuzz.nightly.store import Store
from bnfuzz.shrink.findings import shrink_finding
from bnfuzz.signature import first_failing, portable

LEAST_SECONDS = 0.5
"""Below this nothing is begun."""

UNSUITED = frozenset({"hang", "leak", "nondeterministic"})
"""Kinds that one call does not show, or that cost a deadline per step."""


def shrink_rest(
    ledger: Ledger, corpus: Corpus, store: Store, pool: Pool, backends: tuple[str, ...], seconds: float
) -> None:
    """Shrinks open findings that wait, each for its even share of what is left of `seconds`."""
    waiting = [row for row in ledger.due if _waits(row, backends)]
    deadline = time.monotonic() + seconds
    for place, row in enumerate(waiting):
        allowance = (deadline - time.monotonic()) / (len(waiting) - place)
        file = store.case_of(row)
        if file is None or allowance < LEAST_SECONDS:
            continue
        smaller = shrink_finding(pool, _finding(row, file), seconds=allowance)
        if smaller.signature != row.signature:
            # The fault of a sequence that shows in fewer steps goes by another name, under which a campaign finds it.
            ledger.learn(row.signature, finished=True)
            continue
        if not smaller.confirmed:
            continue
        finished = smaller.descent is not None and smaller.descent.finished
        if smaller.case is file.case:
            ledger.learn(row.signature, finished=finished)
            continue
        _replace_in(corpus, row, file, smaller)
        kept = corpus.find(from_finding(smaller).id)
        case = store.keep_case(row.signature, kept.file if kept else from_finding(smaller))
        first = first_failing(smaller.verdicts)
        severity = first.severity if first else row.severity
        ledger.learn(row.signature, case=case, finished=finished, severity=severity)


def _waits(row: Tracked, backends: tuple[str, ...]) -> bool:
    unsuited = row.finished or not row.fails or row.kind in UNSUITED or row.standing == "flaky"
    return row.open and not unsuited and row.backend in backends


def _finding(row: Tracked, file: CaseFile) -> Finding:
    recorded = file.verdicts.get(portable(row.backend), (Verdict(output=row.output, kind=row.kind),))  # type: ignore[arg-type]  # a Kind, stored as text
    return Finding(
        case=file.case,
        backend=row.backend,
        verdicts=recorded,
        signature=row.signature,
        environment=dict(file.environment),
        cause="" if row.cause == UNKNOWN else row.cause,
        origin=file.origin.link or file.origin.campaign,
        descent=file.descent,
    )


def _replace_in(corpus: Corpus, row: Tracked, file: CaseFile, smaller: Finding) -> None:
    """The smaller case in place of the one that the corpus has."""
    earlier = [entry.path for entry in live(corpus) if entry.file.id == file.id]
    path = corpus.add_finding(smaller)
    for other in earlier:
        if other != path:
            corpus.withdraw(other, row.backend)


def explain_rest(ledger: Ledger, store: Store, pool: Pool, backends: tuple[str, ...], over: Callable[[], bool]) -> None:
    """Looks for the cause of open findings that have none, what needs attention first, until time is `over`.

    One that nothing explained is known to be without, and is looked at again only when it has changed.
    """
    for row in ledger.due:
        unknown = row.cause == UNKNOWN and row.standing in ("new", "back", "changed")
        due = row.open and row.backend in backends and (unknown or not row.cause)
        file = store.case_of(row) if due else None
        if file is None or over():
            continue
        ledger.learn(row.signature, cause=explain_case(pool, row.backend, file.case).sentence)
