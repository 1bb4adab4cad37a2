"""Alternatives and which of them an observed output leaves standing.

Each alternative is a reference of its own, with its own bounds: under other conventions, another eps, another mode.
An alternative stands where every element is within its bound. One alone standing is an answer; none or several are
not, whatever is nearest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bnfuzz.case import Array, Inputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.numerics.reference import OutputReference, evaluate
from bnfuzz.numerics.rules import rules_of

Expected = OutputReference
Alternatives = Mapping[str, Expected]


def expect(
    spec: Spec, inputs: Inputs, conventions: Conventions, output: str, /, variant: Any = "sound", **rules: Any
) -> Expected:
    """One output under the conventions, with some of the Rules replaced."""
    stated = replace(rules_of(spec, conventions), **rules)
    return evaluate(spec, inputs, stated, variant=variant).outputs[output]


def joined(parts: list[Expected]) -> Expected:
    """Trials of several references one after the other."""
    return OutputReference(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])})


def raw(expected: Expected) -> Expected:
    """The same alternative by its bounds without the hard limits: unstable formulas know none."""
    return replace(expected, bound=expected.raw_bound)


def ratio(expected: Expected, observed: Array) -> float:
    """Largest error/bound over the defined elements; infinite where one is not finite, or has another shape."""
    if observed.shape != expected.bound.shape:
        return float("inf")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = expected.error(observed)
        excess = np.maximum(error - expected.rung_bound, 0.0)
        each = np.where(excess == 0, 0.0, excess / expected.bound)
    each = np.where(np.isnan(each), np.inf, each)
    return float(np.max(np.where(expected.undefined, 0.0, each), initial=0.0))


def fits(expected: Expected, observed: Array) -> bool:
    return ratio(expected, observed) <= 1.0


def standing(alternatives: Alternatives, observed: Array) -> tuple[str, ...]:
    """Names of those that the observed output is within the bounds of."""
    return tuple(name for name, expected in alternatives.items() if fits(expected, observed))


def the_one(alternatives: Alternatives, observed: Array) -> str:
    """The only alternative that stands; CannotTell where none does, or several."""
    found = standing(alternatives, observed)
    if len(found) == 1:
        return found[0]
    if found:
        raise CannotTell(f"{' and '.join(found)} predict the same here, within their bounds")
    raise CannotTell(f"none of these fits: {predictions(alternatives, observed)}")


def predictions(alternatives: Alternatives, observed: Array) -> str:
    """The element that tells them apart best, as seen and as each of them predicts it."""
    shape = np.shape(observed)
    names = [name for name, expected in alternatives.items() if expected.value.shape == shape]
    if not names or not np.size(observed):
        return f"observed shape {shape[1:]}; {', '.join(alternatives)}"
    values = np.stack([alternatives[name].value for name in names])
    bounds = np.stack([alternatives[name].bound for name in names])
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (np.max(values, axis=0) - np.min(values, axis=0)) / np.max(bounds, axis=0)
    place = np.unravel_index(int(np.argmax(np.nan_to_num(spread, nan=0.0, posinf=np.finfo(float).max))), shape)
    seen = float(np.asarray(observed, dtype=np.float64)[place])
    told = ", ".join(f"{name} predicts {float(alternatives[name].value[place]):.9g}" for name in names)
    return f"observed {seen:.9g}; {told}"
