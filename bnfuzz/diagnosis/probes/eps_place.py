"""Where eps enters the root.

x = ±a has the variance a² exactly, so any place of ε acts like another ε' inside the root: √(a² + ε') is what the
data is divided by. Two sizes a tell the places apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from bnfuzz.case import Case
from bnfuzz.diagnosis.probes.hypotheses import expect, joined, predictions, the_one
from bnfuzz.diagnosis.probes.numbers import power
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, alternating, inputs_of

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
    }
)
"""Place -> ε' of (a, ε)."""


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
    }
    observed = the_one(alternatives, y)
    shown = {place: alternatives[place] for place in dict.fromkeys((observed, INSIDE, "added to the root"))}
    evidence = f"x = ±{power(sizes[0])} and ±{power(sizes[1])}, eps = {eps:g}: {predictions(shown, y)}"
    return Seen(observed=observed, evidence=evidence, case=Case(spec=spec, inputs=inputs.trial(1)))


PROBES = (Probe(name="place of eps", look=look, documented=lambda conventions: INSIDE),)
