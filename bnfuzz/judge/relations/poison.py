"""Poisoned channels: where a channel holds NaN or Inf, the others have the bits that they have without it.

The poisoned channel's own outputs are unspecified. Every other channel is compared with a run in which finite
numbers stand in the poison's place: y, gradients, and the running statistics after the batch.
"""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Inputs, Spec
from bnfuzz.judge.relations.channels import places
from bnfuzz.judge.relations.groups import nonfinite_groups, parameters_are_per_group, reached
from bnfuzz.judge.relations.relation import Draws, Relation, Variant
from bnfuzz.numerics.tracked import Flag

HARMLESS = {"x": 1.0, "cotangent": 1.0, "gamma": 1.0, "beta": 0.0, "running_mean": 0.0, "running_var": 1.0}
"""What stands in a NaN's or an infinity's place: one number, so that values that were all equal stay so."""


def vary(spec: Spec, inputs: Inputs, draws: Draws) -> Variant | str:
    del draws
    if spec.size == 0:
        return "there are no values"
    groups = poisoned_groups(spec, inputs)
    axes = tuple(range(1, groups.ndim))
    telling: Flag = np.any(groups, axis=axes) & ~np.all(groups, axis=axes)
    if not np.any(telling):
        return "no channel beside a sound one holds NaN or Inf"
    where = places(spec, groups)
    arrays = {}
    for name, array in inputs.items():
        arrays[name] = array
        if name in where:
            bad = ~np.isfinite(np.asarray(array, np.float64))
            arrays[name] = np.where(bad, np.asarray(HARMLESS[name], array.dtype), array)
    return Variant(
        spec=spec,
        inputs=Inputs(**arrays),
        what=tuple("without NaN and Inf in their channels" if tells else "" for tells in telling),
        reached=reached(spec, groups),
    )


def poisoned_groups(spec: Spec, inputs: Inputs) -> Flag:
    """(K, *statistics_shape): groups with a NaN or an infinity in anything that is theirs alone."""
    bad = nonfinite_groups(spec, inputs.x)
    if inputs.cotangent is not None:
        bad |= nonfinite_groups(spec, inputs.cotangent)
    for buffer in (inputs.running_mean, inputs.running_var):
        if buffer is not None:
            bad |= ~np.isfinite(np.asarray(buffer, np.float64))
    if parameters_are_per_group(spec):
        ascending = sorted(spec.affine_axes)
        order = (0, *(1 + spec.affine_axes.index(axis) for axis in ascending))
        for parameter in (inputs.gamma, inputs.beta):
            if parameter is not None:
                bad |= ~np.isfinite(np.asarray(parameter, np.float64)).transpose(order)
    return bad


POISON = Relation(
    name="poisoned channels",
    says="a NaN or Inf in one channel leaves every other channel's bits alone",
    exact=True,
    kind="leak",
    vary=vary,
)
