"""The evidence of a report: why it is not rounding, the cause, what others give, how ordinary the input is."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bnfuzz.judge.verdict import Verdict
from bnfuzz.report.issue.facts import Facts, Row, other_row
from bnfuzz.report.issue.ladder import STABLE, Ladder
from bnfuzz.report.issue.plausibility import offset_rule
from bnfuzz.report.issue.subject import Subject
from bnfuzz.report.markdown import cell, code, escaped, table
from bnfuzz.report.text import element_ratio, format_of
from bnfuzz.report.words import noise_note, number, place, ratio, zero_note
from bnfuzz.signature import portable

MACHINE = ("python", "platform", "libc", "cpu", "cpu_features", "threads", "flush_to_zero")

HARD_LIMIT = (
    "a stable algorithm loses all of its digits to that. What remains is a hard limit, kept by every kernel that "
    "subtracts the mean about which it takes the variance: x̂ is off by no more than min(1, √(n−1)) + |x̂|. The bound is "
    "that limit."
)


def not_rounding_text(subject: Subject, first: Verdict, facts: Facts) -> Iterator[str]:
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
        then = f"a stable algorithm loses about κ·u = {loss:.2g} of a standard deviation." if loss < 1 else HARD_LIMIT
        about_y = first.output in ("y", "dx", "dgamma")
        yield (
            f"The channel of {code(at)} has n = {first.n} values and the condition number κ = √(1 + μ²/(σ² + ε)) = "
            f"{first.kappa:.4g}. The unit roundoff of {compute.name} is u = 2^{exponent} = {unit:.3g}"
            + (f", and {then}" if about_y else ".")
        )
    if math.isfinite(first.bound):
        note = zero_note(first.exact, first.bound, first.n) or noise_note(first.bound, first.n)
        yield f"{escaped(note[:1].upper() + note[1:])}." if note else ""
    if facts.stable:
        name = format_of(subject.case.spec, first.output)
        rows = [_row(row, name, bounded=math.isfinite(first.bound)) for row in facts.stable]
        yield f"Sound algorithms, run in {compute.name} on the same input, give for {code(at)}:"
        yield table(("algorithm", "value", "error/bound", ""), rows)


def _row(row: Row, format_name: str, *, bounded: bool) -> tuple[str, ...]:
    kind = row.kind
    if kind == "vacuous":
        # A bound that is no news, or none at all.
        kind = "ok" if bounded else "no bound applies"
    return (escaped(row.name), cell(number(row.observed, format_name)), ratio(row.severity), kind)


def cause_text(first: Verdict | None, facts: Facts) -> Iterator[str]:
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


def others_text(subject: Subject, facts: Facts) -> Iterator[str]:
    first = subject.first
    rows: list[tuple[str, ...]] = []
    silent: dict[str, list[str]] = {}
    name = format_of(subject.case.spec, first.output) if first is not None else "float32"
    bounded = first is not None and math.isfinite(first.bound)
    own = f"**{escaped(f'{portable(facts.backend)} {_own_version(facts)}'.strip())}**"
    if first is not None and first.index:
        rows.append((own, cell(number(first.observed, name)), ratio(element_ratio(first)), first.kind))
    for other, result in facts.others.items():
        titled = escaped(f"{other} {facts.other_versions.get(other, '')}".strip())
        row = other_row(other, result, subject)
        if isinstance(row, Row):
            rows.append((titled, *_row(row, name, bounded=bounded)[1:]))
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


def plausibility_text(facts: Facts, ladder: Ladder | None) -> Iterator[str]:
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


def ladder_text(ladder: Ladder, image: str) -> Iterator[str]:
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


def machine_text(facts: Facts) -> Iterator[str]:
    rows = [(escaped(name), cell(version)) for name, version in facts.versions.items()]
    rows += [(escaped(name), cell(facts.machine[name])) for name in MACHINE if name in facts.machine]
    rows += [
        (escaped(name.removeprefix("flag.")), cell(text)) for name, text in facts.machine.items() if "flag." in name
    ]
    yield table(("", ""), rows)
