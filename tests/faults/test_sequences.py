"""Steps in order: the running statistics are carried, and so is what a faulty implementation remembers besides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.case import Inputs
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.example import Example
from bnfuzz.faults.textbook import CLEAN

STEPS = ("training", "inference", "training")


@pytest.fixture
def sequence():
    return Example(steps=STEPS).case(CONVENTIONS)


def test_each_step_starts_from_the_state_of_the_one_before(sequence):
    spec, inputs = sequence.spec, sequence.inputs
    outputs = run(CLEAN, spec, inputs)
    assert outputs.batch_mean is None, "an inference step gives none, so the sequence does not"
    state = {"running_mean": inputs.running_mean, "running_var": inputs.running_var}
    for step, mode in enumerate(STEPS):
        alone = run(CLEAN, replace(spec, steps=(mode,)), inputs.at_step(step, **state))
        state = {"running_mean": alone.new_running_mean, "running_var": alone.new_running_var}
        for name, array in outputs.items():
            np.testing.assert_array_equal(array[:, step], getattr(alone, name))


def test_trials_do_not_touch_each_other(sequence):
    twice = Inputs(**{name: np.concatenate([array, array[:, ::1] * 2]) for name, array in sequence.inputs.items()})
    first = run(CLEAN, sequence.spec, sequence.inputs)
    for name, array in run(CLEAN, sequence.spec, twice).items():
        np.testing.assert_array_equal(array[:1], getattr(first, name))


def test_inference_leaves_the_buffers_bit_equal(sequence):
    outputs = run(CLEAN, sequence.spec, sequence.inputs)
    np.testing.assert_array_equal(outputs.new_running_mean[:, 0], outputs.new_running_mean[:, 1])
    np.testing.assert_array_equal(outputs.new_running_var[:, 0], outputs.new_running_var[:, 1])


def test_gradients_of_the_step_before_are_added(sequence):
    clean = run(CLEAN, sequence.spec, sequence.inputs)
    faulty = run(CATALOGUE["gradient_accumulates"].kernel, sequence.spec, sequence.inputs)
    np.testing.assert_array_equal(faulty.dgamma[:, 0], clean.dgamma[:, 0])
    np.testing.assert_allclose(faulty.dgamma, np.cumsum(clean.dgamma, axis=1), rtol=1e-5)
    np.testing.assert_allclose(faulty.dbeta, np.cumsum(clean.dbeta, axis=1), rtol=1e-5)


def test_a_simple_average_of_all_batches(sequence):
    spec = replace(sequence.spec, steps=("training",) * 3)
    outputs = run(CATALOGUE["cumulative"].kernel, spec, sequence.inputs)
    means = np.cumsum(outputs.batch_mean, axis=1) / np.arange(1, 4)[:, None]
    np.testing.assert_allclose(outputs.new_running_mean, means, rtol=1e-5)


def test_only_the_first_update_overwrites(sequence):
    spec = replace(sequence.spec, steps=("training",) * 3)
    outputs = run(CATALOGUE["first_batch_overwrites"].kernel, spec, sequence.inputs)
    np.testing.assert_array_equal(outputs.new_running_mean[:, 0], outputs.batch_mean[:, 0])
    blended = 0.7 * outputs.new_running_mean[:, 0] + 0.3 * outputs.batch_mean[:, 1]
    np.testing.assert_allclose(outputs.new_running_mean[:, 1], blended, rtol=1e-5)


def test_debiasing_divides_by_nothing_before_any_training():
    kernel = CATALOGUE["ema_debias_zero"].kernel
    before = Example(steps=("inference",)).case(CONVENTIONS)
    assert np.isnan(run(kernel, before.spec, before.inputs).y).any()
    after = Example(steps=("training", "inference")).case(CONVENTIONS)
    assert np.isfinite(run(kernel, after.spec, after.inputs).y).all()
