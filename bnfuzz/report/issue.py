"""Issue text for a framework's maintainers: a claim, its evidence, and a script that bnfuzz has run itself.

    issue = prepare(pool, corpus.find_by_signature(signature), signature=signature, seconds=60, plot=False)
    if issue.ready:
        print(issue.markdown)

A report is ready when its finding was reached again here and now with mpmath as the reference, and its script showed
the fault in a fresh interpreter that cannot import bnfuzz. What is missing otherwise is in `not_ready`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bnfuzz import machine
from bnfuzz.backends import environments, registry
from bnfuzz.backends.client import worker_variables
from bnfuzz.backends.pool import Pool
from bnfuzz.backends.target import parsed
from bnfuzz.corpus import Entry
from bnfuzz.diagnosis.explain import explain_case
from bnfuzz.diagnosis.explanation import Explanation
from bnfuzz.errors import BnfuzzError, UsageError
from bnfuzz.evaluation import Result, evaluate_block
from bnfuzz.report.issue_facts import Facts, stable_rows
from bnfuzz.report.issue_subject import Subject, recorded_signatures, script_part, subject_of
from bnfuzz.report.issue_text import issue_markdown
from bnfuzz.report.issue_title import claim, title_of
from bnfuzz.report.ladder import Ladder, applies, climb
from bnfuzz.report.ladder_plot import ladder_image
from bnfuzz.report.script_run import ScriptRun, run_script
from bnfuzz.report.scripts.block import Part
from bnfuzz.report.scripts.script import Around, script_text
from bnfuzz.report.scripts.writers import Writer, writer_of
from bnfuzz.signature import RECIPE, portable

MOST_INPUTS = 4
"""Inputs of one signature that a report shows, the worst first; the rest is counted."""

SCRIPT_SECONDS = 300.0
"""Longest run of a script, frameworks' imports and compilation included."""

ALONE = ("error", "crash", "hang", "leak", "nondeterministic", "mutated")
"""Kinds of which one input says all: the script makes the call, or the pair of calls, once."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "MXNET_ENGINE_TYPE", "XLA_FLAGS")
"""Variables of a worker that decide how a result is rounded: put into a script that needs them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Issue:
    """A report.

    title, markdown  what is pasted; the markdown starts with its title
    script           stand-alone; script_output is what it printed when bnfuzz ran it
    ready            False: `not_ready` says why, and so does the markdown
    plot             the offset ladder as SVG; `ladder` is what is drawn there, `kappa` the condition of the input
    """

    title: str
    markdown: str
    script: str
    script_output: str
    ready: bool
    not_ready: str = ""
    plot: bytes | None = None
    ladder: Ladder | None = None
    kappa: float | None = None
    backend: str = ""
    signature: str = ""


@dataclass(frozen=True, kw_only=True)
class _Clock:
    """Time that is left; without a limit there is always some."""

    ends: float | None = None
    skipped: list[str] = field(default_factory=list)

    def allows(self, what: str, seconds: float = 5.0) -> bool:
        """Whether so many seconds are left; what is not allowed is remembered."""
        if self.ends is None or self.ends - time.monotonic() >= seconds:
            return True
        self.skipped.append(what)
        return False

    def left(self, most: float) -> float:
        return most if self.ends is None else max(min(most, self.ends - time.monotonic()), 1.0)


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
    clock = _Clock(ends=None if seconds is None else time.monotonic() + seconds)
    name = backend or _backend_of(findings, signature)
    writer = writer_of(name)
    worst = sorted(findings, key=lambda entry: -entry.file.severity) if len(findings) > 1 else list(findings)
    shown: list[Subject] = []
    for entry in worst:
        if len(shown) < MOST_INPUTS and (not shown or clock.allows("further inputs", 15.0)):
            shown.append(subject_of(pool, entry, name, due=_due(entry, name, signature)))
    usable = [subject for subject in shown if subject.first is not None]
    if usable and usable[0].first is not None and usable[0].first.kind in ALONE:
        usable = usable[:1]
    kinds = {subject.first.kind for subject in usable if subject.first is not None}
    if len(kinds) > 1:
        raise UsageError(
            f"the cases fail on {name} in different ways ({', '.join(sorted(kinds))}); report each on its own"
        )
    subject = (usable or shown)[0]
    trouble = [one.trouble for one in shown if one.trouble]
    parts = [part for part in (script_part(pool, one) for one in usable) if part is not None]
    if usable and len(parts) < len(usable):
        trouble.append("the pair of calls that shows it was not found again")
    title = title_of(writer.call, subject)
    script, run = _script(pool, name, writer, parts, title, clock)
    if parts and run is not None and not run.shows(parts[0].check, len(parts)):
        trouble.append(f"the script does not show the fault: {run.ended}; {run.last_words}")
    facts = _facts(pool, name, subject, clock, others)
    ladder = _ladder(pool, name, subject, clock, facts.others)
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
        not_ready="; ".join(dict.fromkeys(trouble)),
        left_out=tuple(clock.skipped),
    )
    return Issue(
        title=title,
        markdown=markdown,
        script=script,
        script_output=run.output if run is not None else "",
        ready=not trouble,
        not_ready="; ".join(dict.fromkeys(trouble)),
        plot=drawn,
        ladder=ladder,
        kappa=kappa,
        backend=name,
        signature=facts.signature,
    )


def _backend_of(findings: Sequence[Entry], signature: str | None) -> str:
    """The one backend that the cases are about."""
    if signature is not None:
        return signature.split("/")[1] if signature.count("/") else signature
    signed = {one.split("/")[1] for entry in findings for one in recorded_signatures(entry)}
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


def _script(
    pool: Pool, backend: str, writer: Writer, parts: Sequence[Part], title: str, clock: _Clock
) -> tuple[str, ScriptRun | None]:
    """The simplest script that shows the fault, else the last one tried; nothing where there is nothing to show."""
    if not parts:
        return "", None
    folder = Path(parsed(backend)[0]).absolute().parent if backend.startswith(registry.TARGET) else None
    environment = environments.locate(pool.backend(backend).environment)
    tried: set[str] = set()
    text, run = "", None
    for around, everything in _attempts(pool, backend, title):
        text = script_text(writer, pool.conventions(backend), parts, around, everything=everything)
        if text in tried:
            continue
        tried.add(text)
        run = run_script(text, environment, seconds=clock.left(SCRIPT_SECONDS), folder=folder)
        if run.shows(parts[0].check, len(parts)):
            break
    return text, run


def _attempts(pool: Pool, backend: str, title: str) -> Iterator[tuple[Around, bool]]:
    """What is looked at alone; then with everything that a campaign computes; then with its environment variables."""
    adapter = pool.backend(backend)
    packages = [package for package in adapter.packages if package != "jaxlib"]
    own = [Path(parsed(backend)[0]).name] if backend.startswith(registry.TARGET) else []
    words = ["NumPy", *packages, *own]
    needs = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    versions = pool.versions(backend)
    plain = Around(title=title, needs=needs, versions=versions)
    yield plain, False
    yield plain, True
    every = worker_variables(os.environ, x64=False)
    wanted = {name: every[name] for name in THREAD_VARIABLES if (name == "XLA_FLAGS") == ("jax" in packages)}
    yield Around(title=title, needs=needs, versions=versions, variables=wanted), True


def _facts(pool: Pool, backend: str, subject: Subject, clock: _Clock, others: Iterable[str] | None) -> Facts:
    """Everything that the text says beside the finding itself."""
    from bnfuzz.report.plausibility import plausibility
    from bnfuzz.signature import signature as signature_of

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
        signature=signature_of(subject.case.spec, backend, subject.verdicts) or "",
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


def _ladder(pool: Pool, backend: str, subject: Subject, clock: _Clock, others: Mapping[str, Result]) -> Ladder | None:
    """Not of a finding of range, which is about other inputs than growing offsets."""
    numeric = subject.first is not None and subject.judgement is not None and subject.first.kind != "range"
    if not numeric or not applies(subject.case.spec) or not clock.allows("the offset ladder", 10.0):
        return None
    return climb(pool, backend, subject.case.spec, [name for name, result in others.items() if result.judged])
