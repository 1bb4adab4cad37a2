"""Which outputs one statistic group (a channel, in batch norm) has to do with."""

from __future__ import annotations

import math

import numpy as np

from bnfuzz.case import Array, Spec, expected_outputs
from bnfuzz.judge.relations.relation import lead
from bnfuzz.numerics.tracked import Flag


def group_count(spec: Spec) -> int:
    return math.prod(spec.statistics_shape)


def parameters_are_per_group(spec: Spec) -> bool:
    """Whether gamma and beta belong to one group each, as in batch norm; in layer norm they run across all groups."""
    return set(spec.affine_axes) == set(spec.kept_axes)


def elements_of(spec: Spec, groups: Flag) -> Flag:
    """(K, *statistics_shape) -> (K, *shape): the elements of x that belong to the chosen groups."""
    wide = np.expand_dims(groups, tuple(1 + axis for axis in spec.reduced_axes))
    return np.broadcast_to(wide, (len(groups), *spec.shape)).copy()


def parameters_of(spec: Spec, elements: Flag) -> Flag:
    """(K, *shape) -> (K, *parameter_shape): parameters that any of the elements meets."""
    others = tuple(1 + axis for axis in range(spec.rank) if axis not in spec.affine_axes)
    ascending = sorted(spec.affine_axes)
    met: Flag = np.any(elements, axis=others)
    return met.transpose(0, *(1 + ascending.index(axis) for axis in spec.affine_axes))


def reached(spec: Spec, groups: Flag) -> dict[str, Flag]:
    """Output -> (K, *its shape), with a steps axis of length 1 where there are several: what the groups may change."""
    elements = elements_of(spec, groups)
    parameters = parameters_of(spec, elements)
    masks = {}
    for name in _all_outputs(spec):
        mask = elements if name in ("y", "dx") else parameters if name in ("dgamma", "dbeta") else groups
        masks[name] = mask if lead(spec) == 1 else mask[:, None]
    return masks


def _all_outputs(spec: Spec) -> tuple[str, ...]:
    return (*expected_outputs(spec), "batch_mean", "batch_var", "new_running_mean", "new_running_var")


def nonfinite_groups(spec: Spec, array: Array) -> Flag:
    """(K, [steps,] *shape) -> (K, *statistics_shape): groups with a NaN or an infinity in any step."""
    bad = ~np.isfinite(np.asarray(array, dtype=np.float64))
    if lead(spec) == 2:
        bad = np.any(bad, axis=1)
    found: Flag = np.any(bad, axis=tuple(1 + axis for axis in spec.reduced_axes))
    return found
