"""One case through several backends in one table: per output the element that is worst, and everyone's value there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bnfuzz.case import OUTPUT_NAMES, Spec
from bnfuzz.evaluation import CALL, Result
from bnfuzz.judge.compare import Judgement, OutputJudgement
from bnfuzz.judge.regime import regimes
from bnfuzz.judge.verdict import KINDS, Verdict, precedence
from bnfuzz.report.columns import columns
from bnfuzz.report.text import format_of
from bnfuzz.report.words import number, place, ratio, zero_note

HEADER = ("output", "at", "backend", "exact", "observed", "error/bound", "largest", "kind")


@dataclass(frozen=True)
class Spot:
    """One element of one output, in one step."""

    output: str
    step: int
    index: tuple[int, ...]


def side_by_side(spec: Spec, results: Mapping[str, Result], marks: Mapping[str, str]) -> list[str]:
    """The table, then what is to be said of exact zeros. `marks`: backend -> a word after its failing kinds.

    error/bound is that of the element shown, `largest` the backend's largest anywhere in the output.
    """
    rows: list[tuple[str, ...]] = [HEADER]
    notes: list[str] = []
    judged = {name: result for name, result in results.items() if result.judged}
    for output in OUTPUT_NAMES:
        spot = worst_spot(judged, output)
        if spot is None:
            continue
        at = place(spot.index) if len(spec.steps) == 1 else f"step {spot.step + 1} {place(spot.index)}"
        first = True
        for name, result in judged.items():
            cells = _cells(spec, result, spot, marks.get(name, ""))
            if cells is not None:
                rows.append((output, at, name, *cells) if first else ("", "", name, *cells))
                first = False
        notes += _zero_notes(spec, judged, spot, at)
    for name, result in results.items():
        rows += [
            (CALL, "", name, "", "", "", "", _kind(verdict, marks.get(name, "")))
            for verdict in result.verdicts(0)
            if verdict.output == CALL and verdict.kind != "unsupported"
        ]
    if len(rows) == 1:
        return []
    return [*columns(rows, right=range(3, 7)), *notes]


def worst_spot(results: Mapping[str, Result], output: str) -> Spot | None:
    """Where the backend that fares worst on this output is worst; None where no backend offers it."""
    best: tuple[tuple[int, float], Spot] | None = None
    for result in results.values():
        for step, judgement in enumerate(result.steps):
            for verdict in judgement.verdicts(0):
                if verdict.output != output:
                    continue
                # What was never compared (a wrong shape) names no element.
                compared = verdict.kind not in ("shape", "dtype")
                rank = (precedence(verdict.kind) if compared else len(KINDS), -verdict.severity)
                if best is None or rank < best[0]:
                    best = (rank, Spot(output, step, verdict.index))
    return best[1] if best else None


def _judged_output(result: Result, spot: Spot) -> tuple[Judgement, OutputJudgement, Verdict] | None:
    step = result.steps[spot.step]
    for judged, verdict in zip(step.outputs, step.verdicts(0), strict=True):
        if judged.name == spot.output:
            return step, judged, verdict
    return None


def _cells(spec: Spec, result: Result, spot: Spot, mark: str) -> tuple[str, ...] | None:
    """exact, observed, error/bound, largest, kind of one backend; None where it does not offer the output."""
    found = _judged_output(result, spot)
    if found is None:
        return None
    step, judged, verdict = found
    kind = _kind(verdict, mark)
    exact = step.reference.outputs[spot.output]
    if judged.observed is None or not exact.value.size:
        return ("", "", "", "", kind)
    at = (0, *spot.index)
    here = float(judged.ratio[at])
    name = format_of(spec, spot.output)
    value = float(exact.value[at])
    zero = zero_note(value, float(exact.bound[at]), spec.n, rung_bound=float(exact.rung_bound[at]))
    return (
        "undefined" if exact.undefined[at] else "0" if zero else number(value, name),
        number(float(judged.observed[at]), name),
        "-" if np.isnan(here) else ratio(here),
        ratio(verdict.severity),
        kind,
    )


def _kind(verdict: Verdict, mark: str) -> str:
    words = verdict.kind if not mark or not verdict.is_finding else f"{verdict.kind} ({mark})"
    return f"{words}: {verdict.why}" if verdict.why and verdict.kind != "ok" else words


def _zero_notes(spec: Spec, results: Mapping[str, Result], spot: Spot, at: str) -> list[str]:
    """The sentence on an exact zero, with the largest bound of the backends for which the value is one.

    They are named where it is not one for all: conventions such as the default eps decide the exact value too.
    """
    bounds: dict[str, float] = {}
    offering = 0
    for backend, result in results.items():
        found = _judged_output(result, spot)
        if found is None or found[1].observed is None or not spec.size:
            continue
        offering += 1
        exact = found[0].reference.outputs[spot.output]
        element = (0, *spot.index)
        value, bound, rung = (float(array[element]) for array in (exact.value, exact.bound, exact.rung_bound))
        if not exact.undefined[element] and zero_note(value, bound, spec.n, rung_bound=rung):
            bounds[backend] = bound
    if not bounds:
        return []
    whom = f" of {', '.join(bounds)}" if len(bounds) < offering else ""
    return [f"{spot.output} {at}{whom}: {zero_note(0.0, max(bounds.values()), spec.n)}"]


def conditions(results: Mapping[str, Result]) -> str:
    """n, κ and the regimes of the channels, from the exact values; empty where no backend was judged."""
    for result in results.values():
        if not result.judged:
            continue
        kappa, found = 1.0, set()
        for step in result.steps:
            kappa = max(kappa, float(np.max(step.reference.channels.kappa, initial=1.0)))
            found |= set(regimes(step.reference).ravel().tolist())
        regime = f", {'regime' if len(found) == 1 else 'regimes'} {', '.join(sorted(found))}" if found else ""
        return f"n = {result.steps[0].reference.spec.n}, κ up to {kappa:.4g}{regime}"
    return ""
