"""The Markdown of a report, section by section."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bnfuzz.judge.verdict import Verdict
from bnfuzz.report.issue_facts import Facts, Row, other_row
from bnfuzz.report.issue_subject import Subject
from bnfuzz.report.ladder import STABLE, Ladder
from bnfuzz.report.markdown import cell, code, escaped, fenced, table
from bnfuzz.report.plausibility import offset_rule
from bnfuzz.report.script_run import ScriptRun
from bnfuzz.report.text import element_ratio, format_of
from bnfuzz.report.words import inputs_words, noise_note, number, place, ratio, spec_words, zero_note
from bnfuzz.signature import portable

QUOTED = 4000
"""Characters of a script's output that are quoted."""

MACHINE = ("python", "platform", "libc", "cpu", "cpu_features", "threads", "flush_to_zero")


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
        sections += ["## Why this is not rounding", *_not_rounding(first, numeric[0], facts)]
    if numeric:
        sections += ["## The cause", *_cause(first.first, facts)]
    if facts.others:
        sections += ["## Other implementations on the same input", *_others(first, facts)]
    sections += ["## How ordinary this input is", *_plausibility(facts, ladder)]
    if ladder is not None:
        sections += ["## The error over growing offsets", *_ladder(ladder, image)]
    sections += ["## Versions and machine", *_machine(facts)]
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


HARD_LIMIT = (
    "algorithm loses all of its digits to that. What remains is a hard limit, kept by every kernel that subtracts the "
    "mean about which it takes the variance: x̂ is off by no more than min(1, √(n−1)) + |x̂|. The bound is that limit."
)

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


def _not_rounding(subject: Subject, first: Verdict, facts: Facts) -> Iterator[str]:
    compute = facts.conventions.compute_format(subject.case.spec.data_format)
    unit = compute.unit_roundoff
    exponent = -compute.precision
    at = f"{first.output}{place(first.index)}"
    if first.kind == "range":
        yield (
            "It is a limit of range, not of precision: the exact result is an ordinary number, an intermediate result "
            "overflows or underflows on the way to it."
        )
    elif math.isfinite(first.kappa):
        loss = first.kappa * unit
        yield (
            f"The channel of {code(at)} has n = {first.n} values and the condition number κ = √(1 + μ²/(σ² + ε)) = "
            f"{first.kappa:.4g}. The unit roundoff of {compute.name} is u = 2^{exponent} = {unit:.3g}, and a stable "
            + (f"algorithm loses about κ·u = {loss:.2g} of a standard deviation." if loss < 1 else HARD_LIMIT)
        )
    if math.isfinite(first.bound):
        note = zero_note(first.exact, first.bound, first.n) or noise_note(first.bound, first.n)
        yield f"{escaped(note[:1].upper() + note[1:])}." if note else ""
    if facts.stable:
        name = format_of(subject.case.spec, first.output)
        rows = [_row(row, name) for row in facts.stable]
        yield f"Sound algorithms, run in {compute.name} on the same input, give for {code(at)}:"
        yield table(("algorithm", "value", "error/bound", ""), rows)


def _row(row: Row, format_name: str) -> tuple[str, ...]:
    kind = "no bound applies" if row.kind == "vacuous" else row.kind
    return (escaped(row.name), cell(number(row.observed, format_name)), ratio(row.severity), kind)


def _cause(first: Verdict | None, facts: Facts) -> Iterator[str]:
    explanation = facts.explanation
    if explanation is None or not explanation.causes:
        why = first.why if first is not None else ""
        yield f"{escaped(f'Explained by this formula: {why}' if why else 'No known cause')}."
        return
    yield f"{escaped(explanation.sentence)}."
    evidence = [line for cause in explanation.causes[:1] for line in cause.evidence]
    if evidence:
        yield "\n".join(f"- {escaped(line)}" for line in evidence)
    if explanation.note:
        yield escaped(explanation.note)


def _others(subject: Subject, facts: Facts) -> Iterator[str]:
    first = subject.first
    rows: list[tuple[str, ...]] = []
    silent: dict[str, list[str]] = {}
    name = format_of(subject.case.spec, first.output) if first is not None else "float32"
    own = f"**{escaped(f'{portable(facts.backend)} {_own_version(facts)}'.strip())}**"
    if first is not None and first.index:
        rows.append((own, cell(number(first.observed, name)), ratio(element_ratio(first)), first.kind))
    for other, result in facts.others.items():
        titled = escaped(f"{other} {facts.other_versions.get(other, '')}".strip())
        row = other_row(other, result, subject)
        if isinstance(row, Row):
            rows.append((titled, *_row(row, name)[1:]))
        elif row.startswith("cannot express it"):
            silent.setdefault(row.partition(": ")[2], []).append(titled)
        else:
            rows.append((titled, "", "", escaped(row)))
    what = f"value of {code(first.output + place(first.index))}" if first is not None and first.index else "value"
    if rows:
        yield table(("implementation", what, "error/bound", ""), rows)
        yield "Each is judged by its own documented conventions (eps, momentum, formats)."
    if silent:
        told = "; ".join(f"{', '.join(names)} ({escaped(reason)})" for reason, names in silent.items())
        yield f"Not comparable, since they cannot express the case: {told}."


def _own_version(facts: Facts) -> str:
    return facts.machine.get(f"backend.{portable(facts.backend)}", "")


def _plausibility(facts: Facts, ladder: Ladder | None) -> Iterator[str]:
    found = facts.plausibility
    yield f"**{found.grade}**{escaped(found.sentence.removeprefix(found.grade))}."
    rows = [(escaped(rule.name), escaped(rule.number), escaped(rule.limits), rule.grade) for rule in found.rules]
    yield table(("number", "here", "rule", ""), rows)
    if ladder is None:
        return
    data = f"normal noise of spread 1 at growing offsets (n = {ladder.n})"
    if math.isfinite(ladder.beyond):
        rule = offset_rule(ladder.beyond)
        yield (
            f"The call fails on more ordinary data too: on {data} the error of y exceeds its bound from a mean of "
            f"{rule.number} standard deviations on ({rule.limits}): **{rule.grade}**."
        )
    else:
        yield f"On {data} the error of y stays within its bound."


def _ladder(ladder: Ladder, image: str) -> Iterator[str]:
    if image:
        yield f"![error of y over the condition number](<{image}>)"
    rows = []
    for curve in ladder.curves:
        slope = f"{curve.slope:.2f}" if math.isfinite(curve.slope) else "-"
        name = f"**{escaped(portable(curve.name))}**" if curve is ladder.curves[0] else escaped(portable(curve.name))
        rows.append((name, slope, f"{curve.error[len(curve.error) // 2]:.3g}", f"{curve.error[-1]:.3g}"))
    kappa = ladder.curves[0].kappa
    middle = f"error/u at κ = {kappa[len(kappa) // 2]:.3g}"
    yield table(("", "slope of error over κ", middle, f"at κ = {kappa[-1]:.3g}"), rows)
    yield (
        f"The error of a stable algorithm grows as κ (slope 1, as the {STABLE} does), that of a one-pass variance as "
        "κ² (slope 2)."
    )


def _machine(facts: Facts) -> Iterator[str]:
    rows = [(escaped(name), cell(version)) for name, version in facts.versions.items()]
    rows += [(escaped(name), cell(facts.machine[name])) for name in MACHINE if name in facts.machine]
    rows += [
        (escaped(name.removeprefix("flag.")), cell(text)) for name, text in facts.machine.items() if "flag." in name
    ]
    yield table(("", ""), rows)


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
