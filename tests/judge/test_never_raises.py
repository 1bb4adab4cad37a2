"""A disagreement is a verdict: whatever arrays a backend gives, the judge raises nothing."""

from __future__ import annotations

from dataclasses import fields, replace

import ml_dtypes
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.case import OUTPUT_NAMES, Outputs, Spec, batch_norm_spec
from bnfuzz.judge.compare import judge
from bnfuzz.judge.verdict import KINDS, Verdict
from bnfuzz.numerics.reference import reference

from .example import PLAIN, exact_outputs, inputs_of

DTYPES = ["float16", "float32", "float64", "bfloat16", "int8", "int64", "uint8", "bool", "complex64", "complex128"]
SHAPES = [(4, 2), (1, 2), (2, 1), (0, 3), (3, 0), (2, 2, 2), (2,)]
FINDABLE = st.sampled_from(
    ["as due", "noise", "zeros", "nan", "inf", "huge", "tiny", "other dtype", "other shape", "scalar", "none"]
)
WIDE = settings(max_examples=120, derandomize=True, deadline=None)


def dtype_of(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


@st.composite
def specs(draw):
    shape = draw(st.sampled_from(SHAPES))
    name = draw(st.sampled_from(["float32", "float16", "bfloat16", "float64"]))
    statistics = "float64" if name == "float64" else draw(st.sampled_from(["float32", name]))
    axis = 0 if len(shape) == 1 else draw(st.integers(0, len(shape) - 1))
    options = {
        "data_format": name,
        "parameter_format": statistics,
        "statistics_format": statistics,
        "eps": draw(st.sampled_from([0.0, 1e-12, 1e-5, 1.0, float("nan"), -1.0])),
        "has_gamma": draw(st.booleans()),
        "has_beta": draw(st.booleans()),
        "cotangent": draw(st.sampled_from(["explicit", "sum", "mean_square"])),
        "steps": (draw(st.sampled_from(["training", "inference"])),),
    }
    if draw(st.integers(0, 4)) == 0 and len(shape) > 1:
        options |= {"has_running": False, "steps": ("training",)}
        operation = draw(st.sampled_from(["layer_norm", "rms_norm"]))
        last = len(shape) - 1
        return Spec(operation=operation, shape=shape, reduced_axes=(last,), parameter_axes=(last,), **options)
    return batch_norm_spec(shape, axis, **options)


def disturbed(draw, array, rng):
    choice = draw(FINDABLE)
    if choice == "none":
        return None
    if choice == "as due":
        return array
    if choice == "scalar":
        return np.zeros((), dtype=array.dtype)
    if choice == "other shape":
        return np.zeros(draw(st.sampled_from([(0,), (1,), (7,), (1, 1), (3, 4, 2), (2, 0)])), dtype=array.dtype)
    if choice == "other dtype":
        with np.errstate(all="ignore"):
            return np.nan_to_num(array.astype(np.float64)).clip(0, 100).astype(dtype_of(draw(st.sampled_from(DTYPES))))
    values = {
        "noise": rng.standard_normal(array.shape) * 10.0 ** rng.integers(-8, 8),
        "zeros": np.zeros(array.shape),
        "nan": np.full(array.shape, np.nan),
        "inf": np.where(rng.random(array.shape) < 0.5, np.inf, -np.inf),
        "huge": np.full(array.shape, 1e308),
        "tiny": np.full(array.shape, 1e-320),
    }[choice]
    with np.errstate(over="ignore"):
        values = values.astype(array.dtype)
    return np.where(rng.random(array.shape) < draw(st.sampled_from([0.3, 1.0])), values, array).astype(array.dtype)


@WIDE
@given(data=st.data())
def test_arbitrary_outputs_get_verdicts(data):
    spec = data.draw(specs())
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    inputs = inputs_of(spec, seed=int(rng.integers(2**31)), trials=2)
    if data.draw(st.booleans()) and inputs.x.size:
        inputs.x.ravel()[int(rng.integers(inputs.x.size))] = data.draw(st.sampled_from([np.nan, np.inf, 6e4, 0.0]))
    result = reference(spec, inputs, PLAIN)
    right = exact_outputs(result)
    given_outputs = {name: disturbed(data.draw, array, rng) for name, array in right.items()}
    judgement = judge(result, Outputs(**given_outputs))
    present = [name for name in OUTPUT_NAMES if given_outputs.get(name) is not None]
    for trial in range(2):
        verdicts = judgement.verdicts(trial)
        assert [verdict.output for verdict in verdicts] == present
        for verdict in verdicts:
            assert verdict.kind in KINDS
            assert isinstance(verdict, Verdict)
            assert not np.isnan(verdict.severity)
            due = getattr(right, verdict.output)
            seen = given_outputs[verdict.output]
            assert (verdict.kind == "shape") == (seen.shape != due.shape)
            assert (verdict.kind == "dtype") == (seen.shape == due.shape and seen.dtype != due.dtype)
        is_failing = any(verdict.is_finding for verdict in verdicts)
        assert (trial in judgement.failing()) == is_failing
        assert (judgement.headline(trial) is not None) == is_failing


@WIDE
@given(spec=specs(), seed=st.integers(0, 2**32 - 1))
def test_what_is_right_is_never_a_finding(spec, seed):
    """The exact values rounded once: the best that any kernel can do."""
    result = reference(spec, inputs_of(spec, seed=seed), PLAIN)
    for verdict in judge(result, exact_outputs(result)).verdicts(0):
        assert not verdict.is_finding, f"{verdict}\n{spec}"


def test_outputs_that_the_spec_does_not_have_are_ignored():
    spec = batch_norm_spec((4, 2), has_gamma=False, has_running=False)
    result = reference(spec, inputs_of(spec), PLAIN)
    extra = np.zeros((1, 2), dtype=np.float32)
    outputs = replace(exact_outputs(result), dgamma=extra, new_running_mean=extra)
    names = [verdict.output for verdict in judge(result, outputs).verdicts(0)]
    assert "dgamma" not in names
    assert "new_running_mean" not in names
    assert "y" in names
    assert [field.name for field in fields(Outputs)] == list(OUTPUT_NAMES)
