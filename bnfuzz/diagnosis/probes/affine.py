"""Whether y is (x − μ)·r·γ + β, or folded: x·(γr) + (β − μγr).

A constant channel whose mean is exact has x − μ = 0: the direct form gives β to the bit, in every order of its factors.
The folded one gives what two roundings of x·γ·r leave.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from bnfuzz.case import Case, Mode
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.hypotheses import expect, fits, raw
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import CHANNELS, Subject, columns_of, inputs_of

DIRECT = "direct: (x − mean)·r·gamma + beta"
FOLDED = "folded: x·(gamma·r) + (beta − mean·gamma·r)"


def look(subject: Subject, mode: Mode) -> Seen:
    if mode not in subject.conventions.modes:
        raise CannotTell(f"no {mode}")
    random = np.random.default_rng(4)
    spec = subject.spec(mode=mode)
    # Two bits less than the format has: 2c and 3c are exact, so every order of the sum gives the mean exactly.
    top = 2 ** (subject.format.precision - 2)
    constants = random.integers(top // 2, top, CHANNELS).astype(np.float64)
    constants = constants * 2.0 ** (10 - subject.format.precision)
    beta = random.uniform(1.0, 2.0, CHANNELS)
    inputs = inputs_of(
        spec,
        np.broadcast_to(constants, (1, CHANNELS)),
        gamma=random.uniform(0.5, 2.0, CHANNELS),
        beta=beta,
        running_mean=constants,
        running_var=random.uniform(0.5, 2.0, CHANNELS) * 2.0**-10,
    )
    y = subject.output("y", spec, inputs)
    expected = expect(spec, inputs, subject.conventions, "y")
    off = expected.error(y)
    if not np.isfinite(off).all():
        raise CannotTell("constant channels give NaN or infinity")
    count = int(np.count_nonzero(np.any(columns_of(spec, off)[0] > 0, axis=0)))
    evidence = (
        f"constant channels of about {constants[0]:g}: y is not beta in {count} of {CHANNELS}, "
        f"by {np.max(off):.3g} at most"
    )
    case = Case(spec=spec, inputs=inputs)
    if count == 0:
        return Seen(observed=DIRECT, evidence=evidence, case=case)
    folded = expected if mode == "inference" else expect(spec, inputs, subject.conventions, "y", "folded")
    if fits(raw(folded), y):
        return Seen(observed=FOLDED, evidence=evidence, case=case)
    raise CannotTell(evidence)


PROBES = tuple(Probe(name=f"y in {mode}", look=partial(look, mode=mode)) for mode in ("training", "inference"))
