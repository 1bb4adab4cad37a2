"""Single values and constant channels: x̂ = 0, so y = β and dx is γ·r·(g − mean g).

With one value per channel, training leaves nothing of x: y = β, dγ = 0, dx = 0. In a constant channel y = β too, but a
rounded mean differs from the values, so a sound kernel may miss β by its bound. The kind is the judge's, of these
elements alone; a pass says in how many of them y is β to the bit.
"""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.judge.compare import Judgement, OutputJudgement
from bnfuzz.judge.relations.relation import nothing
from bnfuzz.judge.verdict import FINDINGS, Kind, Verdict, precedence
from bnfuzz.numerics.tracked import Flag

NAME = "single values and constant channels"


def check(judgement: Judgement) -> list[Verdict]:
    """One verdict per trial."""
    reference = judgement.reference
    spec = reference.spec
    trials = len(reference.rungs)
    outputs = {output.name: output for output in judgement.outputs}
    y = outputs.get("y")
    if spec.mode != "training" or spec.size == 0 or y is None or y.observed is None:
        return [nothing("training only")] * trials
    constant = np.broadcast_to(reference.channels.constant, (trials, *spec.shape))
    looked_at = [(y, constant)]
    if spec.n == 1:
        everywhere = [(outputs[name], np.ones(1, dtype=bool)) for name in ("dgamma", "dx") if name in outputs]
        looked_at += [(output, np.broadcast_to(mask, output.ratio.shape)) for output, mask in everywhere]
    return [_verdict(judgement, looked_at, k) for k in range(trials)]


def _verdict(judgement: Judgement, looked_at: list[tuple[OutputJudgement, Flag]], k: int) -> Verdict:
    y, constant = looked_at[0]
    defined = constant[k] & ~np.isnan(y.ratio[k])
    if not defined.any():
        return nothing("no channel is constant")
    worst: tuple[Kind, OutputJudgement, float] = ("ok", y, 0.0)
    for output, mask in looked_at:
        inside = mask[k] & ~np.isnan(output.ratio[k])
        for found in set(output.element_kinds[k][inside].tolist()) & FINDINGS:
            if precedence(found) < precedence(worst[0]):
                worst = (found, output, _largest(output.ratio[k][inside & (output.element_kinds[k] == found)]))
    kind, output, severity = worst
    if kind == "ok":
        severity = _largest(y.ratio[k][defined])
    assert y.observed is not None
    stored = _stored(judgement, y.observed)[k]
    exact = int(np.sum((y.observed[k] == stored) & defined))
    return Verdict(
        output=output.name,
        kind=kind,
        severity=severity,
        information=output.information[k],
        regime="n1" if judgement.reference.spec.n == 1 else "constant",
        n=judgement.reference.spec.n,
        why=f"y is beta to the bit in {exact} of {int(defined.sum())} elements",
    )


def _largest(ratios: Array) -> float:
    return float(np.max(ratios, initial=0.0))


def _stored(judgement: Judgement, like: Array) -> Array:
    """beta in the format of y, everywhere."""
    beta = judgement.reference.problem.beta
    with np.errstate(over="ignore"):
        value = np.zeros(1) if beta is None else beta
        return np.broadcast_to(value.astype(like.dtype), like.shape)
