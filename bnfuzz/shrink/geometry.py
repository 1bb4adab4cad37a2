"""Smaller and flatter versions of a Case: the same values, fewer of them or along fewer axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bnfuzz.case import Array, Case, Inputs, Spec
from bnfuzz.judge.verdict import Verdict


def lead(spec: Spec) -> int:
    """Axes of x and cotangent that come before those of the Spec's shape: trial, and step in a sequence."""
    return 1 if len(spec.steps) == 1 else 2


def pick(case: Case, index: Mapping[int, Sequence[int]]) -> Case:
    """The case with only the given positions along the given axes of x, and what belongs to them."""
    spec = case.spec
    arrays = dict(case.inputs.items())
    for axis, positions in index.items():
        for name, array in arrays.items():
            place = _place(spec, name, axis)
            if place is not None:
                arrays[name] = np.take(array, np.asarray(positions, dtype=np.intp), axis=place)
    shape = tuple(len(index[axis]) if axis in index else size for axis, size in enumerate(spec.shape))
    return Case(spec=replace(spec, shape=shape), inputs=Inputs(**arrays))


def _place(spec: Spec, name: str, axis: int) -> int | None:
    """Where an axis of x is in one of the arrays, None where that array does not have it."""
    if name in ("x", "cotangent"):
        return lead(spec) + axis
    axes = spec.affine_axes if name in ("gamma", "beta") else spec.kept_axes
    return 1 + axes.index(axis) if axis in axes else None


def is_batch_norm_like(spec: Spec) -> bool:
    """Whether everything is reduced but one axis, along which the parameters run."""
    return len(spec.kept_axes) == 1 and spec.kept_axes == spec.affine_axes and len(spec.reduced_axes) > 0


def flattened(case: Case) -> Case | None:
    """Rank 2, values by channels, of a case with one channel axis; None for others."""
    spec = case.spec
    if not is_batch_norm_like(spec) or (spec.rank == 2 and spec.parameter_axes == (1,)):
        return None
    channel = spec.kept_axes[0]
    shape = (spec.n, spec.shape[channel])
    arrays = dict(case.inputs.items())
    for name in ("x", "cotangent"):
        if name in arrays:
            moved = np.moveaxis(arrays[name], lead(spec) + channel, -1)
            arrays[name] = moved.reshape(*moved.shape[: lead(spec)], *shape)
    return Case(spec=replace(spec, shape=shape, reduced_axes=(0,), parameter_axes=(1,)), inputs=Inputs(**arrays))


def without_axis(case: Case, axis: int) -> Case | None:
    """Without an axis of length 1 that the statistics are taken over and no parameter runs along; else None."""
    spec = case.spec
    if spec.shape[axis] != 1 or axis not in spec.reduced_axes or axis in spec.affine_axes or len(spec.reduced_axes) < 2:
        return None
    return _reshaped(case, axis, spec.shape[:axis] + spec.shape[axis + 1 :])


def merged(case: Case, axis: int) -> Case | None:
    """With `axis` and the one after it as one axis; None unless statistics alone are taken over both."""
    spec = case.spec
    both = {axis, axis + 1}
    if not both <= set(spec.reduced_axes) or both & set(spec.affine_axes):
        return None
    product = spec.shape[axis] * spec.shape[axis + 1]
    return _reshaped(case, axis, (*spec.shape[:axis], product, *spec.shape[axis + 2 :]))


def _reshaped(case: Case, gone: int, shape: tuple[int, ...]) -> Case:
    """The same values in a shape of one axis less; `gone` names a reduced axis that the later ones close up on."""
    spec = case.spec
    arrays = dict(case.inputs.items())
    for name in ("x", "cotangent"):
        if name in arrays:
            arrays[name] = arrays[name].reshape(*arrays[name].shape[: lead(spec)], *shape)
    reduced = tuple(axis - (axis > gone) for axis in spec.reduced_axes if axis != gone)
    parameters = tuple(axis - (axis > gone) for axis in spec.affine_axes)
    return Case(
        spec=replace(spec, shape=shape, reduced_axes=reduced, parameter_axes=parameters), inputs=Inputs(**arrays)
    )


def with_steps(case: Case, kept: Sequence[int]) -> Case:
    """Only the steps of these numbers, from the same first running statistics."""
    spec = case.spec
    arrays = dict(case.inputs.items())
    for name in ("x", "cotangent"):
        if name in arrays:
            arrays[name] = arrays[name][:, kept[0]] if len(kept) == 1 else arrays[name][:, list(kept)]
    return Case(spec=replace(spec, steps=tuple(spec.steps[step] for step in kept)), inputs=Inputs(**arrays))


def worst_place(spec: Spec, verdict: Verdict) -> dict[int, int]:
    """axis of x -> position of the worst element, for the axes that the verdict's output has."""
    if verdict.output in ("y", "dx"):
        axes = tuple(range(spec.rank))
    elif verdict.output in ("dgamma", "dbeta"):
        axes = spec.affine_axes
    else:
        axes = spec.kept_axes
    if len(verdict.index) != len(axes):
        return {}
    return {axis: place for axis, place in zip(axes, verdict.index, strict=True) if place < spec.shape[axis]}


def profile(case: Case, axis: int, at: Mapping[int, int]) -> Array:
    """x along one axis as float64, through the given place (position 0 where it says nothing, first step)."""
    spec = case.spec
    if not spec.size:
        return np.zeros(spec.shape[axis])
    x = case.inputs.x[(0,) * lead(spec)]
    place = tuple(slice(None) if i == axis else at.get(i, 0) for i in range(spec.rank))
    values: Array = np.asarray(x[place], dtype=np.float64)
    return values
