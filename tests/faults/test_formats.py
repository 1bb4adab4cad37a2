"""Arithmetic really happens in the compute format, and faults of formats in the format that they name."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from bnfuzz.case import Inputs, batch_norm_spec
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.example import Example
from bnfuzz.faults.kernel import Pass
from bnfuzz.faults.run import run_trial
from bnfuzz.faults.textbook import CLEAN

NARROW = replace(CONVENTIONS, compute=())
DTYPES = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
}
INTERMEDIATES = ("eps", "x", "gamma", "beta", "mean", "variance", "deviation", "inverse_deviation", "xhat", "y", "g")
GRADIENTS = ("h", "scale", "sum_h", "sum_hx", "mean_h", "mean_hx", "dbeta", "dgamma", "dx")


@pytest.mark.parametrize("name", DTYPES)
def test_every_intermediate_is_in_the_compute_format(name):
    seen = {}

    def watched(p: Pass):
        for attribute in INTERMEDIATES + GRADIENTS:
            seen[attribute] = getattr(p, attribute).dtype
        for attribute in ("buffers", "statistics", "weights"):
            seen.update({f"{attribute}{i}": part.dtype for i, part in enumerate(getattr(p, attribute))})
        return 1

    # 259 values: a count that bfloat16 does not hold.
    case = Example(shape=(259, 2)).case(NARROW, (name,) * 3)
    run(replace(CLEAN, updates=watched), case.spec, case.inputs, NARROW)
    assert set(seen.values()) == {DTYPES[name]}


def long_trial(values: np.ndarray) -> tuple:
    spec = batch_norm_spec(values.shape, data_format=values.dtype.name, eps=1e-3, has_running=False)
    ones, zeros = np.ones(1, np.float32), np.zeros(1, np.float32)
    return spec, {"x": values, "gamma": ones, "beta": zeros, "cotangent": values}


@pytest.mark.parametrize(("name", "saturation"), [("float16", 2048), ("bfloat16", 256)])
def test_sums_in_half_saturate(name, saturation):
    spec, arrays = long_trial(np.ones((5000, 1), DTYPES[name]))
    clean = run_trial(CLEAN, spec, arrays, CONVENTIONS)
    faulty = run_trial(CATALOGUE["accumulate_in_half"].kernel, spec, arrays, CONVENTIONS)
    assert clean["batch_mean"] == 1
    assert faulty["batch_mean"] == np.float32(saturation / 5000)


def test_squares_in_float16_are_infinite_from_256_on():
    fault = CATALOGUE["square_overflow"]
    for largest, finite in ((255.0, True), (257.0, False)):
        spec, arrays = long_trial(np.array([[-largest], [largest]], np.float16))
        assert np.isfinite(run_trial(fault.kernel, spec, arrays, CONVENTIONS)["batch_var"]).all() == finite
        assert np.isfinite(run_trial(CLEAN, spec, arrays, CONVENTIONS)["batch_var"]).all()


def test_a_small_eps_is_lost_in_float16():
    spec, arrays = long_trial(np.ones((4, 1), np.float16))
    spec = replace(spec, eps=1e-8)
    assert np.isfinite(run_trial(CLEAN, spec, arrays, CONVENTIONS)["y"]).all()
    assert np.isnan(run_trial(CATALOGUE["eps_in_half"].kernel, spec, arrays, CONVENTIONS)["y"]).all()


def test_an_average_kept_in_bfloat16_stands_still():
    spec = batch_norm_spec((4, 1), momentum=0.001)
    inputs = Inputs(
        x=np.array([[[1.0], [2.0], [1.5], [1.7]]], np.float32),
        gamma=np.ones((1, 1), np.float32),
        beta=np.zeros((1, 1), np.float32),
        running_mean=np.ones((1, 1), np.float32),
        running_var=np.ones((1, 1), np.float32),
        cotangent=np.ones((1, 4, 1), np.float32),
    )
    assert run(CLEAN, spec, inputs).new_running_mean > 1
    assert run(CATALOGUE["ema_in_half"].kernel, spec, inputs).new_running_mean == 1


def test_one_pass_variance_loses_kappa_squared():
    """Relative error of the variance over a ladder of offsets: exponent 2 in kappa, against at most 1 of two passes."""
    rng = np.random.default_rng(0)
    spread = rng.standard_normal((64, 32))
    errors: dict[str, list[float]] = {"onepass": [], "clean": []}
    for kappa in (2.0**5, 2.0**9):
        x = (kappa + spread).astype(np.float32)
        spec = batch_norm_spec(x.shape, has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
        exact = x.astype(np.float64).var(axis=0)
        for name, kernel in (("onepass", CATALOGUE["onepass"].kernel), ("clean", CLEAN)):
            variance = run_trial(kernel, spec, {"x": x}, CONVENTIONS)["batch_var"]
            errors[name].append(float(np.median(np.abs(variance / exact - 1))))
    exponent = {name: np.log2(high / low) / 4 for name, (low, high) in errors.items()}
    assert 1.6 < exponent["onepass"] < 2.4
    assert exponent["clean"] < 1.2
