"""A quick look at the outputs of K trials: which of them the judge must see.

It tells only what is certain: an element within its bound, or one beyond it where a sound kernel may overflow on
the way (`range`), needs no judge. All other elements make their trial a suspect, which the judge then decides on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bnfuzz import formats
from bnfuzz.case import Array, Outputs, expected_outputs
from bnfuzz.numerics.reference import OutputReference, Reference
from bnfuzz.numerics.tracked import Flag


def suspects(reference: Reference, outputs: Outputs) -> Flag:
    """Per trial: whether some element of some output neither passes nor can be anything but `range`."""
    found = np.zeros(len(reference.rungs), dtype=bool)
    for name, array in outputs.items():
        if name in reference.outputs:
            found |= suspects_of(reference, name, array)[0]
    return found


def suspects_of(reference: Reference, name: str, observed: Array) -> tuple[Flag, NDArray[np.float64]]:
    """(suspects, largest error/bound of what passes) of one output, per trial."""
    exact = reference.outputs[name]
    shape, format_name = expected_outputs(reference.spec)[name]
    trials = len(reference.rungs)
    if observed.shape != (trials, *shape) or observed.dtype != formats.named(format_name).dtype:
        return np.ones(trials, dtype=bool), np.zeros(trials)
    error = exact.error(observed)
    passed = error + exact.rung_bound <= exact.bound  # False where the error is NaN
    settled = passed | exact.undefined
    ratio = np.zeros(error.shape)
    compared = passed & (exact.bound > 0) & np.isfinite(exact.bound) & ~exact.undefined
    np.divide(error, exact.bound, out=ratio, where=compared)
    if not settled.all():
        settled |= _overflowed(exact, observed, formats.named(format_name).largest)
        with np.errstate(invalid="ignore"):
            raw = exact.raw_bound + exact.rung_bound
            beyond = ~np.isfinite(observed.astype(np.float64)) | (error > raw)
            settled |= beyond & (exact.flag | (error <= raw + exact.lost))
    left: Flag = ~np.all(settled.reshape(trials, -1), axis=1)
    return left, ratio.reshape(trials, -1).max(axis=1, initial=0.0)


def _overflowed(exact: OutputReference, observed: Array, largest: float) -> Flag:
    """Infinite where the exact stored result may be, and with its sign."""
    values = observed.astype(np.float64)
    reaches: Flag = np.isinf(values) & (np.abs(exact.value) + exact.bound >= largest)
    return reaches & (np.sign(values) == np.sign(exact.value))
