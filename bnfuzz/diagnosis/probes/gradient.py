"""Whether dx flows through the statistics: it does in training, and does not in inference, where they are constants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnfuzz.case import Case
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.hypotheses import expect, predictions, the_one
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, inputs_of

COLUMNS = np.array([[-1.0], [1.0], [3.0], [5.0]])
MEAN, VARIANCE = 2.0, 5.0
COTANGENT = np.array([[1.0], [0.0], [0.0], [2.0]])
"""Its mean is 3/4, and it is correlated with x: neither part of dx is 0."""

THROUGH = "through mean and variance"
MEAN_ONLY = "through the mean only"
CONSTANT = "not through the statistics"


def training(subject: Subject) -> Seen:
    return _look(subject, "training")


def inference(subject: Subject) -> Seen:
    if "inference" not in subject.conventions.modes:
        raise CannotTell("no inference")
    return _look(subject, "inference")


def _look(subject: Subject, mode: str) -> Seen:
    learning = subject.spec()
    steady = replace(learning, steps=("inference",), has_running=True)
    spec = learning if mode == "training" else steady
    inputs = inputs_of(spec, COLUMNS, running_mean=MEAN, running_var=VARIANCE, cotangent=COTANGENT)
    centred = inputs_of(
        steady, COLUMNS, running_mean=MEAN, running_var=VARIANCE, cotangent=COTANGENT - COTANGENT.mean()
    )
    dx = subject.output("dx", spec, inputs)
    alternatives = {
        THROUGH: expect(learning, inputs, subject.conventions, "dx"),
        MEAN_ONLY: expect(steady, centred, subject.conventions, "dx"),
        CONSTANT: expect(steady, inputs, subject.conventions, "dx"),
    }
    evidence = f"x = −1, 1, 3, 5, cotangent 1, 0, 0, 2: dx {predictions(alternatives, dx)}"
    return Seen(observed=the_one(alternatives, dx), evidence=evidence, case=Case(spec=spec, inputs=inputs))


def in_inference(conventions: Conventions) -> str:
    return CONSTANT if "inference" in conventions.modes else ""


PROBES = (
    Probe(name="dx in training flows", look=training, documented=lambda conventions: THROUGH),
    Probe(name="dx in inference flows", look=inference, documented=in_inference),
)
