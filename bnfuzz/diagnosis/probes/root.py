"""How accurate 1/√(σ² + ε) is: x = ±a of so few bits that a², between 1 and 4, and a² + ε are exact numbers."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Case
from bnfuzz.diagnosis.probes.eps_place import require_formula
from bnfuzz.diagnosis.probes.hypotheses import expect, ratio
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import CHANNELS, Subject, alternating, inputs_of
from bnfuzz.numerics.roundings import ROOT_ROUNDINGS

TRIALS = 16
ACCURATE = "within the bound"


def look(subject: Subject) -> Seen:
    require_formula(subject)
    bits = (subject.format.precision - 2) // 2
    granule = 2.0**-bits
    spec = subject.spec()
    steps = np.random.default_rng(5).integers(0, 2**bits, (TRIALS, 1, CHANNELS))
    sizes = 1.0 + steps * granule
    inputs = inputs_of(spec, np.concatenate([alternating(size[0])[np.newaxis] for size in sizes]))
    y = subject.output("y", spec, inputs)
    expected = expect(spec, inputs, subject.conventions, "y")
    largest = float(np.max(expected.error(y) / np.abs(expected.value))) / subject.format.unit_roundoff
    judged = ratio(expected, y)
    observed = ACCURATE if judged <= 1 else "beyond the bound"
    evidence = (
        f"{TRIALS * CHANNELS} roots of exact numbers: y is off by {largest:.3g} u at most "
        f"(root and products together), error/bound {judged:.3g}"
    )
    trial = int(np.argmax(np.max(expected.error(y).reshape(TRIALS, -1), axis=1)))
    return Seen(observed=observed, evidence=evidence, case=Case(spec=spec, inputs=inputs.trial(trial)))


PROBES = (
    Probe(
        name=f"1/√(variance + eps), {ROOT_ROUNDINGS:g} u admitted",
        look=look,
        documented=lambda conventions: ACCURATE,
    ),
)
