"""What a batch norm is asked, besides the inputs at hand, to find out which conventions it follows.

Trials of the case's own kind in which nothing is at its default: gamma and beta of both signs, a cotangent that
leaves no gradient at zero, buffers unlike 0 and 1, and spreads from 2 down to 0.001, so that any usual eps shows
in some trial. Where a statistic is of very many values, fewer are taken: a bound grows with their number.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Inputs, Mode, Spec, batch_norm_spec, expected_arrays
from bnfuzz.formats import Format

SPREADS = (2.0, 0.1, 0.01, 0.001)
"""Standard deviations of the trials."""

OTHER_EPS = 2.0**-8
"""Asked for where an eps can be given: nobody's default, and a number of every format."""

OTHER_MOMENTUM = 0.3
"""Likewise the weight of the new statistic."""

FEW_VALUES = 64
"""Values of one statistic in these trials, at most."""


def varied_spec(spec: Spec, mode: Mode = "training", *, shape: tuple[int, ...] | None = None) -> Spec:
    """The Spec of varied trials in one mode: the case's formats, scalars and parts, with an explicit cotangent."""
    axis = spec.parameter_axes[0]
    return batch_norm_spec(
        shape or smaller(spec),
        axis,
        data_format=spec.data_format,
        parameter_format=spec.parameter_format,
        statistics_format=spec.statistics_format,
        eps=spec.eps,
        momentum=spec.momentum,
        has_gamma=spec.has_gamma,
        has_beta=spec.has_beta,
        has_running=spec.has_running or mode == "inference",
        steps=(mode,),
    )


def with_other_scalars(spec: Spec) -> Spec:
    """The same Spec with an eps and a momentum that nobody has as a default."""
    return replace(spec, eps=OTHER_EPS, momentum=OTHER_MOMENTUM)


def smaller(spec: Spec) -> tuple[int, ...]:
    """The shape with its reduced axes halved, the longest first, until a statistic is of few values.

    An axis of one value, which statistics are of no use for, becomes one of a few.
    """
    shape = list(spec.shape)
    while math.prod(shape[axis] for axis in spec.reduced_axes) > FEW_VALUES:
        longest = max(spec.reduced_axes, key=lambda axis: shape[axis])
        shape[longest] = -(-shape[longest] // 2)
    if spec.reduced_axes and math.prod(shape[axis] for axis in spec.reduced_axes) < 2:
        shape[spec.reduced_axes[0]] = 8
    return tuple(max(size, 1) for size in shape)


def varied_inputs(spec: Spec, *, seed: int) -> Inputs:
    """One trial per spread, drawn from the seed."""
    return _drawn(spec, seed, SPREADS, 0.0)


def offset_inputs(spec: Spec, compute: Format, *, seed: int) -> Inputs:
    """One trial whose mean is far larger than its spread: there an unstable formula (mean(x²) − mean²) shows.

    Twice u^-1/2 of the compute format, where κ²u passes 1 while κu is still small; less where x's own format is so
    coarse that its values would be few.
    """
    data = formats.named(spec.data_format)
    return _drawn(spec, seed, (1.0,), min(2.0 * compute.unit_roundoff**-0.5, 0.1 / data.unit_roundoff))


def _drawn(spec: Spec, seed: int, spreads: tuple[float, ...], shift: float) -> Inputs:
    rng = np.random.default_rng(seed)
    trials, channels = len(spreads), math.prod(spec.statistics_shape)
    along = tuple(spec.shape[axis] if axis in spec.kept_axes else 1 for axis in range(spec.rank))
    spread = np.array(spreads).reshape(trials, *(1,) * spec.rank)
    offset = (0.15 * (1 + np.arange(channels) % 3) * (-1.0) ** np.arange(channels)).reshape(1, *along)
    normal = rng.standard_normal((trials, *spec.shape))
    per_channel = (trials, channels)
    flat_spread = np.array(spreads).reshape(trials, 1)
    drawn = {
        "x": shift + spread * (offset + normal),
        "cotangent": 0.7 + rng.standard_normal((trials, *spec.shape)) + 0.8 * normal,
        "gamma": (1.5 + rng.random(per_channel)) * (-1.0) ** (1 + np.arange(channels)),
        "beta": (0.8 + rng.random(per_channel)) * (-1.0) ** (np.arange(channels) // 2),
        "running_mean": flat_spread * rng.standard_normal(per_channel),
        "running_var": flat_spread**2 * (2.0 + rng.random(per_channel)),
    }
    arrays = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        with np.errstate(over="ignore", under="ignore"):
            arrays[name] = drawn[name].reshape(trials, *shape).astype(formats.named(format_name).dtype)
    return Inputs(**arrays)
