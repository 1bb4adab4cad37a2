"""Every backend computes batch norm: shapes, formats, and values to the eye.

The factors here are loose on purpose; judging is done elsewhere, against tracked bounds.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.backends import registry
from bnfuzz.case import Inputs, Layout, Spec, batch_norm_spec, expected_outputs

FACTOR = 200
PLAIN = batch_norm_spec((4, 3, 2), 1)


def truth(
    spec: Spec, inputs: Inputs, *, eps: float, new: float, ddof: int, fixed: bool = False
) -> dict[str, np.ndarray]:
    """The outputs of one-step trials in float64, from the inputs as stored."""
    wide = {name: array.astype(np.float64) for name, array in inputs.items()}
    axes = tuple(axis + 1 for axis in spec.reduced_axes)
    (channel,) = spec.affine_axes

    def along(values: np.ndarray) -> np.ndarray:
        shape = [1] * spec.rank
        shape[channel] = -1
        return values.reshape(len(values), *shape)

    x = wide["x"]
    mean, var = x.mean(axes), x.var(axes)
    if spec.mode == "training":
        used_mean, used_var = mean, var
    else:
        used_mean, used_var = wide["running_mean"], wide["running_var"]
    r = 1 / np.sqrt(along(used_var) + eps)
    xhat = (x - along(used_mean)) * r
    gamma = along(wide["gamma"]) if spec.has_gamma and not fixed else np.float64(1)
    y = xhat * gamma + (along(wide["beta"]) if spec.has_beta else 0)
    losses = {"sum": np.ones_like(y), "mean_square": 2 * y / spec.size}
    g = wide["cotangent"] if spec.cotangent == "explicit" else losses[spec.cotangent]
    centred = g
    if spec.mode == "training":
        centred = g - g.mean(axes, keepdims=True) - xhat * (g * xhat).mean(axes, keepdims=True)
    outputs = {"y": y, "dx": gamma * r * centred, "dbeta": g.sum(axes), "dgamma": (g * xhat).sum(axes)}
    if fixed:
        outputs["dgamma"] = np.zeros_like(outputs["dgamma"])
    if spec.mode == "training":
        outputs |= {"batch_mean": mean, "batch_var": var}
    if spec.has_running:
        new = new if spec.mode == "training" else 0.0
        unbiased = var * spec.n / (spec.n - ddof)
        outputs["new_running_mean"] = (1 - new) * wide["running_mean"] + new * mean
        outputs["new_running_var"] = (1 - new) * wide["running_var"] + new * unbiased
    return outputs


def assert_right(pool, name, spec, inputs):
    """Runs it, checks shapes, formats and values, and gives the outputs."""
    conventions = pool.conventions(name)
    reply = pool.run([name], spec, inputs)[name]
    assert reply.status == "ok", reply.details or reply.message
    assert reply.mutated == ()
    argument = conventions.momentum_given(spec)
    exact = truth(
        spec,
        inputs,
        eps=conventions.eps_given(spec),
        new=argument if conventions.momentum_weighs == "new" else 1 - argument,
        ddof=conventions.running_ddof,
        fixed=conventions.fix_gamma,
    )
    expected = {output: kind for output, kind in expected_outputs(spec).items() if output in conventions.outputs}
    outputs = dict(reply.outputs.items())
    assert set(outputs) == set(expected)
    coarsest = max(formats.named(format_name).unit_roundoff for format_name in spec.formats)
    for output, array in outputs.items():
        shape, format_name = expected[output]
        assert array.shape == (inputs.trials, *shape), output
        assert array.dtype == formats.named(format_name).dtype, output
        scale = 1 + np.abs(exact[output]).max(initial=0)
        error = np.abs(array.astype(np.float64) - exact[output]).max(initial=0)
        assert error <= FACTOR * coarsest * scale, f"{output}: {error}"
    return outputs


@pytest.fixture(scope="session")
def bench(pool, inputs_for, installed):
    return SimpleNamespace(pool=pool, inputs_for=inputs_for, installed=installed)


@pytest.mark.parametrize("name", registry.names())
class TestEveryBackend:
    def supported(self, bench, name: str, spec: Spec) -> Spec:
        reason = bench.pool.conventions(name).unsupported(spec)
        if reason is not None:
            pytest.skip(reason)
        return spec

    @pytest.mark.parametrize("mode", ["training", "inference"])
    @pytest.mark.parametrize("cotangent", ["explicit", "sum", "mean_square"])
    def test_modes_and_losses(self, bench, name, mode, cotangent):
        spec = replace(PLAIN, steps=(mode,), cotangent=cotangent)
        assert_right(bench.pool, bench.installed(name), spec, bench.inputs_for(spec))

    def test_every_format_it_accepts(self, bench, name):
        for triple in bench.pool.conventions(bench.installed(name)).formats:
            data, parameter, statistics = triple
            spec = replace(PLAIN, data_format=data, parameter_format=parameter, statistics_format=statistics)
            assert_right(bench.pool, name, spec, bench.inputs_for(spec))

    @pytest.mark.parametrize(
        ("shape", "axis"), [((6,), 0), ((5, 2), -1), ((2, 3, 2, 2), 0), ((2, 3, 2, 2), -1), ((1, 2, 3), 1), ((7, 1), 1)]
    )
    def test_shapes_and_channel_axes(self, bench, name, shape, axis):
        spec = self.supported(bench, bench.installed(name), batch_norm_spec(shape, axis))
        assert_right(bench.pool, name, spec, bench.inputs_for(spec))

    @pytest.mark.parametrize("present", list(itertools.product([True, False], repeat=3)))
    def test_what_may_be_absent(self, bench, name, present):
        gamma, beta, running = present
        spec = replace(PLAIN, has_gamma=gamma, has_beta=beta, has_running=running)
        self.supported(bench, bench.installed(name), spec)
        assert_right(bench.pool, name, spec, bench.inputs_for(spec))

    def test_its_own_defaults_act(self, bench, name):
        spec = replace(PLAIN, eps=None, momentum=None)
        given = bench.inputs_for(spec)
        # A small spread, so that eps 1e-3 and 1e-5 differ widely.
        small = replace(given, x=(given.x / 64).astype(given.x.dtype))
        assert_right(bench.pool, bench.installed(name), spec, small)

    def test_eps_and_momentum_arrive(self, bench, name):
        spec = replace(PLAIN, eps=0.75, momentum=0.25)
        assert_right(bench.pool, bench.installed(name), spec, bench.inputs_for(spec))

    @pytest.mark.parametrize("layout", get_args(Layout))
    def test_layouts_change_no_value(self, bench, name, layout):
        spec = replace(PLAIN, layout_x=layout, layout_cotangent=layout)
        given = bench.inputs_for(spec)
        if layout == "zero_stride":
            given = replace(
                given,
                x=np.repeat(given.x[..., :1], 2, axis=-1),
                cotangent=np.repeat(given.cotangent[:, :1], 4, axis=1),
            )
        assert_right(bench.pool, bench.installed(name), spec, given)

    def test_trials_are_independent_calls(self, bench, name):
        given = bench.inputs_for(PLAIN, trials=3)
        together = bench.pool.run([bench.installed(name)], PLAIN, given)[name].outputs
        for k in range(3):
            alone = bench.pool.run([name], PLAIN, given.trial(k))[name].outputs
            for output, array in alone.items():
                assert array.tobytes() == getattr(together, output)[k : k + 1].tobytes()

    def test_steps_carry_the_state(self, bench, name):
        steps = ("training", "inference", "training")
        spec = replace(PLAIN, steps=steps)
        given = bench.inputs_for(spec)
        reply = bench.pool.run([bench.installed(name)], spec, given)[name]
        assert reply.status == "ok", reply.details
        state = {"running_mean": given.running_mean, "running_var": given.running_var}
        for index, mode in enumerate(steps):
            one_step = replace(PLAIN, steps=(mode,))
            outputs = assert_right(bench.pool, name, one_step, given.at_step(index, **state))
            for output, array in outputs.items():
                assert getattr(reply.outputs, output)[:, index].tobytes() == array.tobytes(), (index, output)
            state = {key: outputs[f"new_{key}"] for key in state}
        if reply.outputs.batch_mean is not None:
            assert np.isnan(reply.outputs.batch_mean[:, 1].astype(np.float64)).all()

    def test_empty_inputs_give_empty_outputs(self, bench, name):
        spec = self.supported(bench, bench.installed(name), batch_norm_spec((0, 3), 1))
        outputs = bench.pool.run([name], spec, bench.inputs_for(spec))[name].outputs
        assert outputs.y.shape == outputs.dx.shape == (2, 0, 3)
        assert not outputs.dbeta.any()
        expected = {"nan": np.isnan, "keep": np.isfinite}[bench.pool.conventions(name).empty_statistics]
        assert expected(outputs.new_running_mean).all()


def test_mxnet_writes_gamma_by_default_and_documents_it(pool, inputs_for, installed):
    assert pool.conventions(installed("mxnet-defaults")).fix_gamma
    outputs = assert_right(pool, "mxnet-defaults", PLAIN, inputs_for(PLAIN))
    assert not outputs["dgamma"].any()


def test_the_numpy_kernel_computes_in_the_format_it_says(pool, inputs_for):
    """A float32 computation in disguise of float64 would get this mean exactly."""
    spec = batch_norm_spec((3, 1), 1)
    given = inputs_for(spec, trials=1)
    x = np.array([[[2.0**24], [1.0], [1.0]]], np.float32)
    outputs = pool.run(["numpy"], spec, replace(given, x=x))["numpy"].outputs
    assert outputs.batch_mean[0, 0] != np.float32((2.0**24 + 2) / 3)
