"""The fault catalogue: deviations that real implementations have shipped, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bnfuzz.faults import (
    affine,
    axes,
    buffers,
    degenerate,
    deviation,
    gradients,
    memory,
    narrow,
    ranks,
    statistics,
)
from bnfuzz.faults.fault import Fault

GROUPS = (statistics, deviation, affine, gradients, buffers, narrow, axes, ranks, memory, degenerate)

CATALOGUE: Mapping[str, Fault] = MappingProxyType({fault.name: fault for group in GROUPS for fault in group.FAULTS})
"""Name -> Fault. A new entry is one `fault(...)` in the module of its group."""

OUT_OF_REACH: Mapping[str, str] = MappingProxyType(
    {
        "update_only_in_backward": "every step of a Spec runs forward and backward, so when the buffers were written "
        "does not show; `Conventions.statistics_written` states it",
        "nonfinite_sticks": "the update w_old*old + w_new*new keeps a NaN for ever in every sound kernel too; "
        "what must not happen, reaching other channels, is cross_channel_leak",
        "mask_weight_sum": "a Spec has no mask",
        "mask_ignored": "a Spec has no mask",
        "int32_index": "needs more than 2^31 elements, or a device with a grid limit",
        "one_output_mode": "is about a graph's declared outputs and attributes, which one call does not have",
        "no_grad_input": "a Spec asks for all gradients; it does not choose which inputs require one",
        "vmap_batch_axis": "needs a framework's vectorising transformation",
    }
)
"""Rows of the collection that one process on one CPU cannot show through this vocabulary, and why."""
