"""Comparison within bounds: two results whose exact values are related exactly.

Each result that passes is within its bound of its exact value, and these agree once brought into the same terms, so

    |a − b| ≤ bound_a + bound_b

holds whenever both pass. A violation therefore names no fault that the judge does not see in one of the two: the
verdict takes its kind from there, `uncertain` where it sees none (a fault of ours, then). What these relations add
is the note on bits that differ, which is no finding.
"""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.judge.compare import Judgement, OutputJudgement
from bnfuzz.judge.relations.bits import differing
from bnfuzz.judge.relations.relation import Variant, nothing
from bnfuzz.judge.verdict import FINDINGS, Kind, Verdict, precedence
from bnfuzz.numerics.reference import OutputReference
from bnfuzz.numerics.values import Float


def compare_within(first: Judgement, second: Judgement, variant: Variant) -> list[Verdict]:
    """One verdict per trial: of the output that is furthest beyond both bounds, or `ok` with the largest ratio."""
    others = {output.name: output for output in second.outputs}
    trials = len(variant.what)
    worst: list[Verdict | None] = [None] * trials
    unlike = np.zeros(trials, dtype=int)
    for output in first.outputs:
        other = others.get(output.name)
        if other is None or output.observed is None or other.observed is None or not output.observed.size:
            continue
        b = variant.back(output.name, other.observed)
        with np.errstate(over="ignore", invalid="ignore"):
            given = np.asarray(b).astype(output.observed.dtype)
        unlike += differing(output.observed, given).reshape(trials, -1).sum(axis=1)
        exact_a, exact_b = first.reference.outputs[output.name], second.reference.outputs[output.name]
        ratio, bound = _ratio(output.name, exact_a, exact_b, output.observed, b, variant)
        # A result that rightly overflows in one block alone is no violation.
        failing = (output.element_kinds != "ok") | variant.back(output.name, other.element_kinds != "ok").astype(bool)
        ratio[~failing & np.isinf(ratio)] = 0.0
        for k in range(trials):
            if not variant.what[k]:
                continue
            verdict = _verdict(first, output, other, k, ratio[k], bound[k], given[k])
            known = worst[k]
            if known is None or verdict.severity > known.severity:
                worst[k] = verdict
    return [_told(verdict, variant.what[k], int(unlike[k])) for k, verdict in enumerate(worst)]


def _ratio(
    name: str, a: OutputReference, b: OutputReference, first: Array, second: Array, variant: Variant
) -> tuple[Float, Float]:
    """(|first − second| over both bounds together, those bounds); 0 where either is undefined."""
    bound = a.bound + a.rung_bound + variant.back(name, b.bound) + variant.back(name, b.rung_bound)
    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    with np.errstate(all="ignore"):
        distance = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two))
        ratio = np.where(distance == 0, 0.0, distance / bound)
    # A NaN against a number is beyond every bound; nothing finite is beyond an infinite one.
    ratio = np.where(np.isnan(ratio), np.where(np.isfinite(distance), 0.0, np.inf), ratio)
    undefined = a.undefined | variant.back(name, b.undefined).astype(bool)
    return np.where(undefined, 0.0, ratio), bound


def _verdict(
    first: Judgement, output: OutputJudgement, other: OutputJudgement, k: int, ratio: Float, bound: Float, given: Array
) -> Verdict:
    assert output.observed is not None
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
    kind: Kind = "ok"
    if ratio[place] > 1:
        seen = [one for one in (output.kinds[k], other.kinds[k]) if one in FINDINGS]
        kind = min(seen, key=precedence) if seen else "uncertain"
    return Verdict(
        output=output.name,
        kind=kind,
        severity=float(ratio[place]),
        information=output.information[k],
        index=place,
        exact=float(output.observed[k][place]),
        observed=float(given[place]),
        bound=float(bound[place]),
        raw_bound=float(bound[place]),
        failing=int(np.sum(ratio > 1)),
        n=first.reference.spec.n,
    )


def _told(verdict: Verdict | None, what: str, unlike: int) -> Verdict:
    if verdict is None:
        return nothing("nothing to compare")
    bits = "same bits" if not unlike else f"other bits in {unlike} elements of all outputs"
    return Verdict(**{**vars(verdict), "why": f"{what}: {bits}"})
