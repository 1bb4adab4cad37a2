"""Between the strategies' own order of values, (rows, channels, n), and that of x."""

from __future__ import annotations

import math

import numpy as np

from bnfuzz.case import Array, Spec


def _order(spec: Spec) -> tuple[int, ...]:
    """Axes of x in the order of (rows, channels, n): the kept ones, then the reduced ones."""
    return spec.kept_axes + spec.reduced_axes


def placed(spec: Spec, values: Array, trials: int, *, repeat: bool) -> Array:
    """(rows, channels, n) as an array of trials of x; `repeat` makes all samples the first, as a zero stride needs."""
    order = _order(spec)
    split = values.reshape(len(values), *(spec.shape[axis] for axis in order))
    x = np.moveaxis(split, range(1, spec.rank + 1), [axis + 1 for axis in order])
    if repeat:
        x = np.broadcast_to(x[:, :1], x.shape)
    lead = (trials,) if len(spec.steps) == 1 else (trials, len(spec.steps))
    return np.ascontiguousarray(x).reshape(*lead, *spec.shape)


def by_channel(spec: Spec, x: Array, rows: int) -> Array:
    """The inverse of `placed`."""
    flat = x.reshape(rows, *spec.shape)
    moved = np.moveaxis(flat, [axis + 1 for axis in _order(spec)], range(1, spec.rank + 1))
    return moved.reshape(rows, math.prod(spec.statistics_shape), spec.n)
