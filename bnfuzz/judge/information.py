"""How much a check says, counted apart from whether it passed.

`informative`: the bound is below the a-priori range of the output, and the bound of x̂ below 1. `limit only`:
only the hard limit decides. `vacuous`: neither, so that passing means nothing.
"""

from __future__ import annotations

import numpy as np

from bnfuzz.judge.verdict import Information
from bnfuzz.numerics.apriori import ranges
from bnfuzz.numerics.problem import parameter_order
from bnfuzz.numerics.reference import OutputReference, Reference
from bnfuzz.numerics.tracked import Flag
from bnfuzz.numerics.values import Float


def information_of(
    reference: Reference, name: str, exact: OutputReference, apriori: Float, judged: Flag
) -> tuple[Information, ...]:
    """What each trial's check says: that of its most telling element."""
    trials = len(reference.rungs)
    decided = np.ones(exact.bound.shape, dtype=bool)
    if reference.spec.mode == "training" and name in ("y", "dx", "dgamma"):
        decided = _xhat_bound(reference, name) < 1
    telling = judged & (exact.bound < apriori) & decided
    # An output whose a-priori range is 0 (n = 1, a constant channel's variance) is fixed by the mathematics alone.
    telling |= judged & (apriori == 0) & np.isfinite(exact.bound)
    # Twice the range is the furthest that two results within it are apart: a limit beyond that decides nothing.
    limited = judged & (exact.bound < exact.raw_bound) & (exact.bound / 2 < apriori)
    any_telling = np.any(telling.reshape(trials, -1), axis=1)
    any_limited = np.any(limited.reshape(trials, -1), axis=1)
    return tuple(
        "informative" if any_telling[k] else "limit only" if any_limited[k] else "vacuous" for k in range(trials)
    )


def _xhat_bound(reference: Reference, name: str) -> Float:
    bound = reference.channels.xhat_bound
    if name == "dgamma":
        return _shaped(reference, name, np.max(bound, axis=reference.problem.parameter, keepdims=True, initial=0.0))
    if name == "dx":
        worst = np.max(bound, axis=reference.problem.reduced, keepdims=True, initial=0.0)
        return np.broadcast_to(worst, bound.shape)
    return bound


def apriori_ranges(reference: Reference) -> dict[str, Float]:
    if reference.spec.size == 0:
        return {name: np.zeros(output.bound.shape) for name, output in reference.outputs.items()}
    y = reference.outputs["y"].value
    found = ranges(reference.problem, reference.rules, reference.channels.variance, y, reference.spec.mode)
    return {name: _shaped(reference, name, found[name]) for name in reference.outputs}


def _shaped(reference: Reference, name: str, array: Float) -> Float:
    """An array with missing axes as length 1, in the shape of the output."""
    spec = reference.spec
    target = reference.outputs[name].bound.shape
    if name in ("y", "dx"):
        return np.broadcast_to(array, target)
    if name in ("dgamma", "dbeta"):
        sizes = tuple(spec.shape[axis] if axis in spec.affine_axes else 1 for axis in range(spec.rank))
        wide = np.broadcast_to(array, (target[0], *sizes))
        ascending = tuple(spec.shape[axis] for axis in sorted(spec.affine_axes))
        return parameter_order(spec, wide.reshape(target[0], *ascending))
    return array.reshape(target)
