from __future__ import annotations

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.case import batch_norm_spec, check_inputs
from bnfuzz.strategies import drawn_inputs, specs

SPEC = batch_norm_spec((3, 2), 1)


def test_all_are_what_the_spec_asks_for(assert_all_examples):
    strategy = specs(max_size=24, large_size=None, allow_empty=True).flatmap(
        lambda spec: drawn_inputs(spec).map(lambda inputs: (spec, inputs))
    )

    def check(pair):
        spec, inputs = pair
        check_inputs(spec, inputs)
        assert inputs.trials == 1
        assert all(np.isfinite(array.astype(np.float64)).all() for _, array in inputs.items())
        assert inputs.running_var is None or (inputs.running_var > 0).all()

    assert_all_examples(strategy, check, 150)


@pytest.mark.parametrize("format_name", formats.FORMATS)
def test_can_produce_large_offsets_in_every_format(find_any, format_name):
    strategy = drawn_inputs(batch_norm_spec((3, 2), 1, data_format=format_name))
    find_any(strategy, lambda inputs: np.abs(inputs.x.astype(np.float64)).min() > 1000)


def test_can_produce_a_mean_that_is_the_offset_of_the_data(find_any):
    find_any(
        drawn_inputs(SPEC),
        lambda inputs: inputs.running_mean[0, 0] > 1000 and abs(inputs.running_mean[0, 0] - inputs.x[0, 0, 0]) < 100,
    )


def test_can_produce_undefined_values_when_allowed(find_any):
    strategy = drawn_inputs(SPEC, allow_nonfinite=True, allow_negative_variance=True)
    find_any(strategy, lambda inputs: np.isnan(inputs.x).any())
    find_any(strategy, lambda inputs: np.isinf(inputs.x).any())
    find_any(strategy, lambda inputs: (inputs.running_var < 0).any())


def test_shrinks_to_plain_values(minimal):
    inputs = minimal(drawn_inputs(SPEC))
    plain = {"x": 0, "gamma": 1, "beta": 0, "running_mean": 0, "running_var": 1, "cotangent": 0}
    assert {name for name, _ in inputs.items()} == set(plain)
    for name, array in inputs.items():
        assert (array == plain[name]).all(), name


def test_shrinks_value_by_value(minimal):
    def condition(inputs):
        return inputs.x[0, 1, 1] > inputs.x[0, 0, 1] and inputs.cotangent[0, 2, 0] < 0

    inputs = minimal(drawn_inputs(SPEC), condition)
    assert np.count_nonzero(inputs.x) == 1
    assert np.abs(inputs.x).max() == 1
    assert inputs.cotangent[0].tolist() == [[0, 0], [0, 0], [-1, 0]]
