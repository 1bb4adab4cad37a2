"""Where eps enters the root.

x = ±a has the variance a² exactly, so any place of ε acts like another ε' inside the root: √(a² + ε') is what the
data is divided by. Two sizes a tell the places apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from bnfuzz.case import Array, Case
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.hypotheses import Alternatives, expect, joined, predictions, standing, the_one
from bnfuzz.diagnosis.probes.numbers import power
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, alternating, inputs_of
from bnfuzz.judge.unstable import REPRODUCES

INSIDE = "inside the root"

PLACES: Mapping[str, Callable[[float, float], float]] = MappingProxyType(
    {
        INSIDE: lambda a, eps: eps,
        "added to the root": lambda a, eps: 2 * a * eps + eps * eps,
        "inside the root and added to it": lambda a, eps: (math.sqrt(a * a + eps) + eps) ** 2 - a * a,
        "squared, inside the root": lambda a, eps: eps * eps,
        "a lower limit of the variance": lambda a, eps: max(eps - a * a, 0.0),
        "a lower limit of the root": lambda a, eps: max(eps * eps - a * a, 0.0),
        "nowhere": lambda a, eps: 0.0,
        "ignored for 1e-5": lambda a, eps: 1e-5,
        "ignored for 1e-3": lambda a, eps: 1e-3,
    }
)
"""Place -> ε' of (a, ε)."""

ELSEWHERE = "none of the known places"


def look(subject: Subject) -> Seen:
    spec = subject.spec(eps=2.0**-4)
    eps = subject.conventions.eps_given(spec)
    root = 2.0 ** round(math.log2(eps) / 2)
    sizes = (root / 2, root / 8)
    inputs = inputs_of(spec, np.stack([alternating(size) for size in sizes]))
    y = subject.output("y", spec, inputs)
    alternatives = {
        place: joined(
            [
                expect(spec, inputs.trial(k), subject.conventions, "y", eps=inside(size, eps))
                for k, size in enumerate(sizes)
            ]
        )
        for place, inside in PLACES.items()
        if spec.eps is not None or not place.startswith("ignored")
    }
    # Nothing but the formula itself is at work here: where no place fits, it is the formula that is not kept, or its
    # root is inaccurate.
    observed = the_one(alternatives, y) if standing(alternatives, y) else nearest(alternatives, y)
    shown = {
        place: alternatives[place]
        for place in dict.fromkeys((observed, INSIDE, "added to the root"))
        if place in alternatives
    }
    evidence = f"x = ±{power(sizes[0])} and ±{power(sizes[1])}, eps = {eps:g}: {predictions(shown, y)}"
    return Seen(observed=observed, evidence=evidence, case=Case(spec=spec, inputs=inputs.trial(1)))


def nearest(alternatives: Alternatives, y: Array) -> str:
    """The place that y is REPRODUCES times closer to than to any other, if beyond its bounds; else ELSEWHERE."""
    distances = {place: float(np.max(expected.error(y))) for place, expected in alternatives.items()}
    first, second, *_ = sorted(distances, key=lambda place: distances[place])
    return first if REPRODUCES * distances[first] <= distances[second] else ELSEWHERE


def require_formula(subject: Subject) -> None:
    """CannotTell where y is not x̂ of the formula at all: whatever else is read off y would be read wrongly."""
    place = subject.known("place of eps", lambda: look(subject).observed)
    if place != INSIDE:
        raise CannotTell(f"y is not (x − mean)/√(variance + eps) to begin with (eps is {place})")


PROBES = (Probe(name="place of eps", look=look, documented=lambda conventions: INSIDE),)
