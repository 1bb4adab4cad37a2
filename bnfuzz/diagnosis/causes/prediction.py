"""What a kernel of the catalogue predicts for an input: an enclosure of every output, step by step.

The kernel is run on enclosures. Where a step is the textbook's own, the other forms that count as sound for it are
run as well, and the prediction is their hull: y as d·(γ·r) + β (in inference also folded), dx as automatic
differentiation builds it (and in stored parts, where the backend's conventions say so), running statistics as
old + w·(new − old). A sequence is predicted from the state that the backend itself left after the step before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bnfuzz import formats, layouts
from bnfuzz.case import Array, Inputs, Mode, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.causes.enclosure import (
    PARTS,
    Enclosure,
    Setting,
    constant,
    given,
    hull,
    lifted,
    scalar,
    spread,
    total,
)
from bnfuzz.faults import affine, sound, textbook
from bnfuzz.faults.buffers import mean_by, variance_by
from bnfuzz.faults.geometry import geometry
from bnfuzz.faults.kernel import Kernel, Pass, State
from bnfuzz.faults.run import per_column
from bnfuzz.formats import FormatName
from bnfuzz.numerics.roundings import BUFFER_ROUNDINGS, LOSS_ROUNDINGS

Predicted = dict[str, Enclosure]
"""Output name -> its enclosure, in the shape of one trial's output."""


@dataclass(kw_only=True)
class EnclosedPass(Pass):
    """A Pass over enclosures."""

    setting: Setting

    def scalar(self, value: float) -> Any:
        return scalar(float(value), self.setting)

    def columns(self, values: Array) -> Any:
        return given(self.geometry.to_columns(np.asarray(values)), self.setting)

    def over(self, total: Any, count: int) -> Any:
        return lifted(total, constant(0.0, self.setting)) / constant(float(count), self.setting)


@dataclass
class Memory:
    """What a kernel carries from step to step, besides the statistics that the backend itself stored."""

    trained: int = 0
    gradients: Mapping[str, Any] = field(default_factory=dict)


def predict(
    kernel: Kernel, spec: Spec, inputs: Inputs, conventions: Conventions, seen: Outputs | None = None
) -> list[Predicted]:
    """The predictions for one trial, one per step.

    seen   the outputs, whose statistics a later step starts from; None: from those predicted for the step before

    Raises whatever the kernel itself raises.
    """
    arrays = {name: array[0] for name, array in inputs.items()}
    several = len(spec.steps) > 1
    memory, predictions = Memory(), []
    mean, variance = arrays.get("running_mean"), arrays.get("running_var")
    for index, mode in enumerate(spec.steps):
        at_step = {name: a[index] if several and name in ("x", "cotangent") else a for name, a in arrays.items()}
        at_step |= {} if mean is None or variance is None else {"running_mean": mean, "running_var": variance}
        predictions.append(_step(kernel, spec, at_step, conventions, mode, memory))
        if not several or mean is None or variance is None:
            continue
        if seen is not None and seen.new_running_mean is not None and seen.new_running_var is not None:
            mean, variance = seen.new_running_mean[0, index], seen.new_running_var[0, index]
        elif seen is None:
            mean, variance = (_stored(predictions[-1][name], spec) for name in ("new_running_mean", "new_running_var"))
        else:
            break
    return predictions


def _stored(statistic: Enclosure, spec: Spec) -> Array:
    """A predicted statistic, as the step after it would find it."""
    with np.errstate(all="ignore"):
        return np.asarray(statistic).astype(formats.named(spec.statistics_format).dtype)


def _step(
    kernel: Kernel, spec: Spec, arrays: Mapping[str, Array], conventions: Conventions, mode: Mode, memory: Memory
) -> Predicted:
    compute = formats.named(kernel.working) if kernel.working else conventions.compute_format(spec.data_format)
    setting = Setting(compute, conventions.flushes_subnormals, conventions.summation)
    handed: dict[str, Any] = {}
    for name, array in arrays.items():
        if name in ("x", "cotangent"):
            handed[name] = layouts.lay_out(array, spec.layout_x if name == "x" else spec.layout_cotangent)
        else:
            handed[name] = given(array, setting)
    state = State(trained=memory.trained, gradients=memory.gradients)
    if "running_mean" in arrays:
        old_mean = given(arrays["running_mean"], setting, roundings=BUFFER_ROUNDINGS if mode == "inference" else 1.0)
        state = replace(state, running_mean=old_mean, running_var=handed["running_var"])  # type: ignore[arg-type]
    p = EnclosedPass(
        kernel=replace(kernel, total=total, cotangent=_cotangent(kernel)),  # type: ignore[arg-type]
        spec=spec,
        conventions=conventions,
        geometry=geometry(spec),
        mode=mode,
        dtype=compute.dtype,
        given=handed,
        state=state,
        setting=setting,
    )
    with np.errstate(all="ignore"):
        outputs = _collected(p, arrays)
    memory.trained += p.training
    memory.gradients = {"dgamma": p.dgamma, "dbeta": p.dbeta}
    return outputs


def _cotangent(kernel: Kernel) -> Any:
    """The kernel's own step, but for the loss mean(y·y): its roundings, in any order, in y's own format."""
    if kernel.cotangent is not textbook.cotangent:
        return kernel.cotangent

    def cotangent(p: EnclosedPass) -> Any:
        if p.spec.cotangent != "mean_square":
            # The ones of the loss sum(y) are a plain array.
            return lifted(textbook.cotangent(p), constant(0.0, p.setting))
        data = formats.named(p.spec.data_format)
        y = lifted(p.y, constant(0.0, p.setting)).astype(data.dtype)
        coarse = formats.coarser(data, p.setting.compute)
        factor = 2.0 / max(p.spec.size, 1)
        reach = np.maximum(np.abs(y.lo), np.abs(y.hi))
        # 1/size may underflow as well, and y multiplies that.
        lost = p.setting.underflow(coarse) * (LOSS_ROUNDINGS + np.where(np.isfinite(reach), 2.0 * reach, 0.0))
        exact = Enclosure(y.v * factor, y.lo * factor, y.hi * factor, y.nan, p.setting)
        return spread(exact, LOSS_ROUNDINGS * coarse.unit_roundoff, lost, coarse)

    return cotangent


def _collected(p: EnclosedPass, arrays: Mapping[str, Array]) -> Predicted:
    spec = p.spec
    outputs: Predicted = {}

    def give(name: str, values: Any, shape: tuple[int, ...], format_name: FormatName) -> None:
        enclosed = lifted(values, constant(0.0, p.setting)).reshape(shape)
        # Storing is one more rounding; the exact value is told without it.
        stored = enclosed.astype(formats.named(format_name).dtype)
        outputs[name] = Enclosure(enclosed.v, stored.lo, stored.hi, stored.nan, p.setting)

    if p.training:
        give("batch_mean", per_column(p, p.mean), spec.statistics_shape, spec.statistics_format)
        give("batch_var", per_column(p, p.variance), spec.statistics_shape, spec.statistics_format)
    give("y", _written(p, y_forms(p)), spec.shape, spec.data_format)
    if spec.has_gamma:
        give("dgamma", p.dgamma, spec.parameter_shape, spec.parameter_format)
    if spec.has_beta:
        give("dbeta", p.dbeta, spec.parameter_shape, spec.parameter_format)
    give("dx", _written(p, dx_forms(p)), spec.shape, spec.data_format)
    if "running_mean" in arrays:
        if p.running is None:
            # Bits unchanged.
            outputs["new_running_mean"] = constant(arrays["running_mean"], p.setting)
            outputs["new_running_var"] = constant(arrays["running_var"], p.setting)
        else:
            names = ("new_running_mean", "new_running_var")
            for name, values in zip(names, running_forms(p), strict=True):
                give(name, per_column(p, values), spec.statistics_shape, spec.statistics_format)
    return outputs


def _written(p: EnclosedPass, columns: Any) -> Any:
    """Columns in x's shape again, as the kernel writes them."""
    wide = lifted(columns, constant(0.0, p.setting))
    placed = p.geometry.from_columns(wide)  # type: ignore[arg-type]

    def write(array: Array) -> Array:
        return p.kernel.write(p.spec, array)

    v, lo, hi, nan = (write(getattr(placed, part)) for part in PARTS)
    return Enclosure(v, lo, hi, nan, p.setting, wide.fmt)


def y_forms(p: EnclosedPass) -> Any:
    """y by the kernel's own step, and by the other sound forms where that step is the textbook's."""
    y: Any = p.y
    # The other forms bring a normalisation of their own, and the folded one a deviation as well.
    if p.kernel.affine is not textbook.affine or p.kernel.normalise is not textbook.normalise:
        return y
    forms = [sound.scale_first(p)]
    if not p.training and p.kernel.deviation is textbook.deviation:
        forms.append(affine.folded(p))
    return hull(y, *forms)  # type: ignore[arg-type]


def dx_forms(p: EnclosedPass) -> Any:
    """dx by the kernel's own step, and as automatic differentiation builds it where that step is the textbook's."""
    dx: Any = p.dx
    if p.kernel.dx is not textbook.dx:
        return dx
    # Where every element has a statistic of its own, that form is another formula.
    forms = [sound.autodiff_dx(p)] if p.training and len(p.inverse_deviation) == 1 else []
    if p.training and p.conventions.dx_parts == "storage":
        forms.append(sound.stored_parts_dx(p))
    return hull(dx, *forms)  # type: ignore[arg-type]


def running_forms(p: EnclosedPass) -> tuple[Any, Any]:
    """The new statistics by the kernel's own steps, and by old + w·(new − old) where those are the textbook's."""
    assert p.running is not None
    mean, variance = p.running
    plain = p.kernel.updates is textbook.updates and p.geometry.n > 1
    if plain and p.kernel.running_mean is textbook.running_mean:
        mean = hull(mean, mean_by(sound.lerp)(p, p.buffers[0]))  # type: ignore[arg-type, assignment]
    if plain and p.kernel.running_var is textbook.running_var:
        variance = hull(variance, variance_by(sound.lerp)(p, p.buffers[1]))  # type: ignore[arg-type, assignment]
    return mean, variance
