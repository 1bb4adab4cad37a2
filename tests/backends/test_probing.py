"""Questions beyond an ordinary call: a Spec that the conventions rule out, and a call taken apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.case import batch_norm_spec

SPEC = batch_norm_spec((4, 3), 1)
ONE_VALUE = batch_norm_spec((1, 3), 1)
STAGES = {
    "torch": ("forward", "backward"),
    "mxnet": ("backward",),
    "mxnet-defaults": ("backward",),
    "mxnet-gluon": ("backward",),
}
"""Backend -> the stages after which its running statistics are other ones."""


def test_a_probe_is_sent_whatever_the_conventions_say(pool, inputs_for, installed):
    installed("torch")
    inputs = inputs_for(ONE_VALUE)
    assert pool.run(["torch"], ONE_VALUE, inputs)["torch"].status == "unsupported"
    reply = pool.probe("torch", ONE_VALUE, inputs)
    assert reply.status == "error"
    assert "ValueError" in reply.message


def test_a_probe_of_what_is_supported_is_an_ordinary_call(pool, inputs_for):
    inputs = inputs_for(SPEC)
    ordinary, probed = pool.run(["numpy"], SPEC, inputs)["numpy"], pool.probe("numpy", SPEC, inputs)
    assert {name: array.tobytes() for name, array in ordinary.outputs.items()} == {
        name: array.tobytes() for name, array in probed.outputs.items()
    }


def test_a_probe_collects_what_is_on_its_way(pool, inputs_for):
    inputs = inputs_for(SPEC)
    pending = pool.submit(["numpy"], SPEC, inputs)
    assert pool.probe("numpy", SPEC, inputs).status == "ok"
    assert pending.collect()["numpy"].status == "ok"


@pytest.mark.parametrize("name", STAGES)
def test_a_call_taken_apart_shows_when_the_running_statistics_change(pool, inputs_for, installed, name):
    inputs = inputs_for(SPEC)
    stages = pool.observe(installed(name), SPEC, inputs)
    given = {field: array[0] for field, array in inputs.items()}
    for stage in ("forward", "backward"):
        for statistic in ("running_mean", "running_var"):
            changed = bool((stages[f"{statistic}@{stage}"] != given[statistic]).all())
            assert changed == (stage in STAGES[name]), (statistic, stage)
        np.testing.assert_array_equal(stages[f"x@{stage}"], given["x"])
    fixed = name == "mxnet-defaults"
    np.testing.assert_array_equal(stages["gamma@forward"], np.ones(3, np.float32) if fixed else given["gamma"])


@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_a_call_that_returns_everything_has_nothing_to_take_apart(pool, inputs_for, installed, name):
    assert pool.observe(installed(name), SPEC, inputs_for(SPEC)) == {}


def test_a_call_that_fails_cannot_be_taken_apart(pool, inputs_for, installed):
    installed("torch")
    spec = replace(SPEC, eps=0.0)
    assert pool.observe("torch", spec, inputs_for(spec)) == {}
