"""What `mx.nd.BatchNorm` documents, and a program around it: shared by `mxnet` and `mxnet-defaults`.

It takes float16 data with float32 parameters and, as measured, rounds every elementwise intermediate to
float16 (so `compute` is the data's format). It updates the running statistics in place, in backward, and refuses empty
arrays (0 means unknown in its shapes). eps is stored as float64 (its default is the float32 nearest to 1e-3),
momentum as float32.
"""

from __future__ import annotations

from typing import Any

from bnfuzz.backends.base import Arrays, Program
from bnfuzz.backends.mxnet_arrays import Call, program_of, scalars, stages_of
from bnfuzz.case import Spec
from bnfuzz.conventions import Conventions, FormatTriple

FORMATS: tuple[FormatTriple, ...] = (
    ("float32", "float32", "float32"),
    ("float64", "float64", "float64"),
    ("float16", "float32", "float32"),
)


def operator_conventions(source: str, **others: Any) -> Conventions:
    """The operator's conventions; `others` are what a variant of the call does differently."""
    values: dict[str, Any] = {
        "default_eps": 0.0010000000474974513,
        "default_momentum": 0.9,
        "momentum_weighs": "old",
        "momentum_format": "float32",
        "formats": FORMATS,
        "ranks": (1, 8),
        "affine": "both",
        "running": "needed",
        "statistics_written": "backward",
    }
    return Conventions(source=source, **{**values, **others})


def operator_program(spec: Spec, conventions: Conventions, **flags: bool) -> Program:
    """`flags` go to BatchNorm as they are, beside the Spec's eps, momentum and axis."""
    return program_of(spec, operator_call(spec, conventions, **flags), state_after_backward=True)


def operator_stages(spec: Spec, conventions: Conventions, arrays: Arrays, **flags: bool) -> Arrays:
    """`Backend.observe` of such a call."""
    return stages_of(spec, operator_call(spec, conventions, **flags), arrays)


def operator_call(spec: Spec, conventions: Conventions, **flags: bool) -> Call:
    """BatchNorm on the arrays by name."""
    from mxnet import nd

    given = {**scalars(spec, conventions), **flags, "axis": spec.parameter_axes[0]}

    def call(handed: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        names = ("x", "gamma", "beta", "running_mean", "running_var")
        return nd.BatchNorm(*(handed[name] for name in names), **given), {}

    return call
