"""Whether gamma is used: MXNet's fix_gamma takes it as 1, gives it no gradient, and writes 1 into its array."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array, Case, Inputs, Spec
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.hypotheses import expect, predictions, the_one
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, alternating, inputs_of, offered, refusal

USED = "used and learned"
FIXED = "taken as 1, its gradient is 0"
COTANGENT = np.array([[1.0], [0.0], [0.0], [0.0]])


def look(subject: Subject) -> Seen:
    spec = subject.spec()
    inputs = inputs_of(spec, alternating(1.0), gamma=2.0, cotangent=COTANGENT)
    reply = subject.run(spec, inputs)
    if reply.outputs is None:
        raise CannotTell(f"the call ends in {refusal(reply)}")
    y = offered(reply.outputs, "y")
    names = {USED: False, FIXED: True}
    alternatives = {
        name: expect(spec, inputs, subject.conventions, "y", fix_gamma=fixed) for name, fixed in names.items()
    }
    by_y = the_one(alternatives, y)
    words = [f"gamma = 2, x = ±1: y {predictions(alternatives, y)}"]
    if reply.outputs.dgamma is not None:
        by_gradient = _gradient(subject, spec, inputs, reply.outputs.dgamma, words)
        if by_gradient != by_y:
            observed = "used, its gradient is 0" if by_y == USED else "taken as 1, and learned"
            return Seen(observed=observed, evidence="; ".join(words), case=Case(spec=spec, inputs=inputs))
    overwritten = subject.observe(spec, inputs).get("gamma@forward")
    if overwritten is not None:
        words.append(f"its array holds {float(overwritten.flat[0]):g} after forward")
    elif "gamma" in reply.mutated:
        words.append("its array is changed")
    return Seen(observed=by_y, evidence="; ".join(words), case=Case(spec=spec, inputs=inputs))


def _gradient(subject: Subject, spec: Spec, inputs: Inputs, dgamma: Array, words: list[str]) -> str:
    alternatives = {
        name: expect(spec, inputs, subject.conventions, "dgamma", fix_gamma=fixed)
        for name, fixed in ((USED, False), (FIXED, True))
    }
    words.append(f"dgamma {predictions(alternatives, dgamma)}")
    return the_one(alternatives, dgamma)


PROBES = (
    Probe(
        name="gamma is",
        look=look,
        documented=lambda conventions: FIXED if conventions.fix_gamma else USED,
    ),
)
