"""Plain versions of everything about a Case that is not x: parameters, state, scalars, layouts, cotangent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bnfuzz.case import Array, Case, Inputs, Spec, expected_arrays
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.block import Block
from bnfuzz.shrink.measure import PLAIN_EPS, PLAIN_MOMENTUM, PLAIN_VALUE

_NEEDS = {
    "dgamma": "has_gamma",
    "dbeta": "has_beta",
    "new_running_mean": "has_running",
    "new_running_var": "has_running",
}
"""What an output cannot be there without."""


def respecified(case: Case, **changes: Any) -> Case:
    """The case with a changed Spec of the same shape; arrays that it does without are left out."""
    spec = replace(case.spec, **changes)
    needed = expected_arrays(spec)
    return Case(spec=spec, inputs=Inputs(**{name: array for name, array in case.inputs.items() if name in needed}))


def bare(case: Case, verdict: Verdict) -> Case:
    """With nothing that the failing output does not need, and plain scalars, layouts and axes."""
    spec = case.spec
    needed = _NEEDS.get(verdict.output)
    changes: dict[str, Any] = {
        name: False
        for name in ("has_gamma", "has_beta", "has_running")
        if name != needed and not (name == "has_running" and "inference" in spec.steps)
    }
    if verdict.output not in ("dx", "dgamma"):
        changes["cotangent"] = "sum"
    present = {name: flag for name, flag in changes.items() if getattr(spec, name)}
    return respecified(tidied(case), **present, **_plain_scalars(spec))


def tidied(case: Case) -> Case:
    """In contiguous memory, with axes counted from the front."""
    return respecified(case, layout_x="contiguous", layout_cotangent="contiguous", parameter_axes=case.spec.affine_axes)


def _plain_scalars(spec: Spec) -> dict[str, float]:
    scalars = {}
    if spec.eps not in (PLAIN_EPS, None):
        scalars["eps"] = PLAIN_EPS
    if spec.momentum not in (PLAIN_MOMENTUM, None):
        scalars["momentum"] = PLAIN_MOMENTUM
    return scalars


def with_plain_values(case: Case, *names: str) -> Case:
    """With every element of the named arrays at its plain value (gamma 1, beta 0, ...)."""
    arrays: dict[str, Array] = {
        name: np.full_like(array, PLAIN_VALUE[name]) if name in names else array for name, array in case.inputs.items()
    }
    return Case(spec=case.spec, inputs=Inputs(**arrays))


def plain_features(case: Case, verdict: Verdict) -> Iterator[Block]:
    """Everything bare at once, then one feature of the Spec after the other, without it or plain."""
    spec = case.spec
    yield Block("nothing that is not needed", (bare(case, verdict),))
    yield Block("contiguous memory, axes counted from the front", (tidied(case),))
    for layout in ("layout_x", "layout_cotangent"):
        if getattr(spec, layout) != "contiguous":
            yield Block(f"{layout} contiguous", (respecified(case, **{layout: "contiguous"}),))
    if spec.cotangent != "sum":
        yield Block("loss sum(y)", (respecified(case, cotangent="sum"),))
    for name in ("has_gamma", "has_beta", "has_running"):
        if getattr(spec, name) and not (name == "has_running" and "inference" in spec.steps):
            yield Block(f"no {name.removeprefix('has_')}", (respecified(case, **{name: False}),))
    for name, value in _plain_scalars(spec).items():
        yield Block(f"{name} {value}", (respecified(case, **{name: value}),))


def plain_arrays(case: Case, verdict: Verdict) -> Iterator[Block]:
    """gamma 1, beta 0, running statistics 0 and 1, cotangent of ones: all together, all but one, one alone."""
    del verdict
    names = [name for name, _ in case.inputs.items() if name != "x"]
    if names:
        groups = [names, *([n for n in names if n != name] for name in names), *([name] for name in names)]
        yield Block("plain parameters", tuple(with_plain_values(case, *group) for group in groups if group))
