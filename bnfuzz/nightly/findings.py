"""Findings of a campaign, of the corpus and of a replay as rows of the ledger; their cases kept, restored, retired."""

from __future__ import annotations

from dataclasses import replace

from bnfuzz import machine
from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.casefile import CaseFile, Expectation, from_finding, read
from bnfuzz.corpus import Corpus, Entry
from bnfuzz.corpus.folder import FOUND
from bnfuzz.errors import CaseFileError
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.night import Tracked
from bnfuzz.nightly.ledger import Ledger
from bnfuzz.nightly.replaying import Failure, Shown
from bnfuzz.nightly.store import Store
from bnfuzz.signature import first_failing, portable

LIVE = ("open", "flaky")
"""States of a case whose failure is expected to come again."""


def row_of(signature: str, backend: str, verdict: Verdict | None, *, number: int, **others: object) -> Tracked:
    """The row of a finding that `verdict` names."""
    said = verdict or Verdict(output="call", kind="error")
    return Tracked(
        signature=signature,
        backend=backend,
        output=said.output,
        kind=said.kind,
        severity=said.severity,
        standing="new",
        first_night=number,
        last_night=number,
        **others,  # type: ignore[arg-type]  # fields by name
    )


def from_discovery(discovery: Discovery, store: Store, *, number: int, version: str) -> Tracked:
    """The row of what a campaign found; its case is stored beside the state."""
    finding = discovery.finding
    file = _file(discovery)
    return row_of(
        finding.signature,
        finding.backend,
        discovery.first,
        number=number,
        version=version,
        cause=finding.cause,
        case=store.keep_case(finding.signature, file),
        finished=settled(file) if file.descent else not discovery.waits,
    )


def _file(discovery: Discovery) -> CaseFile:
    """As the corpus holds it: with its descent."""
    if discovery.path is not None:
        try:
            return read(discovery.path)
        except CaseFileError:
            pass
    return from_finding(discovery.finding)


def settled(file: CaseFile) -> bool:
    """Whether nothing is left to shrink in it."""
    return file.descent is not None and file.descent.finished


def from_failure(failure: Failure, pool: Pool, store: Store, *, number: int, version: str) -> Tracked:
    """The row of a stored case that fails otherwise than recorded; it is not shrunk, for people chose it."""
    file, outcome = failure.entry.file, failure.outcome
    kept = _as_failing(file, outcome.backend, outcome.verdicts, failure.signature, pool)
    return row_of(
        failure.signature,
        outcome.backend,
        first_failing(outcome.verdicts),
        number=number,
        version=version,
        case=store.keep_case(failure.signature, kept),
        finished=True,
    )


def keep_turned(store: Store, pool: Pool, row: Tracked, file: CaseFile, shown: Shown) -> str:
    """Stores the case of a finding that fails otherwise now, with what it shows; the name of its file."""
    return store.keep_case(shown.signature, _as_failing(file, row.backend, shown.verdicts, shown.signature, pool))


def _as_failing(file: CaseFile, backend: str, verdicts: tuple[Verdict, ...], signature: str, pool: Pool) -> CaseFile:
    """The case with one record only: that it fails so on this backend, here and now.

    The link of its origin is about another failure of the same input, and becomes a note.
    """
    environment = machine.describe(pool.versions(backend))
    finding = Finding(case=file.case, backend=backend, verdicts=verdicts, signature=signature, environment=environment)
    origin = file.origin
    if origin.link:
        note = "; ".join(filter(None, (origin.note, f"input from {origin.link}")))
        origin = replace(origin, link="", note=note)
    return replace(from_finding(finding), origin=origin)


def adopt(
    ledger: Ledger, corpus: Corpus, store: Store, backends: tuple[str, ...], before: tuple[str, ...] | None
) -> None:
    """Takes in the open cases of found/ that the ledger does not have, on tonight's backends.

    before   signatures of open cases at the beginning of a night that was killed: what came later nobody has been told
             of, and so it is new; None where no night was killed
    """
    names = {portable(name): name for name in backends}
    for entry in live(corpus):
        for expectation in entry.file.expectations:
            signature = expectation.signature
            if not signature or signature in ledger or expectation.backend not in names:
                continue
            name = names[expectation.backend]
            verdict = first_failing(entry.file.verdicts.get(expectation.backend, ())) or _recorded(expectation)
            row = row_of(
                signature,
                name,
                verdict,
                number=ledger.number,
                cause=expectation.explanation,
                link=expectation.link or entry.file.origin.link,
                case=store.keep_case(signature, entry.file),
                finished=settled(entry.file),
            )
            untold = before is not None and signature not in before
            note = "found by a night that was interrupted"
            ledger.adopt(replace(row, note=note) if untold else replace(row, standing="unseen"))


def _recorded(expectation: Expectation) -> Verdict:
    output, kind = next(iter(expectation.findings.items()))
    return Verdict(output=output, kind=kind)  # type: ignore[arg-type]  # checked when the expectation was made


def live(corpus: Corpus) -> tuple[Entry, ...]:
    """The open and flaky cases that campaigns have saved."""
    found = corpus.folder / FOUND
    return tuple(entry for entry in corpus.entries if found in entry.path.parents and entry.file.state in LIVE)


def restore(ledger: Ledger, corpus: Corpus, store: Store) -> None:
    """Puts back cases of open findings that the corpus lacks (a fresh checkout): they would be found anew.

    A person's word stays: what the corpus holds in another state is left alone.
    """
    for row in ledger.open:
        if corpus.find_by_signature(row.signature):
            continue
        file = store.case_of(row)
        if file is not None and corpus.find(file.id) is None:
            corpus.add(file, name=f"{portable(row.backend)}-{row.output}-{row.kind}")


def retire(row: Tracked, corpus: Corpus) -> None:
    """Marks the saved cases of a finding that is gone as fixed, so that it counts as new if it comes back."""
    for entry in live(corpus):
        if row.signature not in entry.file.signatures:
            continue
        others = [e for e in entry.file.expectations if e.findings and e.backend != portable(row.backend)]
        if others:
            corpus.withdraw(entry.path, row.backend)
        else:
            corpus.set_state(entry.path, "fixed")
