"""The implementation under the probes: a black box that takes a Spec and Inputs, and what it is said to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bnfuzz import formats
from bnfuzz.backends.pool import Pool, Reply
from bnfuzz.case import Array, Inputs, Mode, Outputs, Spec, batch_norm_spec, expected_arrays, expected_outputs
from bnfuzz.conventions import Conventions, FormatTriple
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.errors import InfrastructureError
from bnfuzz.formats import Format
from bnfuzz.numerics.values import Float

ROWS, CHANNELS = 4, 64
"""Size of most probes. n = 4 divides without rounding."""

SINGLE: FormatTriple = ("float32", "float32", "float32")
DOUBLE: FormatTriple = ("float64", "float64", "float64")

EPS, NEW_WEIGHT = 2.0**-10, 0.25
"""Of most probes: numbers of every format."""

INEXACT = 0.1
"""No number of any binary format, so each format stores another one."""

MESSAGE_LENGTH = 160
ONE: Float = np.ones((1, 1))


@dataclass(frozen=True, eq=False)
class Subject:
    """One backend of the pool. Nothing of its conventions is relied upon but how to reach it.

    It is not called again once it has hung: each further call might take as long as the deadline allows.
    """

    pool: Pool
    name: str
    _hung: list[str] = field(default_factory=list)
    _known: dict[str, str] = field(default_factory=dict)

    def known(self, question: str, find: Callable[[], str]) -> str:
        """An answer that several probes build upon, found once."""
        if question not in self._known:
            self._known[question] = find()
        return self._known[question]

    @cached_property
    def conventions(self) -> Conventions:
        return self.pool.conventions(self.name)

    @cached_property
    def main(self) -> FormatTriple:
        """The formats of most probes: float32 throughout where that is accepted."""
        offered = self.conventions.formats
        return SINGLE if SINGLE in offered else offered[0]

    @cached_property
    def finest(self) -> FormatTriple:
        """float64 throughout where that is accepted: it shows in which format a scalar is kept."""
        return DOUBLE if DOUBLE in self.conventions.formats else self.main

    @property
    def format(self) -> Format:
        """The data format of most probes."""
        return formats.named(self.main[0])

    @property
    def axis(self) -> int:
        """A channel axis that it has."""
        return 1 if self.conventions.channel_axes == "any" else self.conventions.channel_axes

    def spec(
        self,
        shape: tuple[int, ...] | None = None,
        *,
        axis: int | None = None,
        mode: Mode = "training",
        triple: FormatTriple | None = None,
        **others: Any,
    ) -> Spec:
        """A Spec of (ROWS, CHANNELS), or of another shape, on a channel axis that the implementation has.

        Probes that differ in their data alone share it, so that a compiling framework compiles it once.

        A scalar that the call has no argument for is left to its default.
        """
        along = self.axis if axis is None else axis
        if shape is None:
            shape = (CHANNELS, ROWS) if along == 0 else (ROWS, CHANNELS)
            shape += (1,) * (self.conventions.ranks[0] - len(shape))
        data, parameters, statistics = triple or self.main
        given: dict[str, Any] = {"eps": EPS, "momentum": NEW_WEIGHT, **others}
        return batch_norm_spec(
            shape,
            along,
            data_format=data,
            parameter_format=parameters,
            statistics_format=statistics,
            steps=(mode,),
            **given | dict.fromkeys(self.conventions.fixed_scalars),
        )

    def settable(self, scalar: str) -> None:
        """CannotTell where the call has no argument for eps or momentum."""
        if scalar in self.conventions.fixed_scalars:
            raise CannotTell(f"the call takes no {scalar}")

    def run(self, spec: Spec, inputs: Inputs) -> Reply:
        """Whatever happens, documented or not; outputs of another shape than is due count as an error."""
        if self._hung:
            return Reply(backend=self.name, status="hang", message=f"{self._hung[0]}; not called again")
        reply = self.pool.probe(self.name, spec, inputs)
        if reply.status == "hang":
            self._hung.append(reply.message)
        wrong = misshapen(spec, inputs.trials, reply.outputs)
        return replace(reply, status="error", outputs=None, message=wrong) if wrong else reply

    def outputs(self, spec: Spec, inputs: Inputs) -> Outputs:
        """What it gives; CannotTell where it refuses, dies or hangs."""
        reply = self.run(spec, inputs)
        if reply.outputs is None:
            raise CannotTell(f"the call ends in {refusal(reply)}")
        return reply.outputs

    def output(self, name: str, spec: Spec, inputs: Inputs) -> Array:
        """One output, in the shape and format that are due; CannotTell where it is not offered."""
        return offered(self.outputs(spec, inputs), name)

    def observe(self, spec: Spec, inputs: Inputs) -> dict[str, Array]:
        """A training call taken apart; empty where the adapter or the framework does not let us look."""
        try:
            return self.pool.observe(self.name, spec, inputs)
        except InfrastructureError:
            return {}


def misshapen(spec: Spec, trials: int, outputs: Outputs | None) -> str:
    """What is wrong with the shapes of the outputs; "" where nothing is."""
    due = expected_outputs(spec)
    for name, array in outputs.items() if outputs is not None else ():
        shape = (trials, *due[name][0]) if name in due else array.shape
        if array.shape != shape:
            return f"{name} has shape {array.shape[1:]} where {shape[1:]} is due"
    return ""


def offered(outputs: Outputs, name: str) -> Array:
    """An output by name; CannotTell where it is absent."""
    array: Array | None = getattr(outputs, name)
    if array is None:
        raise CannotTell(f"{name} is not offered")
    return array


def refusal(reply: Reply) -> str:
    """Why there are no outputs, in one clause."""
    lines = [line.strip() for line in reply.message.splitlines() if line.strip()] or [""]
    # Some frameworks hand on the traceback of their own core: its last line says what went wrong.
    first = lines[-1] if "Traceback" in lines[0] else lines[0]
    clipped = first if len(first) <= MESSAGE_LENGTH else first[:MESSAGE_LENGTH] + "…"
    return f"a {reply.status}: {clipped}" if reply.status != "error" else f"an error: {clipped}"


def arrange(spec: Spec, columns: Float) -> Float:
    """(K, n, C) or (n, C), or what broadcasts to it -> (K, *shape): the values of each channel along the other axes."""
    axis = spec.affine_axes[0]
    lead = columns if columns.ndim == 3 else columns[np.newaxis]
    full = np.broadcast_to(lead, (len(lead), spec.n, spec.shape[axis]))
    others = tuple(spec.shape[reduced] for reduced in spec.reduced_axes)
    return np.moveaxis(full.reshape(len(full), *others, spec.shape[axis]), -1, 1 + axis)


def columns_of(spec: Spec, array: Array) -> Float:
    """(K, *shape) -> (K, n, C) in float64."""
    moved = np.moveaxis(np.asarray(array, dtype=np.float64), 1 + spec.affine_axes[0], -1)
    return moved.reshape(len(array), spec.n, spec.parameter_shape[0])


def inputs_of(spec: Spec, columns: Float, *, cotangent: Float = ONE, **others: Float | float) -> Inputs:
    """Inputs of K trials: x and the cotangent by columns (see `arrange`), others per channel, plain unless given."""
    x = arrange(spec, columns)
    plain: dict[str, Float | float] = {"gamma": 1.0, "beta": 0.0, "running_mean": 0.0, "running_var": 1.0}
    values = {**plain, **others, "x": x, "cotangent": arrange(spec, cotangent)}
    arrays = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        wide = np.broadcast_to(np.asarray(values[name], dtype=np.float64), (len(x), *shape))
        arrays[name] = wide.astype(formats.named(format_name).dtype)
    return Inputs(**arrays)


def alternating(size: Float | float) -> Float:
    """(n, C) columns +size, −size, +size, …: mean exactly 0, variance size² exactly where that is a number."""
    signs = np.where(np.arange(ROWS) % 2 == 0, 1.0, -1.0)[:, np.newaxis]
    return signs * np.asarray(size, dtype=np.float64)
