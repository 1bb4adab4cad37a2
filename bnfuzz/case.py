"""The vocabulary of a trial: what is computed (Spec), on what (Inputs), and one of them together (Case)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bnfuzz import formats
from bnfuzz.errors import UsageError
from bnfuzz.formats import FormatName

Array = NDArray[Any]
Operation = Literal["batch_norm", "layer_norm", "instance_norm", "group_norm", "rms_norm"]
Mode = Literal["training", "inference"]
Cotangent = Literal["explicit", "sum", "mean_square"]
Layout = Literal["contiguous", "permuted", "sliced", "flipped", "zero_stride", "offset"]

MAX_RANK = 8
MAX_ELEMENTS = 1 << 24


def _choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name}={value!r} is not known; use one of {', '.join(map(str, allowed))}")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What is computed. Frozen and hashable: a backend builds one program per Spec.

    shape            of x, one trial's
    reduced_axes     axes that the statistics are taken over: ascending, non-negative
    parameter_axes   axes that gamma and beta run along, as the caller wrote them (negative ones allowed);
                     for batch norm the channel axis
    *_format         of x, y, dx / of gamma, beta and their gradients / of the running statistics
    eps, momentum    Python floats; None is the backend's own default. momentum is the weight of the NEW
                     statistic here, whatever the backend's argument means
    steps            modes in order, the running statistics carried from one to the next
    cotangent        explicit array, or a loss that the framework differentiates: sum(y), mean(y*y)
    layout_*         memory layout in which x and the cotangent are handed over
    """

    operation: Operation = "batch_norm"
    shape: tuple[int, ...]
    reduced_axes: tuple[int, ...]
    parameter_axes: tuple[int, ...]
    data_format: FormatName = "float32"
    parameter_format: FormatName = "float32"
    statistics_format: FormatName = "float32"
    eps: float | None = 1e-5
    momentum: float | None = 0.1
    has_gamma: bool = True
    has_beta: bool = True
    has_running: bool = True
    steps: tuple[Mode, ...] = ("training",)
    cotangent: Cotangent = "explicit"
    layout_x: Layout = "contiguous"
    layout_cotangent: Layout = "contiguous"

    def __post_init__(self) -> None:
        _choice("operation", self.operation, get_args(Operation))
        _choice("cotangent", self.cotangent, get_args(Cotangent))
        _choice("layout_x", self.layout_x, get_args(Layout))
        _choice("layout_cotangent", self.layout_cotangent, get_args(Layout))
        for name in ("data_format", "parameter_format", "statistics_format"):
            _choice(name, getattr(self, name), tuple(formats.FORMATS))
        for mode in self.steps:
            _choice("a step", mode, get_args(Mode))
        if not self.steps:
            raise UsageError("steps=() is empty; give at least one of training, inference")
        rank = len(self.shape)
        if not 1 <= rank <= MAX_RANK:
            raise UsageError(f"shape={self.shape} has rank {rank}; give between 1 and {MAX_RANK} axes")
        if any(not _is_int(size) or size < 0 for size in self.shape):
            raise UsageError(f"shape={self.shape} has an entry that is no size; give non-negative integers")
        if self.size > MAX_ELEMENTS:
            raise UsageError(f"shape={self.shape} has {self.size} elements; the limit is {MAX_ELEMENTS}")
        if any(not _is_int(axis) for axis in (*self.reduced_axes, *self.parameter_axes)):
            raise UsageError(f"axes {self.reduced_axes}, {self.parameter_axes} must be integers")
        ordered = tuple(sorted(set(self.reduced_axes)))
        if ordered != self.reduced_axes or any(not 0 <= axis < rank for axis in ordered):
            raise UsageError(f"reduced_axes={self.reduced_axes} must ascend within 0..{rank - 1}, each axis once")
        if any(not -rank <= axis < rank for axis in self.parameter_axes):
            raise UsageError(f"parameter_axes={self.parameter_axes} must lie within {-rank}..{rank - 1}")
        if len({axis % rank for axis in self.parameter_axes}) != len(self.parameter_axes):
            raise UsageError(f"parameter_axes={self.parameter_axes} names an axis twice")
        for name in ("eps", "momentum"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, float):
                raise UsageError(f"{name}={value!r} must be a float or None (the backend's default)")
        if "inference" in self.steps and not self.has_running:
            raise UsageError("an inference step needs running statistics; set has_running=True")

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements of x."""
        return int(np.prod(self.shape, dtype=object)) if self.shape else 1

    @property
    def n(self) -> int:
        """Number of values that one statistic is taken over."""
        return int(np.prod([self.shape[axis] for axis in self.reduced_axes], dtype=object))

    @property
    def kept_axes(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(self.rank) if axis not in self.reduced_axes)

    @property
    def affine_axes(self) -> tuple[int, ...]:
        """parameter_axes as non-negative numbers, in the same order."""
        return tuple(axis % self.rank for axis in self.parameter_axes)

    @property
    def statistics_shape(self) -> tuple[int, ...]:
        return tuple(self.shape[axis] for axis in self.kept_axes)

    @property
    def parameter_shape(self) -> tuple[int, ...]:
        return tuple(self.shape[axis] for axis in self.affine_axes)

    @property
    def formats(self) -> tuple[FormatName, FormatName, FormatName]:
        return (self.data_format, self.parameter_format, self.statistics_format)

    @property
    def mode(self) -> Mode:
        """The mode of a one-step Spec (of the first step otherwise)."""
        return self.steps[0]


def batch_norm_spec(shape: tuple[int, ...], channel_axis: int = 1, **others: Any) -> Spec:
    """A batch-norm Spec: every axis but the channel axis is reduced, gamma and beta run along it."""
    rank = len(shape)
    if not -rank <= channel_axis < rank:
        raise UsageError(f"channel_axis={channel_axis} must lie within {-rank}..{rank - 1} for shape {shape}")
    reduced = tuple(axis for axis in range(rank) if axis != channel_axis % rank)
    return Spec(shape=shape, reduced_axes=reduced, parameter_axes=(channel_axis,), **others)


@dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """The arrays of K trials of one Spec, each with a leading trial axis of length K.

    x and cotangent are (K, *shape), with more than one step (K, steps, *shape); gamma and beta
    (K, *parameter_shape); running_mean and running_var (K, *statistics_shape). What the Spec does without is None.
    """

    x: Array
    gamma: Array | None = None
    beta: Array | None = None
    running_mean: Array | None = None
    running_var: Array | None = None
    cotangent: Array | None = None

    @property
    def trials(self) -> int:
        return int(self.x.shape[0])

    def items(self) -> Iterator[tuple[str, Array]]:
        """(name, array) of what is present, in the order of the fields."""
        for field in fields(self):
            array = getattr(self, field.name)
            if array is not None:
                yield field.name, array

    def select(self, index: Any) -> Inputs:
        """The trials that `index` (a slice, an index array or a mask) picks; the trial axis stays."""
        return Inputs(**{name: array[index] for name, array in self.items()})

    def trial(self, k: int) -> Inputs:
        return self.select(slice(k, k + 1))

    def at_step(self, step: int, **state: Array | None) -> Inputs:
        """The inputs of one step of a sequence, with `state` (running statistics) in place of the first ones."""
        return replace(
            self,
            x=self.x[:, step],
            cotangent=None if self.cotangent is None else self.cotangent[:, step],
            **state,
        )


def expected_arrays(spec: Spec) -> dict[str, tuple[tuple[int, ...], FormatName]]:
    """name -> (shape of one trial, format) of the arrays that Inputs of this Spec hold."""
    lead = () if len(spec.steps) == 1 else (len(spec.steps),)
    arrays: dict[str, tuple[tuple[int, ...], FormatName]] = {"x": (lead + spec.shape, spec.data_format)}
    if spec.has_gamma:
        arrays["gamma"] = (spec.parameter_shape, spec.parameter_format)
    if spec.has_beta:
        arrays["beta"] = (spec.parameter_shape, spec.parameter_format)
    if spec.has_running:
        arrays["running_mean"] = (spec.statistics_shape, spec.statistics_format)
        arrays["running_var"] = (spec.statistics_shape, spec.statistics_format)
    if spec.cotangent == "explicit":
        arrays["cotangent"] = (lead + spec.shape, spec.data_format)
    return arrays


def check_inputs(spec: Spec, inputs: Inputs) -> None:
    """Raises UsageError where the arrays are not those that the Spec asks for: name, what it has, what it must have."""
    expected = expected_arrays(spec)
    present = dict(inputs.items())
    for name in sorted(set(expected) | set(present)):
        if name not in present:
            raise UsageError(f"{name} is missing; this Spec needs it")
        if name not in expected:
            raise UsageError(f"{name} is given, but this Spec does without it; leave it out")
        shape, format_name = expected[name]
        array = present[name]
        if array.shape != (inputs.trials, *shape):
            raise UsageError(f"{name} has shape {array.shape}; it must be {(inputs.trials, *shape)}")
        if array.dtype != formats.named(format_name).dtype:
            raise UsageError(f"{name} has dtype {array.dtype}; it must be {format_name}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One Spec with one trial's Inputs: what is shrunk, stored, replayed and reported."""

    spec: Spec
    inputs: Inputs

    def __post_init__(self) -> None:
        check_inputs(self.spec, self.inputs)
        if self.inputs.trials != 1:
            raise UsageError(f"a Case holds one trial, not {self.inputs.trials}; pick one with Inputs.trial(k)")


OUTPUT_NAMES = (
    "batch_mean",
    "batch_var",
    "y",
    "dgamma",
    "dbeta",
    "dx",
    "new_running_mean",
    "new_running_var",
)
"""All outputs, in data-flow order: the first failing one names a finding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outputs:
    """What a backend gave for K trials, each array with a leading trial axis. What it does not offer is None."""

    batch_mean: Array | None = None
    batch_var: Array | None = None
    y: Array | None = None
    dgamma: Array | None = None
    dbeta: Array | None = None
    dx: Array | None = None
    new_running_mean: Array | None = None
    new_running_var: Array | None = None

    def items(self) -> Iterator[tuple[str, Array]]:
        """(name, array) of what is present, in data-flow order."""
        for name in OUTPUT_NAMES:
            array = getattr(self, name)
            if array is not None:
                yield name, array

    def select(self, index: Any) -> Outputs:
        """The trials that `index` picks; the trial axis stays."""
        return Outputs(**{name: array[index] for name, array in self.items()})


def expected_outputs(spec: Spec) -> dict[str, tuple[tuple[int, ...], FormatName]]:
    """name -> (shape of one trial, format) of every output that this one-step Spec can have."""
    training = spec.mode == "training"
    outputs: dict[str, tuple[tuple[int, ...], FormatName]] = {}
    if training:
        outputs["batch_mean"] = (spec.statistics_shape, spec.statistics_format)
        outputs["batch_var"] = (spec.statistics_shape, spec.statistics_format)
    outputs["y"] = (spec.shape, spec.data_format)
    if spec.has_gamma:
        outputs["dgamma"] = (spec.parameter_shape, spec.parameter_format)
    if spec.has_beta:
        outputs["dbeta"] = (spec.parameter_shape, spec.parameter_format)
    outputs["dx"] = (spec.shape, spec.data_format)
    if spec.has_running:
        outputs["new_running_mean"] = (spec.statistics_shape, spec.statistics_format)
        outputs["new_running_var"] = (spec.statistics_shape, spec.statistics_format)
    return outputs
