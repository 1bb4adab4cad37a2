"""One row per row of the table of undefined inputs; and a poisoned channel changes no other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.case import Inputs, Spec, batch_norm_spec, expected_arrays
from bnfuzz.conventions import Conventions
from bnfuzz.numerics.reference import reference

PLAIN = Conventions(source="test")
SHAPE, CHANNEL = (4, 3), 1
TRAINING = {"y", "dx", "dgamma", "dbeta", "batch_mean", "batch_var", "new_running_mean", "new_running_var"}
INFERENCE = {"y", "dx", "dgamma", "dbeta", "new_running_mean", "new_running_var"}
STATISTICS = {"batch_mean", "batch_var", "new_running_mean", "new_running_var"}


def filled(spec: Spec, seed: int = 0, trials: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        values = rng.standard_normal((trials, *shape))
        arrays[name] = (np.abs(values) if name == "running_var" else values).astype(format_name)
    return arrays


def poisoned(arrays, name, value, *, everywhere=False):
    """`value` in one element of channel CHANNEL, or in the whole channel."""
    copy = arrays[name].copy()
    if everywhere or copy.ndim == 2:
        copy[..., CHANNEL] = value
    else:
        copy[0, 2, CHANNEL] = value
    return arrays | {name: copy}


def undefined_in(result, channel=CHANNEL):
    """Outputs with an undefined element in the channel; all are given with the channel last."""
    return {name for name, output in result.outputs.items() if output.undefined[..., channel].any()}


BAD = {"nan": np.nan, "inf": np.inf, "minus inf": -np.inf}

ROWS = [
    # mode, array, loss, outputs of that channel that are undefined
    ("training", "x", "explicit", TRAINING - {"dbeta"}),
    ("training", "x", "sum", TRAINING - {"dbeta"}),
    ("training", "x", "mean_square", TRAINING),
    ("training", "gamma", "explicit", {"y", "dx"}),
    ("training", "gamma", "mean_square", {"y", "dx", "dgamma", "dbeta"}),
    ("training", "beta", "explicit", {"y"}),
    ("training", "beta", "mean_square", {"y", "dx", "dgamma", "dbeta"}),
    ("training", "cotangent", "explicit", {"dx", "dgamma", "dbeta"}),
    ("training", "running_mean", "explicit", {"new_running_mean"}),
    ("training", "running_var", "explicit", {"new_running_var"}),
    ("inference", "x", "explicit", {"y", "dgamma"}),
    ("inference", "x", "mean_square", {"y", "dx", "dgamma", "dbeta"}),
    ("inference", "gamma", "explicit", {"y", "dx"}),
    ("inference", "beta", "explicit", {"y"}),
    ("inference", "cotangent", "explicit", {"dx", "dgamma", "dbeta"}),
    ("inference", "running_mean", "explicit", {"y", "dx", "dgamma", "new_running_mean"}),
    ("inference", "running_var", "explicit", {"y", "dx", "dgamma", "new_running_var"}),
]


def row_id(row):
    return f"{row[1]} in {row[0]}, {row[2]}"


@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_what_depends_on_a_bad_value_is_undefined_and_nothing_else(row, value):
    mode, name, loss, expected = row
    spec = batch_norm_spec(SHAPE, steps=(mode,), cotangent=loss)
    arrays = filled(spec)
    clean = reference(spec, Inputs(**arrays), PLAIN)
    result = reference(spec, Inputs(**poisoned(arrays, name, value)), PLAIN)
    assert undefined_in(clean) == set()
    assert undefined_in(result) == expected
    for other in (0, 2):
        assert undefined_in(result, other) == set()
        for output_name, output in result.outputs.items():
            for field, array in vars(output).items():
                np.testing.assert_array_equal(
                    array[..., other], getattr(clean.outputs[output_name], field)[..., other], f"{output_name} {field}"
                )


def test_in_inference_only_the_bad_element_of_y_is_undefined():
    spec = batch_norm_spec(SHAPE, steps=("inference",))
    result = reference(spec, Inputs(**poisoned(filled(spec), "x", np.nan)), PLAIN)
    assert np.argwhere(result.outputs["y"].undefined).tolist() == [[0, 2, CHANNEL]]
    assert not result.outputs["dx"].undefined.any()


@pytest.mark.parametrize("variance", [-1.0, -1e-5, -np.inf])
def test_a_variance_that_eps_does_not_make_positive(variance):
    spec = batch_norm_spec(SHAPE, steps=("inference",), eps=float(np.float32(1e-5)))
    arrays = poisoned(filled(spec), "running_var", np.float32(variance))
    assert undefined_in(reference(spec, Inputs(**arrays), PLAIN)) >= {"y", "dx", "dgamma"}


def test_a_negative_variance_that_eps_makes_positive_is_taken_as_it_is():
    """The bound covers both sides of a root of a difference of nearly equal numbers."""
    eps = 1e-3
    spec = batch_norm_spec((4, 1), steps=("inference",), eps=eps, has_gamma=False, has_beta=False)
    for share in (0.5, 0.99, 0.9999):
        arrays = filled(spec) | {"running_var": np.full((1, 1), -share * eps, dtype=np.float32)}
        output = reference(spec, Inputs(**arrays), PLAIN).outputs["y"]
        x, mean, var = (arrays[name].astype(np.float32) for name in ("x", "running_mean", "running_var"))
        kernel = (x - mean) / np.sqrt(var + np.float32(eps))
        error = output.error(kernel)
        assert not output.undefined.any()
        assert (error <= output.bound).all(), f"error {error}, bound {output.bound}"
        low = x.astype(float) - mean.astype(float)
        assert np.allclose(output.value, low / np.sqrt(var.astype(float) + eps), rtol=1e-9)


@pytest.mark.parametrize("kind", ["constant", "one value"])
def test_no_variance_and_no_eps(kind):
    n = 1 if kind == "one value" else 4
    spec = batch_norm_spec((n, 3), eps=0.0)
    arrays = filled(spec)
    arrays["x"][:, :, CHANNEL] = 2.0
    result = reference(spec, Inputs(**arrays), PLAIN)
    assert undefined_in(result) == {"y", "dx", "dgamma"}
    mean, var = result.outputs["batch_mean"], result.outputs["batch_var"]
    assert mean.value[0, CHANNEL] == 2.0
    assert abs(var.value[0, CHANNEL]) <= var.rung_bound[0, CHANNEL]
    if n > 1:
        assert undefined_in(result, 0) == set()


@pytest.mark.parametrize("eps", [np.nan, np.inf, -np.inf, -1.0, -1e-12])
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_an_eps_that_is_none(eps, mode):
    spec = batch_norm_spec(SHAPE, steps=(mode,), eps=eps)
    result = reference(spec, Inputs(**filled(spec)), PLAIN)
    for channel in range(3):
        assert undefined_in(result, channel) == {"y", "dx", "dgamma"}


@pytest.mark.parametrize("momentum", [np.nan, np.inf, -np.inf])
def test_a_momentum_that_is_none(momentum):
    spec = batch_norm_spec(SHAPE, momentum=momentum)
    result = reference(spec, Inputs(**filled(spec)), PLAIN)
    assert undefined_in(result) == {"new_running_mean", "new_running_var"}
    inference = replace(spec, steps=("inference",))
    assert undefined_in(reference(inference, Inputs(**filled(inference)), PLAIN)) == set()


def test_one_value_per_channel():
    spec = batch_norm_spec((1, 3), momentum=0.25)
    arrays = filled(spec)
    result = reference(spec, Inputs(**arrays), PLAIN)
    np.testing.assert_array_equal(result.outputs["y"].value[0, 0], arrays["beta"][0].astype(float))
    for name in ("dx", "dgamma", "batch_var"):
        np.testing.assert_array_equal(result.outputs[name].value, 0.0)
    u = 2.0**-24
    assert (result.outputs["dgamma"].bound <= 1e-40).all()
    # g − mean g may leave some roundings, which 1/√ε scales up.
    noise = 64 * u * np.abs(arrays["gamma"] * arrays["cotangent"][:, 0]) / np.sqrt(1e-5)
    assert (result.outputs["dx"].bound[:, 0] <= noise).all()
    assert (result.outputs["y"].bound <= 4 * u * np.abs(arrays["beta"])).all()


@pytest.mark.parametrize(
    ("rule", "ddof", "expected"),
    [
        ("biased", 0, 0.75),
        ("biased", 1, 0.75),
        ("keep", 0, 0.75),
        ("keep", 1, 1.0),
        ("nan", 0, 0.75),
        ("nan", 1, None),
    ],
)
def test_the_running_variance_of_one_value(rule, ddof, expected):
    """The batch's variance is 0, so that the share of the old one says what was done."""
    conventions = replace(PLAIN, running_ddof=ddof, single_value_variance=rule)
    spec = batch_norm_spec((1, 3), momentum=0.25)
    arrays = filled(spec)
    output = reference(spec, Inputs(**arrays), conventions).outputs["new_running_var"]
    if expected is None:
        assert output.undefined.all()
    else:
        assert not output.undefined.any()
        np.testing.assert_array_equal(output.value, expected * arrays["running_var"].astype(float))
        if expected == 1.0:
            np.testing.assert_array_equal(output.bound, 0.0)


@pytest.mark.parametrize("rule", ["keep", "nan", "unspecified"])
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_no_values_at_all(rule, mode):
    spec = batch_norm_spec((0, 3), steps=(mode,))
    arrays = filled(spec)
    result = reference(spec, Inputs(**arrays), replace(PLAIN, empty_statistics=rule))
    assert result.outputs["y"].value.shape == result.outputs["dx"].value.shape == (1, 0, 3)
    for name in ("dgamma", "dbeta"):
        np.testing.assert_array_equal(result.outputs[name].value, np.zeros((1, 3)))
        np.testing.assert_array_equal(result.outputs[name].bound, 0.0)
    for name in ("mean", "var"):
        output = result.outputs[f"new_running_{name}"]
        if rule == "keep" or mode == "inference":
            np.testing.assert_array_equal(output.value, arrays[f"running_{name}"].astype(float))
            np.testing.assert_array_equal(output.bound, 0.0)
        else:
            assert output.undefined.all()


@pytest.mark.parametrize("mode", ["training", "inference"])
def test_no_channels(mode):
    spec = batch_norm_spec((4, 0), steps=(mode,))
    result = reference(spec, Inputs(**filled(spec)), PLAIN)
    assert set(result.outputs) == (TRAINING if mode == "training" else INFERENCE)
    assert all(output.value.size == 0 for output in result.outputs.values())


def test_a_constant_that_is_not_zero_is_no_undefined_input_of_rms_norm():
    spec = Spec(operation="rms_norm", shape=(2, 3), reduced_axes=(1,), parameter_axes=(1,), eps=0.0, has_running=False)
    arrays = filled(spec)
    arrays["x"][0] = [[5.0, 5.0, 5.0], [0.0, 0.0, 0.0]]
    result = reference(spec, Inputs(**arrays), PLAIN)
    np.testing.assert_array_equal(result.outputs["y"].undefined[0], [[False] * 3, [True] * 3])
    xhat = arrays["gamma"][0].astype(float) + arrays["beta"][0].astype(float)
    np.testing.assert_allclose(result.outputs["y"].value[0, 0], xhat, rtol=1e-12)
    assert result.outputs["dgamma"].undefined.all()


def test_a_bad_gamma_of_layer_norm_reaches_the_whole_group():
    spec = Spec(operation="layer_norm", shape=(2, 3), reduced_axes=(1,), parameter_axes=(1,), has_running=False)
    result = reference(spec, Inputs(**poisoned(filled(spec), "gamma", np.nan)), PLAIN)
    np.testing.assert_array_equal(result.outputs["y"].undefined[0], [[False, True, False]] * 2)
    assert result.outputs["dx"].undefined.all()
    assert not result.outputs["dgamma"].undefined.any()
