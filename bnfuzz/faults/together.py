"""All K trials of a batch norm in one pass of a kernel: the trials become more columns.

A kernel works on (n, C) columns and keeps every statistic to its own column, so K trials of C channels are one run
over (n, K·C): the same operations on the same numbers, in the same format and order, hence the same bits as one
trial after the other. A kernel that mixes columns (a fault that does) must not be run so.
"""

from __future__ import annotations

from dataclasses import replace

from bnfuzz.case import OUTPUT_NAMES, Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError
from bnfuzz.faults.kernel import Kernel
from bnfuzz.faults.run import run_trial


def run_together(kernel: Kernel, spec: Spec, inputs: Inputs, conventions: Conventions) -> Outputs:
    """The outputs of K trials of a one-step batch norm on contiguous arrays."""
    if spec.operation != "batch_norm" or len(spec.steps) != 1:
        raise UsageError(f"operation={spec.operation!r}, steps={spec.steps}: only a batch norm of one step is run so")
    arrays = {name: array.copy() for name, array in inputs.items()}
    outputs = run_trial(_with_loss_of(kernel, spec), _with_trials(spec, inputs.trials), arrays, conventions)
    return Outputs(**{name: outputs[name] for name in OUTPUT_NAMES if name in outputs})


def _with_trials(spec: Spec, trials: int) -> Spec:
    """The Spec with a leading axis of trials, kept like the channels: each trial has statistics and parameters."""
    return replace(
        spec,
        shape=(trials, *spec.shape),
        reduced_axes=tuple(1 + axis for axis in spec.reduced_axes),
        parameter_axes=(0, *(1 + axis for axis in spec.affine_axes)),
        layout_x="contiguous",
        layout_cotangent="contiguous",
    )


def _with_loss_of(kernel: Kernel, spec: Spec) -> Kernel:
    """The kernel with a loss mean(y*y) over one trial's elements, not over all trials'."""
    if spec.cotangent != "mean_square":
        return kernel
    return replace(kernel, cotangent=lambda p: kernel.cotangent(replace(p, spec=spec)))
