from __future__ import annotations

import numpy as np
import pytest

from bnfuzz.case import batch_norm_spec
from bnfuzz.strategies.placement import by_channel, placed


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_channels_end_up_on_the_channel_axis(axis):
    spec = batch_norm_spec((2, 3, 4), axis)
    channels = spec.statistics_shape[0]
    values = np.broadcast_to(np.arange(channels)[:, None], (5, channels, spec.n))
    x = placed(spec, values, 5, repeat=False)
    assert x.shape == (5, 2, 3, 4)
    assert x.flags.c_contiguous
    first = np.take(x, 0, axis=(axis % 3) + 1)
    assert (first == 0).all()


@pytest.mark.parametrize("steps", [("training",), ("training", "inference")])
def test_there_and_back(rng, steps):
    spec = batch_norm_spec((2, 3, 4), 1, steps=steps)
    values = rng.standard_normal((5 * len(steps), 3, 8))
    np.testing.assert_array_equal(by_channel(spec, placed(spec, values, 5, repeat=False), 5 * len(steps)), values)


def test_repeated_samples_are_the_first(rng):
    spec = batch_norm_spec((4, 3, 2), 1)
    values = rng.standard_normal((5, 3, 8))
    x, plain = placed(spec, values, 5, repeat=True), placed(spec, values, 5, repeat=False)
    np.testing.assert_array_equal(x, np.repeat(plain[:, :1], 4, axis=1))
