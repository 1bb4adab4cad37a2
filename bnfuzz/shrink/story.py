"""One line of text about a shrinking step."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array, Case

_SHOWN = 4


def step_text(what: str, before: Case, after: Case) -> str:
    """What was tried, and what it changed: the shape, or the values of the arrays that differ."""
    if before.spec.shape != after.spec.shape:
        return f"{what}: shape {before.spec.shape} to {after.spec.shape}"
    if before.spec != after.spec:
        return what
    old = dict(before.inputs.items())
    changed = [
        f"{name} {_values(old[name])} to {_values(array)}"
        for name, array in after.inputs.items()
        if old[name].tobytes() != array.tobytes()
    ]
    return f"{what}: {', '.join(changed)}"


def _values(array: Array) -> str:
    distinct = np.unique(np.asarray(array, dtype=np.float64))
    shown = ", ".join(f"{value:.9g}" for value in distinct[:_SHOWN])
    rest = len(distinct) - _SHOWN
    return f"{{{shown}{f', and {rest} more' if rest > 0 else ''}}}"
