"""The inputs of `bnfuzz compare`: drawn as asked for, or from a file, completed to what both sides need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Case, Cotangent, Inputs, Spec, batch_norm_spec, expected_arrays
from bnfuzz.cli.cases import resolve
from bnfuzz.cli.corpus_add import case_from_arrays, held
from bnfuzz.conventions import Conventions
from bnfuzz.corpus import Corpus
from bnfuzz.errors import UsageError
from bnfuzz.formats import FormatName

ARRAYS = (".npz", ".py")
COTANGENTS = ("normal", "ones", "sum", "mean_square")
DEFAULT_SHAPE = "8,3,4,4"
VALUES = "normal, normal:MEAN:DEVIATION or uniform:LOW:HIGH"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of both sides; None leaves it to each."""

    eps: float | None = None
    momentum: float | None = None
    inference: bool = False
    channel_axis: int | None = None

    def __post_init__(self) -> None:
        for name in ("eps", "momentum"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise UsageError(f"--{name} {value}: no exact value goes with it; give a finite number")


def drawn_case(
    stated: Sequence[Conventions],
    asked: Asked,
    *,
    shape: str | None,
    values: str,
    cotangent: str,
    format_name: FormatName,
    seed: int,
) -> tuple[Case, str]:
    """(the case, how x was made): x and the cotangent drawn, gamma 1, beta 0, running mean 0 and variance 1."""
    sizes = _sizes(shape or DEFAULT_SHAPE)
    loss: Cotangent = "explicit" if cotangent in ("normal", "ones") else "sum" if cotangent == "sum" else "mean_square"
    triple = _formats(stated, format_name)
    spec = batch_norm_spec(
        sizes,
        _channel_axis(stated, asked.channel_axis, len(sizes)),
        data_format=triple[0],
        parameter_format=triple[1],
        statistics_format=triple[2],
        eps=asked.eps,
        momentum=asked.momentum,
        has_running=asked.inference or any("new_running_mean" in one.outputs for one in stated),
        steps=("inference",) if asked.inference else ("training",),
        cotangent=loss,
    )
    rng = np.random.default_rng(seed)
    x = _values(values, rng, sizes)
    arrays: dict[str, Array] = {"x": x, **_plain(spec)}
    if loss == "explicit":
        arrays["cotangent"] = np.ones(sizes) if cotangent == "ones" else rng.standard_normal(sizes)
    data = formats.named(format_name).dtype
    with np.errstate(over="ignore", under="ignore"):
        wide = {name: array.astype(data) if name in ("x", "cotangent") else array for name, array in arrays.items()}
    return Case(spec=spec, inputs=_inputs(spec, wide)), f"~ {values}, seed {seed}; gamma 1, beta 0"


def stored_case(path: str, folder: Path, stated: Sequence[Conventions], asked: Asked) -> Case:
    """The case of a case file, or of a file of arrays as `corpus add` reads it; eps and momentum where given."""
    file = Path(path)
    if file.suffix in ARRAYS:
        if not file.is_file():
            raise UsageError(f"there is no file {path}; give a case file, or a file of arrays ({', '.join(ARRAYS)})")
        found = held(file)
        if not isinstance(found, Case):
            return case_from_arrays(
                found,
                channel_axis=_channel_axis(stated, asked.channel_axis, found["x"].ndim),
                eps=asked.eps,
                momentum=asked.momentum,
                inference=asked.inference,
                loss="sum",
            )
    else:
        found = resolve(Corpus(folder), path).file.case
    if asked.inference or asked.channel_axis is not None:
        raise UsageError("--inference and --channel-axis are part of a whole case; leave them out, or give arrays")
    given: dict[str, Any] = {"eps": asked.eps, "momentum": asked.momentum}
    spec = replace(found.spec, **{name: value for name, value in given.items() if value is not None})
    return Case(spec=spec, inputs=found.inputs)


def completed(case: Case, stated: Sequence[Conventions]) -> Case:
    """The case with what a side cannot do without: gamma 1, beta 0, buffers 0 and 1 change nothing else."""
    spec = case.spec
    if len(spec.kept_axes) != 1:
        return case
    affine = any(one.affine == "both" for one in stated)
    wanted = replace(
        spec,
        has_gamma=spec.has_gamma or affine,
        has_beta=spec.has_beta or affine,
        has_running=spec.has_running or any(one.running == "needed" for one in stated),
    )
    if wanted == spec:
        return case
    arrays = {name: array[0] for name, array in case.inputs.items()}
    return Case(spec=wanted, inputs=_inputs(wanted, {**_plain(wanted), **arrays}))


def _plain(spec: Spec) -> dict[str, Array]:
    parameter, statistic = formats.named(spec.parameter_format).dtype, formats.named(spec.statistics_format).dtype
    return {
        "gamma": np.ones(spec.parameter_shape, parameter),
        "beta": np.zeros(spec.parameter_shape, parameter),
        "running_mean": np.zeros(spec.statistics_shape, statistic),
        "running_var": np.ones(spec.statistics_shape, statistic),
    }


def _inputs(spec: Spec, arrays: dict[str, Array]) -> Inputs:
    """Of arrays without a trial axis, those that the Spec has."""
    return Inputs(**{name: arrays[name][np.newaxis] for name in expected_arrays(spec)})


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in text.split(","))
    except ValueError:
        raise UsageError(f"--shape {text}: give sizes such as 2,16,4,4") from None
    if any(size < 1 for size in sizes):
        raise UsageError(f"--shape {text}: every size must be at least 1; nothing can be compared on empty arrays")
    return sizes


def _channel_axis(stated: Sequence[Conventions], asked: int | None, rank: int) -> int:
    needed = {one.channel_axes for one in stated if one.channel_axes != "any"}
    if asked is not None:
        # Written as the side that has no other says it.
        return next((axis for axis in needed if isinstance(axis, int) and axis % rank == asked % rank), asked)
    if len({axis % rank for axis in needed if isinstance(axis, int)}) > 1:
        raise UsageError(
            f"A and B take different channel axes only ({' and '.join(map(str, sorted(needed, key=str)))}); "
            "give one of them an axis argument, or state channel_axes beside it"
        )
    return next((axis for axis in needed if isinstance(axis, int)), min(1, rank - 1))


def _formats(stated: Sequence[Conventions], data: FormatName) -> tuple[FormatName, FormatName, FormatName]:
    """The formats of data, parameters and statistics that both take, the pure ones first."""
    offered = [[triple for triple in one.formats if triple[0] == data] for one in stated]
    shared = [triple for triple in offered[0] if all(triple in others for others in offered)]
    shared.sort(key=lambda triple: triple != (data, data, data))
    if not shared:
        raise UsageError(
            f"--format {data}: A and B do not both take it in the same formats of parameters and statistics"
        )
    return shared[0]


def _values(text: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    kind, *numbers = text.split(":")
    try:
        given = [float(value) for value in numbers]
    except ValueError:
        given = [math.nan]
    fine = all(math.isfinite(value) for value in given)
    if kind == "normal" and fine and len(given) in (0, 2):
        mean, deviation = given or (0.0, 1.0)
        if deviation >= 0:
            return rng.normal(mean, deviation, shape)
    if kind == "uniform" and fine and len(given) == 2 and given[0] <= given[1]:
        return rng.uniform(given[0], given[1], shape)
    raise UsageError(f"--values {text}: give {VALUES}")
