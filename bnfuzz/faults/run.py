"""Runs a kernel over one trial: one step, or a sequence of steps with the running statistics carried along."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Mode, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError
from bnfuzz.faults.geometry import geometry
from bnfuzz.faults.kernel import Kernel, Pass, State
from bnfuzz.formats import FormatName

HandOver = Callable[[Mapping[str, Array]], Mapping[str, Array]]


def run_trial(
    kernel: Kernel,
    spec: Spec,
    arrays: Mapping[str, Array],
    conventions: Conventions,
    *,
    compute: FormatName | None = None,
    stored: bool = True,
) -> dict[str, Array]:
    """All outputs of a one-step Spec, by name, in the output formats.

    arrays     the trial's inputs by name, without trial axis; a fault may write into them
    compute    format of all arithmetic; by default the kernel's own, or the one that the conventions state
    stored     False leaves the outputs in the compute format: with compute="float64" they are, to float64,
               what this kernel means to compute
    """
    outputs, _ = run_step(kernel, spec, arrays, conventions, initial_state(arrays), compute=compute, stored=stored)
    return outputs


def run_steps(
    kernel: Kernel,
    spec: Spec,
    arrays: Mapping[str, Array],
    conventions: Conventions,
    *,
    compute: FormatName | None = None,
    stored: bool = True,
    hand_over: HandOver = lambda arrays: arrays,
) -> list[dict[str, Array]]:
    """The outputs of every step; x and cotangent have a leading step axis where the Spec has several steps.

    hand_over   turns one step's arrays into those that the kernel is given: puts them into a memory layout, say
    """
    several = len(spec.steps) > 1
    state = initial_state(arrays)
    results = []
    for index, mode in enumerate(spec.steps):
        at_step = {name: a[index] if several and name in ("x", "cotangent") else a for name, a in arrays.items()}
        outputs, state = run_step(
            kernel, spec, hand_over(at_step), conventions, state, mode=mode, compute=compute, stored=stored
        )
        results.append(outputs)
    return results


def initial_state(arrays: Mapping[str, Array]) -> State:
    """The state before the first step: the given running statistics, nothing trained."""
    return State(running_mean=arrays.get("running_mean"), running_var=arrays.get("running_var"))


def run_step(
    kernel: Kernel,
    spec: Spec,
    arrays: Mapping[str, Array],
    conventions: Conventions,
    state: State,
    *,
    mode: Mode | None = None,
    compute: FormatName | None = None,
    stored: bool = True,
) -> tuple[dict[str, Array], State]:
    """One step from `state`: its outputs, and the state after it."""
    if spec.operation == "rms_norm":
        raise UsageError("operation='rms_norm' has no mean, so the kernel cannot run it; use another operation")
    working = compute or kernel.working or conventions.compute_format(spec.data_format).name
    p = Pass(
        kernel=kernel,
        spec=spec,
        conventions=conventions,
        geometry=geometry(spec),
        mode=mode or spec.mode,
        dtype=formats.named(working).dtype,
        given=arrays,
        state=state,
    )
    # Overflow and NaN are results here, to be judged like any other.
    with np.errstate(all="ignore"):
        return _collect(p, stored=stored)


def _collect(p: Pass, *, stored: bool) -> tuple[dict[str, Array], State]:
    spec = p.spec
    outputs: dict[str, Array] = {}

    def give(name: str, values: Array, shape: tuple[int, ...], format_name: FormatName) -> None:
        dtype = formats.named(format_name).dtype if stored else p.dtype
        outputs[name] = values.reshape(shape).astype(dtype)

    if p.training:
        give("batch_mean", per_column(p, p.mean), spec.statistics_shape, spec.statistics_format)
        give("batch_var", per_column(p, p.variance), spec.statistics_shape, spec.statistics_format)
    give("y", p.kernel.write(spec, p.geometry.from_columns(p.y)), spec.shape, spec.data_format)
    if spec.has_gamma:
        give("dgamma", p.dgamma, spec.parameter_shape, spec.parameter_format)
    if spec.has_beta:
        give("dbeta", p.dbeta, spec.parameter_shape, spec.parameter_format)
    give("dx", p.kernel.write(spec, p.geometry.from_columns(p.dx)), spec.shape, spec.data_format)
    running_mean, running_var = p.state.running_mean, p.state.running_var
    if running_mean is not None and running_var is not None:
        if p.running is None:
            # Bits unchanged: not even rounded to the compute format and back.
            outputs["new_running_mean"], outputs["new_running_var"] = running_mean.copy(), running_var.copy()
        else:
            for name, values in zip(("new_running_mean", "new_running_var"), p.running, strict=True):
                give(name, per_column(p, values), spec.statistics_shape, spec.statistics_format)
    return outputs, State(
        running_mean=outputs.get("new_running_mean"),
        running_var=outputs.get("new_running_var"),
        trained=p.state.trained + p.training,
        gradients={"dgamma": p.dgamma, "dbeta": p.dbeta},
    )


def per_column(p: Pass, statistic: Array) -> Array:
    """(1, C) of a statistic that a fault may hold once for all columns (1, 1), or once per element (n, C)."""
    if statistic.shape[0] == 1:
        return np.broadcast_to(statistic, (1, p.geometry.columns))
    return p.over(p.kernel.total(statistic), len(statistic))
