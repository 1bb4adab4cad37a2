"""By what the sum of squared deviations is divided for the variance that normalizes: n, or n − 1.

x = ±a over n values has the squared deviations n·a², so that y = ±a/√(a² + eps), or ±a/√(a²·n/(n − 1) + eps). With a
far above √eps it does not matter where eps enters.
"""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Case
from bnfuzz.diagnosis.probes.hypotheses import expect, predictions, the_one
from bnfuzz.diagnosis.probes.numbers import power
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import ROWS, Subject, alternating, inputs_of

ALL, ONE_LESS = "n", "n − 1"
SIZE = 2.0**6
"""Squared, still a number of every format."""


def look(subject: Subject) -> Seen:
    spec = subject.spec(eps=2.0**-40)
    inputs = inputs_of(spec, alternating(SIZE)[np.newaxis])
    y = subject.output("y", spec, inputs)
    eps = subject.conventions.eps_given(spec)
    alternatives = {
        ALL: expect(spec, inputs, subject.conventions, "y", eps=eps),
        ONE_LESS: expect(spec, inputs, subject.conventions, "y", eps=eps + SIZE * SIZE / (ROWS - 1)),
    }
    evidence = f"x = ±{power(SIZE)}, n = {ROWS}: {predictions(alternatives, y)}"
    return Seen(observed=the_one(alternatives, y), evidence=evidence, case=Case(spec=spec, inputs=inputs))


PROBES = (Probe(name="variance divides by", look=look, documented=lambda conventions: ALL),)
