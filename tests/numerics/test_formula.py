"""Reference values: every operation against the textbook, exact zeros, hard limits, and known faulty inputs."""

from __future__ import annotations

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.case import Inputs, Spec, batch_norm_spec, expected_arrays
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError
from bnfuzz.numerics.limits import normalised_cap
from bnfuzz.numerics.reference import reference

from .textbook import distance, textbook

PLAIN = Conventions(source="test")
SOME = settings(max_examples=40, derandomize=True, deadline=None)


def filled(spec: Spec, seed: int, trials: int = 2) -> Inputs:
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        values = 10.0 ** rng.uniform(-2, 2) * (rng.standard_normal((trials, *shape)) + rng.integers(0, 2) * 30)
        arrays[name] = (np.abs(values) if name == "running_var" else values).astype(format_name)
    return Inputs(**arrays)


def agrees(spec: Spec, inputs: Inputs, conventions: Conventions = PLAIN) -> None:
    result = reference(spec, inputs, conventions)
    exact = textbook(spec, inputs, conventions)
    for name, output in result.outputs.items():
        error = distance(output, exact[name])
        worst = np.unravel_index(np.argmax(error - output.rung_bound), error.shape)
        numbers = f"exact {output.value[worst]}, error {error[worst]}, bound {output.rung_bound[worst]}"
        assert (error <= output.rung_bound).all(), f"{name}{worst}: {numbers}\n{spec}"


OPERATIONS = {
    "batch norm, channels second": batch_norm_spec((3, 2, 4), 1),
    "batch norm, channels last": batch_norm_spec((3, 4, 2), -1),
    "batch norm, channels first": batch_norm_spec((2, 5), 0),
    "layer norm": Spec(operation="layer_norm", shape=(3, 5), reduced_axes=(1,), parameter_axes=(1,), has_running=False),
    "layer norm over two axes": Spec(
        operation="layer_norm", shape=(2, 3, 4), reduced_axes=(1, 2), parameter_axes=(1, 2), has_running=False
    ),
    "instance norm": Spec(
        operation="instance_norm", shape=(3, 2, 4), reduced_axes=(2,), parameter_axes=(1,), has_running=False
    ),
    "group norm": Spec(
        operation="group_norm", shape=(2, 2, 3, 4), reduced_axes=(2, 3), parameter_axes=(1, 2), has_running=False
    ),
    "rms norm": Spec(operation="rms_norm", shape=(3, 5), reduced_axes=(1,), parameter_axes=(1,), has_running=False),
}


@pytest.mark.parametrize("cotangent", ["explicit", "sum", "mean_square"])
@pytest.mark.parametrize("format_name", ["float32", "float64"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name, format_name, cotangent):
    formats = dict.fromkeys(("data_format", "parameter_format", "statistics_format"), format_name)
    spec = replace(OPERATIONS[name], cotangent=cotangent, **formats)
    agrees(spec, filled(spec, 1))
    for absent in ({"has_gamma": False}, {"has_beta": False}, {"has_gamma": False, "has_beta": False}):
        without = replace(spec, **absent)
        agrees(without, filled(without, 2))


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("weighs", ["new", "old"])
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_modes_and_running_statistics(mode, weighs, ddof):
    conventions = replace(PLAIN, running_ddof=ddof, momentum_weighs=weighs)
    for momentum in (0.0, 0.1, 0.9, 1.0):
        spec = batch_norm_spec((5, 2), steps=(mode,), momentum=momentum)
        agrees(spec, filled(spec, 3), conventions)


def test_axes_are_named_in_any_order():
    ascending = OPERATIONS["layer norm over two axes"]
    inputs = filled(ascending, 4)
    descending = replace(ascending, parameter_axes=(2, -2))
    turned = replace(inputs, gamma=inputs.gamma.transpose(0, 2, 1), beta=inputs.beta.transpose(0, 2, 1))
    first, second = reference(ascending, inputs, PLAIN), reference(descending, turned, PLAIN)
    for name, output in first.outputs.items():
        other = second.outputs[name]
        for field in ("value", "bound"):
            array = getattr(output, field)
            array = array.transpose(0, 2, 1) if name in ("dgamma", "dbeta") else array
            np.testing.assert_array_equal(array, getattr(other, field), f"{name} {field}")


def test_a_fixed_gamma_is_one_and_has_no_gradient():
    spec = batch_norm_spec((4, 2))
    inputs = filled(spec, 5)
    fixed = reference(spec, inputs, replace(PLAIN, fix_gamma=True))
    ones = reference(spec, replace(inputs, gamma=np.ones_like(inputs.gamma)), PLAIN)
    np.testing.assert_array_equal(fixed.outputs["y"].value, ones.outputs["y"].value)
    np.testing.assert_array_equal(fixed.outputs["dx"].value, ones.outputs["dx"].value)
    np.testing.assert_array_equal(fixed.outputs["dgamma"].value, 0.0)
    np.testing.assert_array_equal(fixed.outputs["dgamma"].bound, 0.0)


@SOME
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 20), format_name=st.sampled_from(["float32", "float64"]))
def test_exact_zeros(seed, n, format_name):
    """dx of a constant cotangent, dgamma of one, and dbeta of the loss mean(y²) without beta are 0."""
    formats = dict.fromkeys(("data_format", "parameter_format", "statistics_format"), format_name)
    spec = batch_norm_spec((n, 2), **formats)
    inputs = filled(spec, seed, trials=1)
    constant = np.broadcast_to(inputs.cotangent[:, :1], inputs.cotangent.shape).copy()
    summed = replace(spec, cotangent="sum")
    square = replace(spec, cotangent="mean_square", has_beta=True)
    no_beta = replace(inputs, cotangent=None, beta=np.zeros_like(inputs.beta))
    for case, given_inputs, zeros in (
        (spec, replace(inputs, cotangent=constant), ("dx", "dgamma")),
        (summed, replace(inputs, cotangent=None), ("dx", "dgamma")),
        (square, no_beta, ("dbeta",)),
    ):
        result = reference(case, given_inputs, PLAIN)
        for name in zeros:
            output = result.outputs[name]
            assert (np.abs(output.value + output.rest) <= output.rung_bound).all(), f"{name} {output.value} {case}"
            assert (output.rung_bound <= output.bound / 8).all() or "mpmath" in result.rungs


@SOME
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 30))
def test_exact_values_keep_the_hard_limits(seed, n):
    spec = batch_norm_spec((n, 1), has_gamma=False, has_beta=False, eps=1e-5)
    result = reference(spec, filled(spec, seed), PLAIN)
    xhat = result.outputs["y"].value
    assert (np.abs(xhat) <= np.sqrt(n - 1) * (1 + 1e-12)).all()
    assert (np.mean(xhat**2, axis=1) <= 1 + 1e-12).all()
    dx = result.outputs["dx"]
    assert (np.abs(dx.value.sum(axis=1)) <= dx.rung_bound.sum(axis=1)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_the_limit_is_attained_by_a_wrong_centre(n):
    """(d − δ)/√(σ² + δ² + ε) over all δ, against the cap."""
    rng = np.random.default_rng(n)
    d = rng.standard_normal((200, n)) * 10.0 ** rng.uniform(-3, 3, (200, 1))
    d = d - d.mean(axis=1, keepdims=True) if n > 1 else np.zeros((200, 1))
    variance = (d * d).mean(axis=1, keepdims=True)
    xhat = d / np.sqrt(variance + 1e-30)
    cap = normalised_cap(np.abs(xhat), n=n, unit_roundoff=2.0**-24, eps_survives=True, centred=True)
    attained = np.zeros_like(xhat)
    for delta in [0.0, *(sign * 10.0**k for sign in (1, -1) for k in range(-6, 8))]:
        moved = (d - delta) / np.sqrt(variance + delta * delta + 1e-30)
        attained = np.maximum(attained, np.abs(moved - xhat))
    if n == 1:
        # A single value has no deviation to be off by: its own mean is exact.
        assert (cap == 0).all()
        return
    assert (attained <= cap * (1 + 1e-12)).all()
    assert (attained / cap).max() > 0.99


def test_the_limit_where_eps_does_not_survive():
    size = np.array([0.5])
    arguments = {"n": 10, "unit_roundoff": 2.0**-24, "centred": True}
    assert normalised_cap(size, eps_survives=False, **arguments)[0] == pytest.approx(3.5, rel=1e-5)
    assert normalised_cap(size, eps_survives=True, **arguments)[0] == pytest.approx(1.5, rel=1e-5)
    assert normalised_cap(size, eps_survives=True, **arguments | {"centred": False, "n": 9})[0] > 0.5


@pytest.mark.parametrize(("eps", "reach"), [(1e-5, 1.0), (1e-12, 3.0), (0.0, 3.0)])
def test_a_constant_channel_of_float16_is_decided_by_the_limit(eps, reach):
    """n = 10: x̂ = 0 and |error| ≤ 1, or √(n−1) where eps is lost in float16."""
    formats = dict.fromkeys(("data_format", "parameter_format", "statistics_format"), "float16")
    spec = batch_norm_spec((10, 1), eps=eps, has_gamma=False, has_beta=False, **formats)
    x = np.full((1, 10, 1), 1000.0, dtype=np.float16)
    x[0, 0, 0] = 1001.0 if eps == 0.0 else 1000.0
    inputs = replace(filled(spec, 6, trials=1), x=x)
    y = reference(spec, inputs, PLAIN).outputs["y"]
    allowed = (reach + np.abs(y.value)) * 1.1
    assert (y.bound <= allowed).all()
    assert (y.bound >= (reach + np.abs(y.value)) * 0.999).all()
    assert (y.raw_bound > y.bound).all()


def float64_capped():
    formats = dict.fromkeys(("data_format", "parameter_format", "statistics_format"), "float64")
    return batch_norm_spec((10, 1), eps=0.0, has_gamma=False, has_beta=False, **formats)


def test_float64_without_eps_keeps_the_wider_limit():
    spec = float64_capped()
    x = np.full((1, 10, 1), 1e15)
    x[0, 0, 0] += 0.125
    y = reference(spec, replace(filled(spec, 7, trials=1), x=x), PLAIN).outputs["y"]
    assert (y.bound >= (3.0 + np.abs(y.value)) * 0.999).all()


# What current releases get wrong, and what is exact: x̂ for two values is ±(half the gap)/sqrt(gap²/4 + eps).
def ten_thousand():
    half = (mpmath.mpf(float(np.float32(10000.195))) - mpmath.mpf(float(np.float32(9999.581)))) / 2
    return float(3 * half / mpmath.sqrt(half**2 + mpmath.mpf("1e-5")))


KNOWN = {
    "flax, fast variance": ((2, 1), [10000.195, 9999.581], "float32", 1e-5, 3.0, 0.0, [2.99984, -2.99984], 1e-5),
    "torch, folded": ((2, 1), [1e6, 1e6], "float32", 1e-5, 1.0, 100.0, [100.0, 100.0], 0.0),
    "torch, float16": ((3, 1), [3e4, 3e4, 3e4], "float16", 1e-12, 1.0, 0.0, [0.0, 0.0, 0.0], 0.0),
    "jax, bfloat16": ((3, 1), [21609054208.0] * 3, "float32", 1e-5, 1.0, 0.0, [0.0, 0.0, 0.0], 0.0),
    "overflow": (
        (4, 1),
        [1e30, -1e30, 2e30, 0.0],
        "float32",
        1e-5,
        1.0,
        0.0,
        [0.447214, -1.341641, 1.341641, -0.447214],
        1e-6,
    ),
    "Welford": ((2, 1), [1e11, float(np.nextafter(np.float32(1e11), np.inf))], "float32", 1e-12, 1.0, 0.0, [-1, 1], 0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_exact_values_of_known_inputs(name):
    shape, x, data, eps, gamma, beta, expected, rounding = KNOWN[name]
    spec = batch_norm_spec(shape, data_format=data, eps=eps, has_running=False, cotangent="sum")
    one = np.ones((1, 1), dtype=np.float32)
    x = np.array(x, dtype=data).reshape(1, *shape)
    inputs = Inputs(x=x, gamma=gamma * one, beta=beta * one)
    conventions = replace(PLAIN, compute=(("float16", "float32"),))
    y = reference(spec, inputs, conventions).outputs["y"]
    value = (y.value + y.rest).ravel()
    np.testing.assert_allclose(value, expected, rtol=0, atol=rounding + y.rung_bound.max())
    if name == "flax, fast variance":
        assert value[0] == pytest.approx(ten_thousand(), rel=1e-12)
    if name == "overflow":
        assert y.flag.all()


def test_dx_of_a_constant_float16_channel_is_zero_and_at_risk():
    """The autodiff form's r³ overflows float16: the exact dx is 0 for any cotangent of equal parts."""
    formats = dict.fromkeys(("data_format", "parameter_format", "statistics_format"), "float16")
    spec = batch_norm_spec((2, 1), has_running=False, has_gamma=False, has_beta=False, cotangent="sum", **formats)
    dx = reference(spec, Inputs(x=np.full((1, 2, 1), 1000, dtype=np.float16)), PLAIN).outputs["dx"]
    np.testing.assert_array_equal(dx.value, 0.0)
    assert dx.flag.all()


def test_several_steps_are_refused():
    spec = batch_norm_spec((4, 2), steps=("training", "inference"))
    with pytest.raises(UsageError, match="at_step"):
        reference(spec, Inputs(x=np.zeros((1, 2, 4, 2), dtype=np.float32)), PLAIN)
