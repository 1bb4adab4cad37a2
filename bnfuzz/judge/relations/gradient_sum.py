"""Σdx = 0 over every group in training: the loss does not change when all values of a group move together.

RMS norm, which takes no mean, has no such limit. Since the exact sum is 0,

    |Σ dx_observed| = |Σ (dx_observed − dx)| ≤ Σ bound(dx)

and the kind, where that fails, is the judge's verdict on dx. The ratio is of interest by itself: the errors that
all elements of a group share (that of γ·r, and that of mean(g·x̂) as long as Σx̂ is near 0) cancel in the sum.
"""

from __future__ import annotations

import math

import numpy as np

from bnfuzz.judge.compare import Judgement
from bnfuzz.judge.relations.relation import nothing
from bnfuzz.judge.verdict import FINDINGS, Kind, Verdict

NAME = "sum of dx"


def check(judgement: Judgement) -> list[Verdict]:
    """One verdict per trial, of its worst group."""
    reference = judgement.reference
    spec = reference.spec
    trials = len(reference.rungs)
    dx = next((output for output in judgement.outputs if output.name == "dx"), None)
    if spec.mode != "training" or spec.operation == "rms_norm" or spec.size == 0:
        return [nothing("training with a mean only")] * trials
    if dx is None or dx.observed is None:
        return [nothing("dx is not offered")] * trials
    exact = reference.outputs["dx"]
    # (K, groups, n), the reduced axes last.
    order = (0, *(1 + axis for axis in spec.kept_axes), *(1 + axis for axis in spec.reduced_axes))
    shape = (trials, -1, spec.n)
    values = np.asarray(dx.observed, np.float64).transpose(order).reshape(shape)
    bounds = (exact.bound + exact.rung_bound).transpose(order).reshape(shape).sum(axis=2)
    judged = np.isfinite(values) & ~exact.undefined.transpose(order).reshape(shape)
    tells = judged.all(axis=2) & np.isfinite(bounds)
    verdicts = []
    for k in range(trials):
        groups = np.flatnonzero(tells[k])
        if not len(groups):
            verdicts.append(nothing("no group with a finite dx"))
            continue
        sums = np.array([math.fsum(values[k, group]) for group in groups])
        size = np.abs(sums)
        ratio = np.divide(size, bounds[k, groups], out=np.where(size > 0, np.inf, 0.0), where=bounds[k, groups] > 0)
        worst = int(np.argmax(ratio))
        kind: Kind = "ok"
        if ratio[worst] > 1:
            kind = dx.kinds[k] if dx.kinds[k] in FINDINGS else "uncertain"
        verdicts.append(
            Verdict(
                output="dx",
                kind=kind,
                severity=float(ratio[worst]),
                information=dx.information[k],
                observed=float(sums[worst]),
                bound=float(bounds[k, groups[worst]]),
                n=spec.n,
                why="sum over one group, exactly 0",
            )
        )
    return verdicts
