"""Predictions: other sound forms widen an output only where its own steps are the textbook's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.case import Array, Case
from bnfuzz.diagnosis.causes.prediction import predict
from bnfuzz.faults.backend import CONVENTIONS
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.example import drawn_case
from bnfuzz.faults.kernel import Kernel, Pass
from bnfuzz.faults.textbook import CLEAN


def doubled_normalisation(p: Pass) -> Array:
    return p.deviation * p.inverse_deviation * p.scalar(2.0)


def doubled_deviation(p: Pass) -> Array:
    return (p.x - p.statistics[0]) * p.scalar(2.0)


def inference_case() -> Case:
    spec = replace(CATALOGUE["eps_outside"].example.spec(("float32",) * 3), steps=("inference",), has_running=True)
    return drawn_case(spec, "telling", CONVENTIONS, seed=1)


@pytest.mark.parametrize(
    "kernel",
    [replace(CLEAN, normalise=doubled_normalisation), replace(CLEAN, deviation=doubled_deviation)],
    ids=["normalise", "deviation"],
)
def test_in_inference_y_is_held_to_the_steps_that_were_replaced(kernel: Kernel) -> None:
    case = inference_case()
    (deviating,), (sound,) = (predict(one, case.spec, case.inputs, CONVENTIONS) for one in (kernel, CLEAN))
    truth = sound["y"].v
    moved = np.abs(deviating["y"].v - truth) > 1e-3 * np.abs(truth)
    assert moved.any()
    outside = (truth < deviating["y"].lo) | (truth > deviating["y"].hi)
    assert outside[moved].all()


def test_in_inference_y_of_the_textbook_holds_the_folded_form() -> None:
    case = inference_case()
    (sound,) = predict(CLEAN, case.spec, case.inputs, CONVENTIONS)
    folded = replace(CLEAN, affine=CATALOGUE["affine_rewrite"].kernel.affine)
    (other,) = predict(folded, case.spec, case.inputs, CONVENTIONS)
    assert (sound["y"].lo <= other["y"].lo).all()
    assert (sound["y"].hi >= other["y"].hi).all()
