"""Faults of the reduced axes, and of groups."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array, Spec
from bnfuzz.faults import textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass


def _over(p: Pass, values: Array, axis: int) -> Array:
    """Mean over samples (axis 0) or positions (axis 1) only, spread again over (n, C)."""
    view = p.geometry
    blocks = values.reshape(view.batch, view.spatial, view.columns)
    rows = blocks if axis == 0 else blocks.transpose(1, 0, 2)
    total = p.total(rows.reshape(rows.shape[0], rows.shape[1] * rows.shape[2])).reshape(rows.shape[1:])
    mean = np.expand_dims(p.over(total, rows.shape[0]), axis)
    return np.broadcast_to(mean, blocks.shape).reshape(view.n, view.columns)


def _statistics(p: Pass, axis: int) -> tuple[Array, Array]:
    if not p.training:
        return p.buffers
    mean = _over(p, p.x, axis)
    deviation = p.x - mean
    return mean, _over(p, deviation * deviation, axis)


def over_samples(p: Pass) -> tuple[Array, Array]:
    return _statistics(p, 0)


def over_positions(p: Pass) -> tuple[Array, Array]:
    return _statistics(p, 1)


def _axis_1_first(spec: Spec) -> tuple[tuple[int, ...], int]:
    """The shape that x would have with its channels along axis 1, and the axis they really lie along."""
    axis = spec.affine_axes[0]
    others = [size for place, size in enumerate(spec.shape) if place != axis]
    return (*others[:1], spec.shape[axis], *others[1:]), axis


def read_along_axis_1(spec: Spec, values: Array) -> Array:
    if spec.rank < 2:
        return values
    shape, axis = _axis_1_first(spec)
    return np.moveaxis(values.reshape(shape), 1, axis)


def written_along_axis_1(spec: Spec, values: Array) -> Array:
    if spec.rank < 2:
        return values
    _, axis = _axis_1_first(spec)
    return np.moveaxis(values, axis, 1).reshape(spec.shape)


def groups_merged(p: Pass) -> tuple[Array, Array]:
    samples = p.spec.shape[0]

    def merged(statistic: Array) -> Array:
        per_group = statistic.reshape(samples, -1)
        groups = per_group.shape[1]
        mean = p.over(p.total(per_group.T.copy()), groups).reshape(samples, 1)
        return np.broadcast_to(mean, (samples, groups)).reshape(1, -1)

    mean = merged(p.mean)
    deviation = p.x - mean
    return mean, merged(p.average(deviation * deviation))


def gamma_of_group(p: Pass) -> Array:
    if not p.spec.has_gamma:
        return textbook.gamma(p)
    gamma = p.given["gamma"]
    return p.geometry.parameter_to_columns(np.broadcast_to(gamma[:, :1], gamma.shape)).astype(p.dtype)


GROUPS = Example(operation="group_norm", shape=(2, 2, 3, 4))

FAULTS = (
    fault("axes_missing_spatial", "statistics over the samples only, one set per position", statistics=over_samples),
    fault("axes_instance", "statistics over the positions only, one set per sample", statistics=over_positions),
    fault(
        "axis_negative",
        "channels are taken to lie along axis 1 whatever the axis argument says",
        shows=Example(shape=(4, 2, 3), channel_axis=-1),
        read_x=read_along_axis_1,
        read_cotangent=read_along_axis_1,
        write=written_along_axis_1,
    ),
    fault("group_merge", "the group axis is reduced as well", shows=GROUPS, statistics=groups_merged),
    fault(
        "group_affine", "gamma has one value per group instead of one per channel", shows=GROUPS, gamma=gamma_of_group
    ),
)
