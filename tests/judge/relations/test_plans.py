"""Drawn plans: the readable NumPy backend, in process, violates no relation that holds bit for bit."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings

from bnfuzz.backends.execution import Programs, run_trials
from bnfuzz.backends.numpy_reference import NumpyReference
from bnfuzz.case import Inputs, Outputs, Spec
from bnfuzz.judge.relations import EXACT
from bnfuzz.relating import relate
from bnfuzz.strategies import plans
from bnfuzz.strategies.plan import Plan

from .inprocess import InProcess

BACKEND, PROGRAMS = NumpyReference(), Programs()
TRIALS = 5


def compute(spec: Spec, inputs: Inputs) -> Outputs:
    return Outputs(**run_trials(BACKEND, PROGRAMS, spec, dict(inputs.items())).outputs)


@settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(plans(allow_nonfinite=True))
def test_numpy_is_not_accused(plan: Plan) -> None:
    with np.errstate(all="ignore"):
        inputs = plan.expand(TRIALS)
    related = relate(InProcess(compute, BACKEND.conventions), "numpy", plan.spec, inputs, names=EXACT)
    kinds = {verdict.kind for verdicts in related.values() for verdict in verdicts}
    assert kinds <= {"ok", "vacuous", "unsupported"}, related
