"""A failure as plain text on one screen: the case, what is exact, what was observed, how far off is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from bnfuzz.case import Case, Spec, expected_outputs
from bnfuzz.judge.verdict import Verdict
from bnfuzz.report.columns import columns
from bnfuzz.report.words import inputs_words, noise_note, number, place, ratio, spec_words, zero_note
from bnfuzz.signature import first_failing, signature, titled

HEADER = ("output", "at", "exact", "observed", "bound", "error/bound", "ULPs", "kind")


def failure_text(
    case: Case,
    backend: str,
    verdicts: tuple[Verdict, ...],
    *,
    version: str | None = None,
    headline: str = "",
    where: str = "",
    notes: Mapping[str, str] | None = None,
) -> str:
    """What failed, in full.

    headline  a first line in place of "BACKEND VERSION: what fails"
    notes     further lines by name; empty ones are left out
    """
    lines = [headline or f"{titled(backend, version)}: {summary(verdicts)}", ""]
    lines += [f"  {line}" for line in spec_words(case.spec)]
    lines += [f"    {line}" for line in inputs_words(case)]
    lines.append("")
    bad = [verdict for verdict in verdicts if verdict.is_finding or verdict.kind == "uncertain"]
    lines += _table(case.spec, bad)
    lines += [f"  {line}" for line in _passing(verdicts)]
    first = first_failing(verdicts)
    if first is not None:
        lines += ["", *(f"  {line}" for line in _details(case.spec, first, bad))]
    facts = {**(notes or {}), "signature": signature(case.spec, backend, verdicts) or "", "case": where}
    lines += [f"  {name}: {value}" for name, value in facts.items() if value]
    return "\n".join(lines)


def summary(verdicts: tuple[Verdict, ...]) -> str:
    """`y wrong, dx nonfinite`, or `passes`."""
    return ", ".join(f"{verdict.output} {verdict.kind}" for verdict in verdicts if verdict.is_finding) or "passes"


def _table(spec: Spec, verdicts: list[Verdict]) -> list[str]:
    rows = [_row(spec, verdict) for verdict in verdicts if verdict.index or _has_numbers(verdict)]
    lines = columns([HEADER, *rows], right=range(2, 7), indent="  ") if rows else []
    for verdict in verdicts:
        if not (verdict.index or _has_numbers(verdict)):
            lines.append(f"  {verdict.output}: {verdict.kind}, {verdict.why}".rstrip(", "))
    return lines


def _has_numbers(verdict: Verdict) -> bool:
    return verdict.bound != 0 or verdict.exact != 0 or verdict.observed != 0


def _row(spec: Spec, verdict: Verdict) -> tuple[str, ...]:
    name = format_of(spec, verdict.output)
    zero = bool(zero_note(verdict.exact, verdict.bound, verdict.n))
    return (
        verdict.output,
        place(verdict.index),
        "0" if zero else number(verdict.exact, name),
        number(verdict.observed, name),
        f"{verdict.bound:.3g}",
        ratio(element_ratio(verdict)),
        "-" if zero else f"{verdict.ulps:.3g}",
        verdict.kind,
    )


def element_ratio(verdict: Verdict) -> float:
    """error/bound of the element that the verdict shows; its severity may be another's, of a lesser kind."""
    error = abs(verdict.observed - verdict.exact)
    return error / verdict.bound if math.isfinite(error) and verdict.bound > 0 else verdict.severity


def format_of(spec: Spec, output: str) -> str:
    """The format of an output; float32 where the Spec has none of that name."""
    return _outputs(spec).get(output, ((), "float32"))[1]


def _outputs(spec: Spec) -> dict[str, tuple[tuple[int, ...], str]]:
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for mode in dict.fromkeys(spec.steps):
        found |= expected_outputs(replace(spec, steps=(mode,)))
    return found


def _passing(verdicts: tuple[Verdict, ...]) -> list[str]:
    good = [f"{verdict.output} {ratio(verdict.severity)}" for verdict in verdicts if verdict.kind == "ok"]
    empty = [verdict.output for verdict in verdicts if verdict.kind == "vacuous"]
    lines = [f"within the bound (error/bound): {', '.join(good)}"] if good else []
    return [*lines, f"vacuous, nothing can be said: {', '.join(empty)}"] if empty else lines


def _details(spec: Spec, first: Verdict, bad: list[Verdict]) -> list[str]:
    lines = [f"why: {first.why}"] if first.why else []
    for verdict in bad:
        note = zero_note(verdict.exact, verdict.bound, verdict.n) if verdict.index else ""
        if note:
            lines.append(
                f"{verdict.output}{place(verdict.index)}: {note}; this is {ratio(verdict.severity)} times that"
            )
    if not first.index:
        return lines
    size = math.prod(_outputs(spec).get(first.output, ((), ""))[0])
    lines.append(
        f"{first.output}: {first.failing} of {size} elements {first.kind}; n = {first.n}, κ = {first.kappa:.4g} "
        f"(condition number of that channel), regime {first.regime}"
    )
    noise = noise_note(first.bound, first.n)
    if noise and not zero_note(first.exact, first.bound, first.n):
        lines.append(f"{first.output}{place(first.index)}: {noise}")
    if first.raw_bound != first.bound:
        lines.append(f"bound without the hard limit: {first.raw_bound:.3g}")
    if math.isfinite(first.tolerance):
        lines.append(f"smallest tolerance that would pass all of {first.output}: rtol = atol = {first.tolerance:.3g}")
    else:
        lines.append(f"no tolerance would pass {first.output}")
    return lines
