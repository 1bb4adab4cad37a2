"""Exact comparison: the same bits, or not. A NaN equals every NaN: IEEE 754 leaves its payload and sign open."""

from __future__ import annotations

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Outputs, Spec
from bnfuzz.judge.compare import spacing
from bnfuzz.judge.relations.relation import Relation, Variant, nothing
from bnfuzz.judge.verdict import Verdict
from bnfuzz.numerics.tracked import Flag


def differing(first: Array, second: Array) -> Flag:
    """Elements whose bits differ; arrays of the same shape and dtype."""
    unsigned = f"u{first.dtype.itemsize}"
    unlike = np.ascontiguousarray(first).view(unsigned) != np.ascontiguousarray(second).view(unsigned)
    if unlike.any():
        with np.errstate(invalid="ignore"):  # widening a signalling NaN
            unlike &= ~(np.isnan(np.asarray(first, np.float64)) & np.isnan(np.asarray(second, np.float64)))
    return unlike.reshape(first.shape)


def compare_bits(relation: Relation, spec: Spec, first: Outputs, second: Outputs, variant: Variant) -> list[Verdict]:
    """One verdict per trial: of the first output, in data-flow order, with an unreached element of other bits.

    Severity is infinite, as the bound is 0; `ulps` says how far apart the two results are.
    """
    assert relation.kind is not None
    others = dict(second.items())
    trials = len(variant.what)
    verdicts: list[Verdict | None] = [None] * trials
    compared = np.zeros(trials, dtype=bool)
    changed: list[list[str]] = [[] for _ in range(trials)]
    for name, before in first.items():
        after = others.get(name)
        if after is None or after.shape != before.shape or after.dtype != before.dtype:
            continue  # missing or of another form: the judge has its own verdict on that
        if before.dtype.name not in formats.FORMATS:
            continue  # and on integers and complex numbers
        counts = np.ones(before.shape, dtype=bool)
        if name in variant.reached:
            mask = variant.reached[name]
            if not _fits(mask.shape, before.shape):
                continue
            counts &= ~mask
        flat = (trials, -1)
        if not before.size:
            continue
        compared |= counts.reshape(flat).any(axis=1)
        unlike = differing(before, after) & counts
        for k in np.flatnonzero(unlike.reshape(flat).any(axis=1)):
            if variant.what[k]:
                changed[k].append(name)
                verdicts[k] = verdicts[k] or _violated(relation, spec, name, before[k], after[k], unlike[k])
    return [
        _told(verdict, variant.what[k], changed[k]) if verdict else _passed(variant.what[k], bool(compared[k]))
        for k, verdict in enumerate(verdicts)
    ]


def _fits(mask: tuple[int, ...], output: tuple[int, ...]) -> bool:
    """Whether a mask of an output's due shape, perhaps with a steps axis of length 1, is one of this output."""
    return len(mask) == len(output) and all(size in (1, due) for size, due in zip(mask, output, strict=True))


def _passed(what: str, compared: bool) -> Verdict:
    if not what or not compared:
        return nothing("nothing to compare")
    return Verdict(output="y", kind="ok", information="informative", why=what)


def _told(verdict: Verdict, what: str, changed: list[str]) -> Verdict:
    also = f" (also {', '.join(changed[1:])})" if len(changed) > 1 else ""
    return Verdict(**{**vars(verdict), "why": f"{what}: {verdict.why}{also}"})


def _violated(relation: Relation, spec: Spec, name: str, before: Array, after: Array, unlike: Flag) -> Verdict:
    with np.errstate(invalid="ignore", over="ignore"):
        wide, other = np.asarray(before, np.float64), np.asarray(after, np.float64)
        distance = np.where(unlike, np.abs(wide - other), -1.0)
    distance = np.where(np.isnan(distance), np.inf, distance)
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), distance.shape))
    value = float(wide[place])
    assert relation.kind is not None
    return Verdict(
        output=name,
        kind=relation.kind,
        severity=np.inf,
        information="informative",
        index=place,
        exact=value,
        observed=float(other[place]),
        failing=int(unlike.sum()),
        n=spec.n,
        ulps=float(distance[place]) / spacing(value, formats.of(before).name),
        why=f"{name} was {value!r} and is {float(other[place])!r}",
    )
