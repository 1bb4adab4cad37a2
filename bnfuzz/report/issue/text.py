"""The Markdown of a report, section by section."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bnfuzz.judge.verdict import Verdict
from bnfuzz.report.issue.evidence import (
    cause_text,
    ladder_text,
    machine_text,
    not_rounding_text,
    others_text,
    plausibility_text,
)
from bnfuzz.report.issue.facts import Facts
from bnfuzz.report.issue.ladder import Ladder
from bnfuzz.report.issue.subject import Subject
from bnfuzz.report.markdown import cell, code, escaped, fenced, table
from bnfuzz.report.scripts.run import ScriptRun
from bnfuzz.report.text import element_ratio, format_of
from bnfuzz.report.words import inputs_words, number, place, ratio, spec_words, zero_note

QUOTED = 4000
"""Characters of a script's output that are quoted."""


def issue_markdown(
    *,
    title: str,
    claim: str,
    subjects: Sequence[Subject],
    further: int,
    facts: Facts,
    ladder: Ladder | None,
    image: str,
    script: str,
    run: ScriptRun | None,
    not_ready: str,
    left_out: Sequence[str],
) -> str:
    """The whole text; `subjects` is not empty, `further` counts inputs of the same fault that are not shown."""
    first = subjects[0]
    sections = [f"# {escaped(title)}"]
    if not_ready:
        sections.append(f"> **NOT READY**: {escaped(not_ready)}")
    sections.append(claim)
    if script:
        sections += ["## To reproduce", *_reproduction(script, run, facts)]
    sections += ["## The input", *_inputs(subjects, further)]
    numeric = [verdict for verdict in first.failing if verdict.index]
    if numeric:
        sections += ["## Observed and exact", *_values(first, numeric)]
        sections += ["## Why this is not rounding", *not_rounding_text(first, numeric[0], facts)]
    if numeric:
        sections += ["## The cause", *cause_text(first.first, facts)]
    if facts.others:
        sections += ["## Other implementations on the same input", *others_text(first, facts)]
    sections += ["## How ordinary this input is", *plausibility_text(facts, ladder)]
    if ladder is not None:
        sections += ["## The error over growing offsets", *ladder_text(ladder, image)]
    sections += ["## Versions and machine", *machine_text(facts)]
    sections.append(_footer(subjects, facts, left_out))
    return "\n\n".join(section for section in sections if section) + "\n"


def _reproduction(script: str, run: ScriptRun | None, facts: Facts) -> Iterator[str]:
    yield fenced(script, "python")
    if run is None:
        yield "It has not been run."
        return
    yield f"Run in a fresh interpreter with {escaped(facts.packages)} it ended with {run.ended}:"
    yield fenced(_quoted(run.output or run.errors), "text")


def _quoted(output: str) -> str:
    """The output, or its end where it is long."""
    return f"…{output[-QUOTED:]}" if len(output) > QUOTED else output or "(it printed nothing)"


def _inputs(subjects: Sequence[Subject], further: int) -> Iterator[str]:
    for number_, subject in enumerate(subjects, start=1):
        lines = [*spec_words(subject.case.spec), *inputs_words(subject.case)]
        if len(subjects) > 1:
            first = subject.first
            told = f": {_short_of(subject, first)}" if first is not None else ""
            yield f"Input {number_}{told}"
        yield fenced("\n".join(lines), "text")
        if subject.note:
            yield f"This is {escaped(subject.note)}."
    if further:
        yield f"{further} more {'input shows' if further == 1 else 'inputs show'} the same fault."


def _short_of(subject: Subject, first: Verdict) -> str:
    name = format_of(subject.case.spec, first.output)
    if not first.index:
        return escaped(f"{first.output} {first.kind}")
    what = f"{first.output}{place(first.index)} is {number(first.observed, name)}, exact {number(first.exact, name)}"
    return f"{code(what)}, error/bound {ratio(element_ratio(first))}"


HEADER = ("output", "at", "exact", "observed", "bound", "error/bound", "ULPs", "smallest passing tolerance")


def _values(subject: Subject, numeric: Sequence[Verdict]) -> Iterator[str]:
    yield table(HEADER, [_value_row(subject, verdict) for verdict in numeric])
    yield (
        "*exact* is computed with 300-bit arithmetic. *bound* is the worst that a sound implementation in the compute "
        "format may be off on this very input, derived from the condition of every step, summation in any order "
        "included. *smallest passing tolerance* is the least rtol = atol with which a comparison of the whole output "
        "would pass."
    )
    good = [f"{verdict.output} {ratio(verdict.severity)}" for verdict in subject.verdicts if verdict.kind == "ok"]
    if good:
        yield escaped(f"Within their bounds (error/bound): {', '.join(good)}.")


def _value_row(subject: Subject, verdict: Verdict) -> tuple[str, ...]:
    name = format_of(subject.case.spec, verdict.output)
    zero = bool(zero_note(verdict.exact, verdict.bound, verdict.n))
    finite = math.isfinite(verdict.observed)
    return (
        cell(verdict.output),
        cell(place(verdict.index)),
        "0" if zero else cell(number(verdict.exact, name)),
        cell(number(verdict.observed, name)),
        f"{verdict.bound:.3g}",
        ratio(element_ratio(verdict)),
        "-" if zero or not finite else f"{verdict.ulps:.3g}",
        f"{verdict.tolerance:.3g}" if math.isfinite(verdict.tolerance) else "none",
    )


def _footer(subjects: Sequence[Subject], facts: Facts, left_out: Sequence[str]) -> str:
    bnfuzz = facts.machine.get("package.bnfuzz", "")
    ids = ", ".join(subject.entry.file.id for subject in subjects)
    signed = f", signature {code(facts.signature)}" if facts.signature else ""
    missing = f" Left out for want of time: {', '.join(left_out)}." if left_out else ""
    return (
        f"Found and confirmed with mpmath by bnfuzz {bnfuzz} (case {ids}{signed}).{missing}"
        if facts.signature and not any(subject.trouble for subject in subjects)
        else f"Written by bnfuzz {bnfuzz} (case {ids}).{missing}"
    )
