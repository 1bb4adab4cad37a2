"""Permutation: permuted samples give permuted y and dx, and the same statistics and parameter gradients."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array, Inputs, Spec
from bnfuzz.judge.relations.relation import Draws, Relation, Variant


def vary(spec: Spec, inputs: Inputs, draws: Draws) -> Variant | str:
    axes = [axis for axis in spec.reduced_axes if spec.shape[axis] > 1]
    if spec.size == 0 or not axes:
        return "there are not two samples"
    axis = axes[draws[0].integers(len(axes))]
    order = draws[0].permutation(spec.shape[axis])
    if np.array_equal(order, np.arange(len(order))):
        order = np.roll(order, 1)
    backwards = np.argsort(order)
    along = _axis_in(spec, axis)
    moved = {
        name: array if along[name] is None else np.take(array, order, axis=along[name])
        for name, array in inputs.items()
    }

    def back(name: str, array: Array) -> Array:
        place = along[name]
        return array if place is None else np.take(array, backwards, axis=place)

    return Variant(
        spec=spec,
        inputs=Inputs(**moved),
        what=(f"axis {axis} permuted",) * inputs.trials,
        back=back,
    )


def _axis_in(spec: Spec, axis: int) -> dict[str, int | None]:
    """Input or output -> where it has x's axis, trial axis counted, or None. One step only."""
    parameter = 1 + spec.affine_axes.index(axis) if axis in spec.affine_axes else None
    full = dict.fromkeys(("x", "cotangent", "y", "dx"), 1 + axis)
    affine = dict.fromkeys(("gamma", "beta", "dgamma", "dbeta"), parameter)
    buffers = ("running_mean", "running_var", "batch_mean", "batch_var", "new_running_mean", "new_running_var")
    return {**full, **affine, **dict.fromkeys(buffers)}


PERMUTATION = Relation(
    name="permutation",
    says="permuted samples give permuted y and dx, and the same of everything else, within bounds",
    exact=False,
    vary=vary,
)
