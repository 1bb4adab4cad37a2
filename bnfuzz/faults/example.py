"""Inputs that show a fault: a Spec, and one family of data drawn for it.

The families keep everything away from its default: gamma of both signs, beta, buffers and cotangent unlike 0 and 1,
channels of different scale. A unit test with standard normal x, gamma 1 and beta 0 misses half of the faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Case, Inputs, Layout, Mode, Operation, Spec, expected_arrays
from bnfuzz.conventions import Conventions, FormatTriple
from bnfuzz.faults.geometry import geometry

Family = Literal[
    "telling",
    "near_eps",
    "offset",
    "constant",
    "large_constant",
    "large",
    "large_sums",
    "large_buffers",
    "nonfinite",
    "repeated_rows",
]


@dataclass(frozen=True, kw_only=True)
class Example:
    """The smallest sort of case that shows a fault.

    family   telling        scales, offsets, parameters, buffers and cotangent all unlike each other
             near_eps       variances (batch and running) of the order of eps
             offset         mean far larger than the spread, for the compute format
             constant       one value per channel
             large_constant one value per channel, so large that x*r rounds by 100; beta of that order
             large          deviations over 256 but under 65504
             large_buffers  running variance over 65504, short of nothing else
             nonfinite      a NaN in the first channel
             repeated_rows  all samples equal, which a stride of 0 can express
    """

    family: Family = "telling"
    shape: tuple[int, ...] = (4, 3, 2)
    channel_axis: int = 1
    steps: tuple[Mode, ...] = ("training",)
    eps: float = 1e-3
    momentum: float = 0.3
    layout_x: Layout = "contiguous"
    layout_cotangent: Layout = "contiguous"
    operation: Operation = "batch_norm"

    def spec(self, triple: FormatTriple = ("float32", "float32", "float32")) -> Spec:
        """The Spec, in the given (data, parameter, statistics) formats."""
        rank = len(self.shape)
        reduced = tuple(axis for axis in range(rank) if axis != self.channel_axis % rank)
        parameters: tuple[int, ...] = (self.channel_axis,)
        if self.operation == "group_norm":
            reduced, parameters = tuple(range(2, rank)), (1, 2)
        return Spec(
            operation=self.operation,
            shape=self.shape,
            reduced_axes=reduced,
            parameter_axes=parameters,
            data_format=triple[0],
            parameter_format=triple[1],
            statistics_format=triple[2],
            eps=self.eps,
            momentum=self.momentum,
            steps=self.steps,
            layout_x=self.layout_x,
            layout_cotangent=self.layout_cotangent,
        )

    def case(
        self, conventions: Conventions, triple: FormatTriple = ("float32", "float32", "float32"), seed: int = 0
    ) -> Case:
        """One trial of the family, drawn from `seed`."""
        return drawn_case(self.spec(triple), self.family, conventions, seed)


def drawn_case(spec: Spec, family: Family, conventions: Conventions, seed: int = 0) -> Case:
    """One trial of a family for any Spec; where its eps is None, for the default that the conventions state."""
    rng = np.random.default_rng(seed)
    stated = spec if spec.eps is not None else replace(spec, eps=conventions.default_eps)
    drawn = _telling(stated, rng)
    if spec.size:
        FAMILIES[family](drawn, stated, conventions, rng)
    arrays = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        with np.errstate(over="ignore", under="ignore"):
            arrays[name] = drawn[name].reshape(1, *shape).astype(formats.named(format_name).dtype)
    return Case(spec=spec, inputs=Inputs(**arrays))


Drawn = dict[str, Array]
"""Arrays by name in float64; x and cotangent always with a leading step axis."""


def _per_step(spec: Spec, columns: Callable[[], Array]) -> Array:
    """One array of x's shape per step, from columns (n, C)."""
    return np.stack([geometry(spec).from_columns(columns()) for _ in spec.steps])


def _telling(spec: Spec, rng: np.random.Generator) -> Drawn:
    view = geometry(spec)
    n, columns, count = view.n, view.columns, int(np.prod(spec.parameter_shape))
    scale = 2.0 ** (np.arange(columns) % 4)
    offset = scale * (1.5 + np.arange(columns) % 3) * (-1.0) ** np.arange(columns)
    x = _per_step(spec, lambda: offset + scale * rng.standard_normal((n, columns)))
    spread = np.stack([view.from_columns((view.to_columns(step) - offset) / scale) for step in x])
    return {
        "x": x,
        "cotangent": 0.7 + rng.standard_normal(x.shape) + 0.8 * spread,
        "gamma": (1.5 + rng.random(count)) * (-1.0) ** (1 + np.arange(count)),
        "beta": (0.8 + rng.random(count)) * (-1.0) ** (np.arange(count) // 2),
        "running_mean": -0.5 * offset,
        "running_var": (4.0 + rng.random(columns)) * scale**2,
    }


def _as_drawn(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    del drawn, spec, conventions, rng


def _near_eps(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    del conventions
    root = float(np.sqrt(spec.eps or 0.0))
    drawn["x"] = root * (0.5 + rng.standard_normal(drawn["x"].shape))
    drawn["running_mean"] = root * (1.0 + rng.random(drawn["running_mean"].shape))
    drawn["running_var"] = root**2 * (0.5 + rng.random(drawn["running_var"].shape))


def _offset(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    compute = conventions.compute_format(spec.data_format)
    ratio = min(2.0 * compute.unit_roundoff**-0.5, 0.1 / formats.named(spec.data_format).unit_roundoff)
    drawn["x"] = ratio + rng.standard_normal(drawn["x"].shape)
    drawn["running_mean"] = np.full_like(drawn["running_mean"], ratio)


def _constant(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    del conventions
    view = geometry(spec)
    value = 0.07 + 0.1 * rng.random(view.columns)
    drawn["x"] = _per_step(spec, lambda: np.broadcast_to(value, (view.n, view.columns)))


def _large_constant(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    _constant(drawn, spec, conventions, rng)
    compute = conventions.compute_format(spec.data_format)
    drawn["x"] *= 1000.0 * np.sqrt(spec.eps or 0.0) / compute.unit_roundoff
    drawn["beta"] *= 100.0


def _large(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    del spec, conventions
    drawn["x"] = 3000.0 * rng.standard_normal(drawn["x"].shape)


def _large_sums(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    """Deviations of which each squared is below 65504, the largest number of float16, and three of them are not."""
    del conventions
    view = geometry(spec)

    def columns() -> Array:
        signs = (-1.0) ** np.arange(view.n)[:, None]
        return 180.0 * signs * (1.0 + 0.02 * rng.random((view.n, view.columns)))

    drawn["x"] = _per_step(spec, columns)


def _large_buffers(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    del spec, conventions
    drawn["running_var"] = 1e5 * (1.0 + rng.random(drawn["running_var"].shape))


def _nonfinite(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    del conventions, rng
    view = geometry(spec)
    for step, values in enumerate(drawn["x"]):
        columns = view.to_columns(values).copy()
        columns[0, 0] = np.nan
        drawn["x"][step] = view.from_columns(columns)


def _repeated_rows(drawn: Drawn, spec: Spec, conventions: Conventions, rng: np.random.Generator) -> None:
    del conventions, rng
    axis = spec.reduced_axes[0]
    for name in ("x", "cotangent"):
        first = np.take(drawn[name], [0], axis=1 + axis)
        drawn[name] = np.repeat(first, spec.shape[axis], axis=1 + axis)


FAMILIES: Mapping[Family, Callable[[Drawn, Spec, Conventions, np.random.Generator], Any]] = MappingProxyType(
    {
        "telling": _as_drawn,
        "near_eps": _near_eps,
        "offset": _offset,
        "constant": _constant,
        "large_constant": _large_constant,
        "large": _large,
        "large_sums": _large_sums,
        "large_buffers": _large_buffers,
        "nonfinite": _nonfinite,
        "repeated_rows": _repeated_rows,
    }
)
