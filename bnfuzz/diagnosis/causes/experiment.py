"""Experiments: further inputs to run an implementation on, chosen so that hypotheses predict different outputs.

They keep the case's operation and formats. First come two that tell most hypotheses from the truth; then modes,
scales of eps, momenta, small and empty batches, offsets, constant channels, layouts; and the example of every
hypothesis that is still alive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from bnfuzz.case import Case, Mode, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.causes.hypothesis import Hypothesis
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.example import Family, drawn_case

SMALL = 600
"""A case of at most so many elements lends its shape to the experiments."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """One trial to run, and what it is."""

    title: str
    case: Case


def opening(case: Case, conventions: Conventions, *, raised: bool = False) -> Iterator[Experiment]:
    """What every survivor must pass: two inputs in the case's first mode, the scales far from and near to an eps that
    is nobody's default; after a call that raised also one on which nothing has a reason to."""
    modes: tuple[Mode, ...] = (case.spec.mode,)
    yield from _possible(case, conventions, _variant(case.spec, modes, eps=2e-3), "telling")
    yield from _possible(case, conventions, _variant(case.spec, modes, eps=2e-3), "near_eps")
    if raised and case.spec.operation == "batch_norm":
        yield from _possible(case, conventions, _of_shape(replace(case.spec, steps=modes), (4, 3, 2)), "telling")


def poisoned(case: Case) -> Experiment | None:
    """The case with a NaN in its first channel: what only several calls together show fails there at once."""
    spec = case.spec
    if len(spec.steps) != 1 or spec.size in (0, spec.n) or spec.mode != "training":
        return None
    x = case.inputs.x.copy()
    x[(0,) * x.ndim] = np.nan
    plain = replace(spec, layout_x="contiguous", layout_cotangent="contiguous")
    changed = Case(spec=plain, inputs=replace(case.inputs, x=x))
    return Experiment(title="the case with a NaN in one channel", case=changed)


def deciding(case: Case, conventions: Conventions, alive: Iterable[Hypothesis]) -> Iterator[Experiment]:
    """What tells survivors apart, cheapest and most telling first."""
    spec = case.spec
    for hypothesis in alive:
        for name in hypothesis.name.split(" + "):
            if name in CATALOGUE and CATALOGUE[name].example.operation == spec.operation:
                example = CATALOGUE[name].example
                theirs = _fitted(example.spec(spec.formats), conventions)
                yield from _possible(case, conventions, theirs, example.family)
    training: tuple[Mode, ...] = ("training",)
    inference: tuple[Mode, ...] = ("inference",)
    twice: tuple[Mode, ...] = ("training", "training")
    plans: tuple[tuple[tuple[Mode, ...], Family, float | None, float | None], ...] = (
        (training, "telling", 1e-3, 0.9),
        (training, "near_eps", 1e-7, 0.3),
        (training, "near_eps", 1e-5, 0.3),
        (training, "near_eps", 1e-1, 0.3),
        (inference, "telling", 1e-3, 0.3),
        (inference, "near_eps", 1e-3, 0.3),
        (twice, "telling", 1e-3, 0.3),
        (training, "offset", 1e-3, 0.3),
        (training, "offset", 1e-7, 0.3),
        (training, "constant", 1e-3, 0.3),
        (training, "large_constant", 1e-12, 0.3),
        (training, "large", 1e-3, 0.3),
        (training, "large_sums", 1e-3, 0.3),
        (inference, "large_buffers", 1e-3, 0.3),
        (training, "nonfinite", 1e-3, 0.3),
        (training, "near_eps", None, None),
    )
    for modes, family, eps, momentum in plans:
        yield from _possible(case, conventions, _variant(spec, modes, eps=eps, momentum=momentum), family)
    if spec.operation == "batch_norm":
        for shape in ((4, 3, 2), (2, 3, 4), (6, 3), (5, 3), (3, 3), (2, 3), (1, 3), (0, 3)):
            yield from _possible(case, conventions, _of_shape(spec, shape), "telling")


def _variant(spec: Spec, modes: tuple[Mode, ...], *, eps: float | None = 1e-3, momentum: float | None = 0.3) -> Spec:
    """The case's Spec in other modes, with another eps and momentum, everything else plain, of a telling size."""
    plain = replace(
        spec,
        has_running=True,
        steps=modes,
        eps=eps,
        momentum=momentum,
        cotangent="explicit",
        layout_x="contiguous",
        layout_cotangent="contiguous",
    )
    if spec.operation == "batch_norm" and not (3 <= spec.n <= 64 and spec.size <= SMALL and spec.size > spec.n):
        return _of_shape(plain, (4, 3, 2))
    return plain


def _of_shape(spec: Spec, shape: tuple[int, ...]) -> Spec:
    """A batch norm of that shape, with the case's channel axis where there is such an axis."""
    axis = spec.parameter_axes[0] if len(spec.parameter_axes) == 1 else 1
    axis = axis if -len(shape) <= axis < len(shape) else 1
    moved = [size for place, size in enumerate(shape) if place != 1]
    moved.insert(axis % len(shape), shape[1])
    reduced = tuple(place for place in range(len(shape)) if place != axis % len(shape))
    return replace(
        spec,
        has_running=True,
        shape=tuple(moved),
        reduced_axes=reduced,
        parameter_axes=(axis,),
        layout_x="contiguous",
        layout_cotangent="contiguous",
        cotangent="explicit",
        eps=1e-3 if spec.eps is None else spec.eps,
    )


def _fitted(spec: Spec, conventions: Conventions) -> Spec:
    """An example's Spec with the channel axis that the backend has."""
    if conventions.channel_axes == "any" or spec.operation != "batch_norm":
        return spec
    return replace(_of_shape(replace(spec, parameter_axes=(conventions.channel_axes,)), spec.shape), eps=spec.eps)


def _possible(case: Case, conventions: Conventions, spec: Spec, family: Family) -> Iterator[Experiment]:
    """The experiment, where the backend can express it."""
    for one in _with_arrays(case.spec, spec):
        # A function that answers for what its conventions do not state is asked for more of the same operation.
        if conventions.unsupported(one) is None or (
            spec.operation != "batch_norm" and conventions.unsupported(case.spec) is not None
        ):
            yield Experiment(title=_title(one, family), case=drawn_case(one, family, conventions, seed=1))
            return


def _with_arrays(case: Spec, spec: Spec) -> Iterator[Spec]:
    """With running statistics where that can be had, else without; gamma and beta as they come."""
    yield replace(spec, has_gamma=True, has_beta=True, has_running=True)
    if "inference" not in spec.steps:
        yield replace(spec, has_gamma=True, has_beta=True, has_running=False)
    if "inference" not in spec.steps or case.has_running:
        yield replace(spec, has_gamma=case.has_gamma, has_beta=case.has_beta, has_running=case.has_running)


FAMILY_WORDS: dict[Family, str] = {
    "telling": "values of unlike scale",
    "near_eps": "variances of the order of eps",
    "offset": "a mean far larger than the spread",
    "constant": "constant channels",
    "large_constant": "large constant channels",
    "large": "deviations over 256",
    "large_sums": "deviations near 180, whose squares add up to more than 65504",
    "large_buffers": "a running variance over 65504",
    "nonfinite": "a NaN in one channel",
    "repeated_rows": "equal samples",
}


def _title(spec: Spec, family: Family) -> str:
    shape = ", ".join(map(str, spec.shape))
    eps = "default eps" if spec.eps is None else f"eps {spec.eps:g}"
    layout = "".join(
        f", {name} {value}"
        for name, value in (("x", spec.layout_x), ("cotangent", spec.layout_cotangent))
        if value != "contiguous"
    )
    momentum = "" if spec.momentum is None else f", momentum {spec.momentum:g}"
    return f"{' then '.join(spec.steps)} ({shape}), {eps}{momentum}{layout}: {FAMILY_WORDS[family]}"
