"""The regime: what sort of channel, from exact values, or of call a finding needs. Part of its signature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bnfuzz.case import Spec
from bnfuzz.judge.verdict import Regime
from bnfuzz.numerics.reference import Reference

OFFSET_KAPPA = 16.0
"""From this condition number on a channel counts as offset: a label, no tolerance."""

Index = tuple[int, ...]


def group_index(reference: Reference, output: str, trial: int, element: Index) -> Index:
    """Position in `reference.channels` of the statistic group behind one element of an output."""
    spec = reference.spec
    if output in ("y", "dx"):
        at = {axis: element[axis] for axis in spec.kept_axes}
    elif output in ("dgamma", "dbeta"):
        at = {axis: element[place] for place, axis in enumerate(spec.affine_axes) if axis in spec.kept_axes}
    else:
        at = dict(zip(spec.kept_axes, element, strict=True))
    kappa = reference.channels.kappa
    # A parameter shared by several groups is blamed on the worst conditioned of them.
    free = [axis for axis in spec.kept_axes if axis not in at]
    if free:
        pick = tuple(at.get(axis, slice(None) if axis in free else 0) for axis in range(spec.rank))
        worst = np.unravel_index(int(np.argmax(kappa[(trial, *pick)])), [spec.shape[axis] for axis in free])
        at |= {axis: int(place) for axis, place in zip(free, worst, strict=True)}
    return (trial, *(at.get(axis, 0) for axis in range(spec.rank)))


def regime(reference: Reference, group: Index) -> Regime:
    """`empty`, `n1`, `constant`, `offset` (κ ≥ 16), `eps-dominated` (σ² < ε) or `plain`, in this order."""
    channels = reference.channels
    if reference.spec.size == 0:
        return "empty"
    if reference.spec.mode == "training":
        if reference.spec.n == 1:
            return "n1"
        if channels.constant[group]:
            return "constant"
    if channels.kappa[group] >= OFFSET_KAPPA:
        return "offset"
    if channels.variance[group] < reference.rules.eps:
        return "eps-dominated"
    return "plain"


def regime_of_call(spec: Spec) -> Regime:
    """For a call that failed as a whole: `empty` (an array without elements), `n1`, or `plain`."""
    if spec.size == 0:
        return "empty"
    return "n1" if spec.n == 1 and "training" in spec.steps else "plain"


def regimes(reference: Reference) -> NDArray[np.object_]:
    """The regime of every group, as an object array of the shape of `reference.channels.kappa`."""
    found = np.empty(reference.channels.kappa.shape, dtype=object)
    for group in np.ndindex(found.shape):
        found[group] = regime(reference, group)
    return found
