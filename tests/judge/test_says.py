"""What a verdict tells beside its kind: information, severity, regime, units in the last place, tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.case import Spec, batch_norm_spec
from bnfuzz.judge.compare import judge, spacing
from bnfuzz.judge.regime import OFFSET_KAPPA, regimes
from bnfuzz.numerics.reference import reference

from .example import PLAIN, case, changed, exact_outputs, inputs_of, verdict

F32 = np.float32
NARROW = replace(PLAIN, compute=())


def pure(format_name):
    return dict.fromkeys(("data_format", "parameter_format", "statistics_format"), format_name)


def test_ordinary_data_is_informative():
    for format_name in ("float32", "float16", "bfloat16"):
        result, outputs = case((8, 2), data_format=format_name)
        for found in judge(result, outputs).verdicts(0):
            assert found.information == "informative", found


def test_a_constant_channel_is_decided_by_the_limit():
    """x̂ is 0 to within 1 of √3: nothing but the limit says so."""
    result, outputs = case((4, 1), given={"x": [1e6] * 4, "gamma": [1.0], "beta": [0.0]})
    found = verdict(result, outputs, "y")
    assert (found.kind, found.information) == ("ok", "limit only")
    assert found.raw_bound > 10 * found.bound


def test_pure_bfloat16_of_many_values_is_decided_by_the_limit():
    spec = batch_norm_spec((256, 1), **pure("bfloat16"))
    result = reference(spec, inputs_of(spec), NARROW)
    assert verdict(result, exact_outputs(result), "y").information == "limit only"


def test_a_bound_that_says_nothing_is_vacuous():
    """The limit of x̂ bounds dx too, but on two equal values beyond all that dx can be: |dx| ≤ |γ|·r·‖g‖₂."""
    result, outputs = case((2, 1), NARROW, given={"x": [1000.0] * 2, "gamma": [1.0]}, **pure("float16"))
    found = verdict(result, outputs, "dx")
    norm = np.sqrt((result.inputs.cotangent.astype(float) ** 2).sum())
    assert result.outputs["dx"].bound.min() > 2 * norm / np.sqrt(1e-5)
    assert (found.kind, found.information) == ("vacuous", "vacuous")


def test_severity_is_the_largest_ratio():
    result, outputs = case((4, 3))
    exact = result.outputs["y"]
    for factor in (0.5, 2.0, 100.0):
        moved = outputs.y.copy()
        moved[0, 2, 1] = exact.value[0, 2, 1] + factor * exact.bound[0, 2, 1]
        found = verdict(result, replace(outputs, y=moved), "y")
        expected = exact.error(moved)[0, 2, 1] / exact.bound[0, 2, 1]
        assert expected == pytest.approx(factor, rel=0.5)
        assert (found.index, found.severity) == ((2, 1), pytest.approx(expected))
        assert found.kind == ("ok" if factor < 1 else found.kind)
        assert (found.kind == "ok") == (factor < 1)


@pytest.mark.parametrize(
    ("shape", "given_x", "eps", "expected"),
    [
        ((1, 1), [3.0], 1e-5, "n1"),
        ((3, 1), [7.0] * 3, 1e-5, "constant"),
        ((3, 1), [100.0, 101.0, 102.0], 1e-5, "offset"),
        ((3, 1), [1e-4, -1e-4, 0.0], 1e-5, "eps-dominated"),
        ((3, 1), [1.0, -1.0, 0.5], 1e-5, "plain"),
    ],
)
def test_regimes(shape, given_x, eps, expected):
    result, outputs = case(shape, eps=eps, given={"x": given_x})
    assert regimes(result).ravel().tolist() == [expected]
    found = verdict(result, changed(outputs, "dbeta", ..., 1e4), "dbeta")
    assert (found.kind, found.regime) == ("wrong", expected)


def test_the_regime_is_that_of_the_worst_elements_channel():
    x = np.stack([np.array([100.0, 101.0, 102.0]), np.array([1.0, -1.0, 0.5])], axis=1)
    result, outputs = case((3, 2), given={"x": x})
    assert verdict(result, changed(outputs, "y", (0, 0, 0), 50.0), "y").regime == "offset"
    assert verdict(result, changed(outputs, "y", (0, 0, 1), 50.0), "y").regime == "plain"
    worst = verdict(result, changed(outputs, "y", (0, 0, 0), 50.0), "y")
    assert worst.kappa == pytest.approx(np.sqrt(1 + 101**2 / (2 / 3 + 1e-5)), rel=1e-6)
    assert worst.kappa > OFFSET_KAPPA
    assert worst.n == 3


def test_a_shared_parameter_is_blamed_on_its_worst_group():
    spec = Spec(operation="layer_norm", shape=(2, 3), reduced_axes=(1,), parameter_axes=(1,), has_running=False)
    x = np.array([[1.0, -1.0, 0.5], [100.0, 101.0, 102.0]])
    result = reference(spec, inputs_of(spec, x=x), PLAIN)
    outputs = changed(exact_outputs(result), "dgamma", (0, 1), 1e4)
    assert verdict(result, outputs, "dgamma").regime == "offset"


@settings(max_examples=200, derandomize=True, deadline=None)
@given(value=st.floats(allow_nan=False), name=st.sampled_from(list(formats.FORMATS)))
def test_spacing_is_the_distance_between_neighbours(value, name):
    fmt = formats.named(name)
    with np.errstate(over="ignore"):
        rounded = float(np.asarray(value).astype(fmt.dtype))
    if not np.isfinite(rounded):
        assert spacing(np.inf, name) == fmt.smallest_subnormal
        return
    expected = spacing(rounded, name)
    bits = np.dtype(f"u{fmt.bits // 8}")
    here = int(np.abs(np.asarray(rounded, dtype=fmt.dtype)).view(bits))
    above = float(np.asarray(here + 1, dtype=bits).view(fmt.dtype))
    if np.isfinite(above):
        assert expected == above - abs(rounded)
    else:
        assert expected == abs(rounded) - float(np.asarray(here - 1, dtype=bits).view(fmt.dtype))


def test_units_in_the_last_place():
    result, outputs = case((4, 3), data_format="float16")
    value = outputs.y[0, 0, 0]
    up = value
    for _ in range(5):
        up = np.nextafter(up, np.float16(np.inf))
    found = verdict(result, changed(outputs, "y", (0, 0, 0), up), "y")
    assert found.index == (0, 0)
    assert abs(found.ulps - 5) <= 1.5


def test_the_smallest_tolerance_that_would_have_passed():
    """|observed − exact| ≤ tolerance·(1 + |exact|): as rtol = atol of an allclose."""
    result, outputs = case((4, 3))
    wrong = changed(outputs, "y", (0, 1, 1), outputs.y[0, 1, 1] + F32(0.5))
    found = verdict(result, wrong, "y")
    exact, observed = result.outputs["y"].value, wrong.y.astype(float)
    for factor, passes in ((1.001, True), (0.999, False)):
        t = found.tolerance * factor
        assert np.allclose(observed, exact, rtol=t, atol=t) == passes
    assert verdict(result, changed(outputs, "y", (0, 0, 0), np.nan), "y").tolerance == np.inf


def test_failing_counts_elements():
    result, outputs = case((4, 3))
    found = verdict(result, changed(outputs, "y", (0, slice(None), 0), 1e3), "y")
    assert (found.kind, found.failing) == ("wrong", 4)
