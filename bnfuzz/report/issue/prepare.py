"""Issue text for a framework's maintainers: a claim, its evidence, and a script that bnfuzz has run itself.

    issue = prepare(pool, corpus.find_by_signature(signature), signature=signature, seconds=60, plot=False)
    if issue.ready:
        print(issue.markdown)

A report is ready when its finding was reached again here and now with mpmath as the reference, and its script showed
the fault in a fresh interpreter that cannot import bnfuzz. What is missing otherwise is in `not_ready`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bnfuzz.backends.pool import Pool
from bnfuzz.corpus import Entry
from bnfuzz.errors import UsageError
from bnfuzz.report.clock import Clock
from bnfuzz.report.issue.gather import facts_of, ladder_for
from bnfuzz.report.issue.ladder import Ladder
from bnfuzz.report.issue.ladder_plot import ladder_image
from bnfuzz.report.issue.script import shown_script
from bnfuzz.report.issue.subject import Subject, recorded_signatures, script_part, subject_of
from bnfuzz.report.issue.text import issue_markdown
from bnfuzz.report.issue.title import claim, title_of
from bnfuzz.report.scripts.writers import writer_of
from bnfuzz.signature import RECIPE, backend_of

MOST_INPUTS = 4
"""Inputs of one signature that a report shows, the worst first; the rest is counted."""

ALONE = ("error", "crash", "hang", "leak", "nondeterministic", "mutated")
"""Kinds of which one input says all: the script makes the call, or the pair of calls, once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Issue:
    """A report.

    title, markdown  what is pasted; the markdown starts with its title
    script           stand-alone; script_output is what it printed when bnfuzz ran it
    ready            False: `not_ready` says why, and so does the markdown
    cause            one clause, `no known cause` included; empty where it was not looked for
    plot             the offset ladder as SVG; `ladder` is what is drawn there, `kappa` the condition of the input
    """

    title: str
    markdown: str
    script: str
    script_output: str
    ready: bool
    not_ready: str = ""
    cause: str = ""
    plot: bytes | None = None
    ladder: Ladder | None = None
    kappa: float | None = None
    backend: str = ""
    signature: str = ""


def prepare(
    pool: Pool,
    findings: Sequence[Entry],
    *,
    backend: str | None = None,
    signature: str | None = None,
    others: Iterable[str] | None = None,
    seconds: float | None = None,
    plot: bool = True,
    image: str = "",
) -> Issue:
    """The issue of one fault that these cases show on one backend.

    backend    which one; by default that of `signature`, or the only one that the cases record a finding of
    signature  which finding; by default the only one recorded for the backend
    others     backends run on the same input for comparison; by default all that are installed
    seconds    limit for the whole: what there is no time for is left out and named; the script always runs
    plot       whether the offset ladder is drawn (needs matplotlib)
    image      file name of the plot, to be shown in the Markdown

    Raises UsageError where the backend cannot be told, or no script can be written for it.
    """
    if not findings:
        raise UsageError("there is no case to report; name at least one")
    clock = Clock(ends=None if seconds is None else time.monotonic() + seconds)
    name = backend or _backend_of(findings, signature)
    writer = writer_of(name)
    shown = _subjects(pool, findings, name, signature, clock)
    usable = _usable(name, shown)
    subject = (usable or shown)[0]
    trouble = [one.trouble for one in shown if one.trouble]
    parts = [part for part in (script_part(pool, one) for one in usable) if part is not None]
    if usable and len(parts) < len(usable):
        trouble.append("the pair of calls that shows it was not found again")
    title = title_of(writer.call, subject)
    script, run = shown_script(pool, name, writer, parts, title, clock)
    if parts and run is not None and not run.shows(parts[0].check, len(parts)):
        trouble.append(f"the script does not show the fault: {run.ended}; {run.last_words}")
    not_ready = "; ".join(dict.fromkeys(trouble))
    facts = facts_of(pool, name, subject, clock, others)
    ladder = ladder_for(pool, name, subject, clock, facts.others)
    kappa = subject.first.kappa if subject.first is not None else None
    drawn = ladder_image(ladder, title=writer.call, kappa=kappa) if plot and ladder is not None else None
    markdown = issue_markdown(
        title=title,
        claim=claim(writer.call, subject, facts),
        subjects=usable or [subject],
        further=len(findings) - len(shown),
        facts=facts,
        ladder=ladder,
        image=image if drawn else "",
        script=script,
        run=run,
        not_ready=not_ready,
        left_out=tuple(clock.skipped),
    )
    return Issue(
        title=title,
        markdown=markdown,
        script=script,
        script_output=run.output if run is not None else "",
        ready=not trouble,
        not_ready=not_ready,
        cause=facts.explanation.sentence if facts.explanation is not None else "",
        plot=drawn,
        ladder=ladder,
        kappa=kappa,
        backend=name,
        signature=facts.signature,
    )


def _subjects(
    pool: Pool, findings: Sequence[Entry], backend: str, signature: str | None, clock: Clock
) -> list[Subject]:
    """The worst inputs, run again; one at least."""
    found: list[Subject] = []
    for entry in sorted(findings, key=lambda entry: -entry.file.severity):
        if len(found) < MOST_INPUTS and (not found or clock.allows("further inputs", 15.0)):
            found.append(subject_of(pool, entry, backend, due=_due(entry, backend, signature)))
    return found


def _usable(backend: str, shown: Sequence[Subject]) -> list[Subject]:
    """Those that fail here; of some kinds the first says all. Raises UsageError where they fail in different ways."""
    found = [(subject, subject.first.kind) for subject in shown if subject.first is not None]
    kinds = sorted({kind for _, kind in found})
    if len(kinds) > 1:
        raise UsageError(f"the cases fail on {backend} in different ways ({', '.join(kinds)}); report each on its own")
    usable = [subject for subject, _ in found]
    return usable[:1] if kinds and kinds[0] in ALONE else usable


def _backend_of(findings: Sequence[Entry], signature: str | None) -> str:
    """The one backend that the cases are about."""
    if signature is not None:
        return backend_of(signature) or signature
    signed = {backend_of(one) for entry in findings for one in recorded_signatures(entry)}
    failing = {e.backend for entry in findings for e in entry.file.expectations if not e.ok and "*" not in e.backend}
    found = sorted(signed or failing)
    if len(found) == 1:
        return found[0]
    what = f"a finding of each of {', '.join(found)}" if found else "no finding"
    where = ", ".join(entry.path.name for entry in findings[:3])
    raise UsageError(f"{where}: the cases record {what}; say which backend is meant with --backend NAME")


def _due(entry: Entry, backend: str, signature: str | None) -> str:
    """The signature that the case must show now; none where several are recorded, or by another recipe."""
    recorded = recorded_signatures(entry, backend)
    due = signature or (recorded[0] if len(recorded) == 1 else "")
    return due if due.startswith(f"v{RECIPE}/") else ""
