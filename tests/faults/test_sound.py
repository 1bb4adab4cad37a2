"""The clean kernel and the sound ones agree with a plain float64 evaluation to within n*kappa*u."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.case import Case, Spec, batch_norm_spec, expected_outputs
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.example import Example
from bnfuzz.faults.run import run_trial
from bnfuzz.faults.sound import SOUND, Sound
from bnfuzz.faults.textbook import CLEAN

from .plain import plain, tolerance

TRIPLES = ALL_FORMATS + MIXED_FORMATS
NARROW = replace(CONVENTIONS, compute=())
SHAPES = [((4, 3, 2), 1), ((7, 2), 1), ((3, 5, 4), -1), ((2, 6), 0), ((1, 3), 1), ((33, 2, 3, 1), 2), ((2,), 0)]


def check(sound: Sound, case: Case, conventions, growth: float) -> None:
    spec = case.spec
    arrays = {name: array[0] for name, array in case.inputs.items()}
    before = {name: array.tobytes() for name, array in arrays.items()}
    outputs = run_trial(sound.kernel, spec, arrays, conventions)
    assert {name: array.tobytes() for name, array in arrays.items()} == before
    assert {name: (array.shape, array.dtype.name) for name, array in outputs.items()} == expected_outputs(spec)
    exact, magnitude = plain(spec, arrays, conventions)
    for name, output in outputs.items():
        allowed = tolerance(spec, arrays, conventions, output, growth) * magnitude[name]
        error = np.abs(output.astype(np.float64) - exact[name])
        assert (error <= allowed).all(), f"{name}: error {error.max()}, allowed {allowed.flat[error.argmax()]}"


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("triple", TRIPLES, ids="/".join)
@pytest.mark.parametrize("name", SOUND)
def test_agrees_with_float64(name, triple, mode):
    sound = SOUND[name]
    for (shape, axis), base in zip(SHAPES * 2, [CONVENTIONS, NARROW] * len(SHAPES), strict=True):
        conventions = sound.conventions(base)
        example = Example(shape=shape, channel_axis=axis, steps=(mode,))
        case = example.case(conventions, triple, seed=shape[0])
        check(sound, case, conventions, growth=2.0 * (case.spec.n + 8))


@pytest.mark.parametrize("cotangent", ["sum", "mean_square"])
@pytest.mark.parametrize("changes", [{"has_gamma": False}, {"has_beta": False}, {"has_running": False}], ids=str)
def test_absent_arrays_and_losses(cotangent, changes):
    example = Example()
    full = example.case(CONVENTIONS)
    spec = replace(full.spec, cotangent=cotangent, **changes)
    absent = {"has_gamma": ["gamma"], "has_beta": ["beta"], "has_running": ["running_mean", "running_var"]}
    dropped = {"cotangent": None} | dict.fromkeys(absent[next(iter(changes))])
    check(SOUND["pairwise"], Case(spec=spec, inputs=replace(full.inputs, **dropped)), CONVENTIONS, growth=40.0)


@pytest.mark.parametrize(
    "spec",
    [
        Spec(operation="layer_norm", shape=(3, 4, 5), reduced_axes=(1, 2), parameter_axes=(1, 2), has_running=False),
        Spec(operation="layer_norm", shape=(3, 4, 5), reduced_axes=(2,), parameter_axes=(-1,), has_running=False),
        Spec(operation="instance_norm", shape=(3, 4, 5), reduced_axes=(2,), parameter_axes=(1,), has_running=False),
        Spec(operation="group_norm", shape=(2, 2, 3, 4), reduced_axes=(2, 3), parameter_axes=(1, 2), has_running=False),
        Spec(shape=(3, 4, 5), reduced_axes=(1,), parameter_axes=(2, 0), has_running=False),
    ],
    ids=lambda spec: f"{spec.operation}{spec.shape}{spec.parameter_axes}",
)
def test_any_axes(spec):
    rng = np.random.default_rng(1)
    shapes = {"x": spec.shape, "cotangent": spec.shape, "gamma": spec.parameter_shape, "beta": spec.parameter_shape}
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    outputs = run_trial(CLEAN, spec, arrays, CONVENTIONS)
    exact, magnitude = plain(spec, arrays, CONVENTIONS)
    for name, output in outputs.items():
        allowed = tolerance(spec, arrays, CONVENTIONS, output, 4.0 * (spec.size + 8)) * magnitude[name]
        assert (np.abs(output - exact[name]) <= allowed).all(), name


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("weighs", ["new", "old"])
def test_conventions_of_the_running_statistics(ddof, weighs):
    conventions = replace(CONVENTIONS, running_ddof=ddof, momentum_weighs=weighs)
    check(SOUND["pairwise"], Example().case(conventions), conventions, growth=40.0)


def test_defaults_come_from_the_conventions():
    conventions = replace(CONVENTIONS, default_eps=0.5, default_momentum=0.25)
    case = Example().case(conventions)
    spec = replace(case.spec, eps=None, momentum=None)
    check(SOUND["pairwise"], Case(spec=spec, inputs=case.inputs), conventions, growth=40.0)


def test_fixed_gamma_is_one():
    conventions = replace(CONVENTIONS, fix_gamma=True)
    case = Example().case(conventions)
    outputs = run(CLEAN, case.spec, case.inputs, conventions)
    ones = replace(case.inputs, gamma=np.ones_like(case.inputs.gamma))
    expected = run(CLEAN, case.spec, ones)
    assert not outputs.dgamma.any()
    for name in ("y", "dx", "dbeta"):
        np.testing.assert_array_equal(getattr(outputs, name), getattr(expected, name))


@pytest.mark.parametrize("rule", ["keep", "nan", "biased"])
def test_one_value_with_ddof_1(rule):
    conventions = replace(CONVENTIONS, running_ddof=1, single_value_variance=rule)
    case = Example(shape=(1, 3)).case(conventions)
    outputs = run(CLEAN, case.spec, case.inputs, conventions)
    old = case.inputs.running_var
    expected = {"keep": old, "nan": np.full_like(old, np.nan), "biased": (1 - np.float32(0.3)) * old}[rule]
    np.testing.assert_array_equal(outputs.new_running_var, expected)
    np.testing.assert_array_equal(outputs.y, case.inputs.beta[:, None])
    assert not outputs.dx.any()


@pytest.mark.parametrize("rule", ["keep", "nan"])
@pytest.mark.parametrize("name", SOUND)
def test_no_values(name, rule):
    conventions = SOUND[name].conventions(replace(CONVENTIONS, empty_statistics=rule))
    for shape in ((0, 3), (2, 3, 0), (3, 0), (0, 0)):
        case = Example(shape=shape).case(conventions)
        outputs = run(SOUND[name].kernel, case.spec, case.inputs, conventions)
        assert outputs.y.shape == (1, *shape)
        assert not outputs.dgamma.any()
        if case.spec.n == 0:
            expected = case.inputs.running_mean if rule == "keep" else np.full_like(case.inputs.running_mean, np.nan)
            np.testing.assert_array_equal(outputs.new_running_mean, expected)


def test_scaled_survives_squares_beyond_the_format():
    spec = batch_norm_spec((4, 1), has_running=False, cotangent="sum")
    x = np.array([1e30, -1e30, 2e30, 0], np.float32).reshape(4, 1)
    arrays = {"x": x, "gamma": np.ones(1, np.float32), "beta": np.zeros(1, np.float32)}
    expected = [0.4472136, -1.3416408, 1.3416408, -0.4472136]
    scaled = run_trial(SOUND["scaled"].kernel, spec, arrays, CONVENTIONS)["y"]
    np.testing.assert_allclose(scaled[:, 0], expected, rtol=1e-6)
    assert not np.allclose(run_trial(CLEAN, spec, arrays, CONVENTIONS)["y"][:, 0], expected)


OFF_CENTRE = [name for name, sound in SOUND.items() if sound.verdict == "unstable" and name != "shifted_one_pass"]


@pytest.mark.parametrize("name", OFF_CENTRE)
def test_unstable_ones_really_stray(name):
    """Some nearly constant data put y beyond the hard limit |y - beta| <= sqrt(n - 1)."""
    rng = np.random.default_rng(0)
    farthest = 0.0
    for _ in range(400):
        n = int(rng.integers(2, 8))
        x = np.float32(10 ** rng.uniform(3, 11)) * (1 + rng.integers(0, 2, size=(n, 1)) * np.float32(2.0**-23))
        arrays = {
            "x": x.astype(np.float32),
            "gamma": np.ones(1, np.float32),
            "beta": np.full(1, 100, np.float32),
            "cotangent": np.zeros((n, 1), np.float32),
        }
        spec = batch_norm_spec((n, 1), eps=1e-12, has_running=False)
        y = run_trial(SOUND[name].kernel, spec, arrays, CONVENTIONS)["y"]
        farthest = max(farthest, float(np.nan_to_num(np.abs(y - 100), nan=np.inf).max()) / np.sqrt(n - 1))
    assert farthest > 1.4


def test_shifted_one_pass_strays_from_an_outlier():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5000, 1)).astype(np.float32)
    x[0] = 1e4
    arrays = {"x": x, "gamma": np.ones(1, np.float32), "beta": np.zeros(1, np.float32), "cotangent": x}
    spec = batch_norm_spec(x.shape, has_running=False)
    exact = x.astype(np.float64).var()
    errors = [
        abs(float(run_trial(kernel, spec, arrays, CONVENTIONS)["batch_var"][0]) / exact - 1)
        for kernel in (SOUND["shifted_one_pass"].kernel, CLEAN)
    ]
    assert errors[0] > 50 * errors[1]
