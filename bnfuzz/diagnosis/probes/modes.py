"""Which modes are offered: inference normalises by the running statistics."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Case
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.hypotheses import expect, predictions, the_one
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, inputs_of, refusal

BY_RUNNING, BY_BATCH = "the running statistics", "the batch's"
BOTH, TRAINING = "training, inference", "training"


def look(subject: Subject) -> Seen:
    spec = subject.spec(mode="inference")
    columns = np.array([[0.0], [1.0], [2.0], [5.0]])
    inputs = inputs_of(spec, columns, running_mean=1.0, running_var=4.0)
    training = subject.spec()
    alternatives = {
        BY_RUNNING: expect(spec, inputs, subject.conventions, "y"),
        BY_BATCH: expect(training, inputs, subject.conventions, "y"),
    }
    reply = subject.run(spec, inputs)
    case = Case(spec=spec, inputs=inputs)
    if reply.outputs is None or reply.outputs.y is None:
        return Seen(observed=TRAINING, evidence=f"inference ends in {refusal(reply)}", case=case)
    found = the_one(alternatives, reply.outputs.y)
    observed = BOTH if found == BY_RUNNING else TRAINING
    evidence = f"asked for inference, it normalises by {found}: y {predictions(alternatives, reply.outputs.y)}"
    return Seen(observed=observed, evidence=evidence, case=case)


def documented(conventions: Conventions) -> str:
    return BOTH if "inference" in conventions.modes else TRAINING


PROBES = (Probe(name="modes", look=look, documented=documented),)
