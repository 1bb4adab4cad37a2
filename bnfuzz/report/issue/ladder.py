"""The offset ladder: how the error of y grows with the condition number κ, on data that are ordinary otherwise.

Normal noise of unit spread is shifted by growing offsets, γ = 1, β = 0. A stable algorithm errs by about κu, a one-pass
variance by about κ²u: the slope of log(error/u) over log κ names the algorithm's class, whatever the exact input of a
finding was.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bnfuzz import formats
from bnfuzz.backends.pool import Pool
from bnfuzz.case import Array, Inputs, Spec, expected_arrays
from bnfuzz.conventions import Conventions
from bnfuzz.faults import backend as kernels
from bnfuzz.faults.sound import SOUND
from bnfuzz.numerics.reference import Reference, reference
from bnfuzz.numerics.values import Float

REPEATS = 16
"""Draws per rung; a point is their median."""

STEPS_PER_OCTAVE = 1
FEWEST_VALUES = 32
MOST_ELEMENTS = 4096
SEED = 20_240_229

STABLE = "stable two-pass algorithm"
"""The textbook kernel of this project (pairwise sums), in the backend's compute format."""

FIT_FROM = 4.0
"""error/u below which a point says more of single roundings than of growth."""

FIT_TO = 0.05
"""Relative error above which a point is saturated: nothing is left that could grow."""

FIT_POINTS = 4


@dataclass(frozen=True, eq=False)
class Curve:
    """One implementation's points, and the slope fitted through those that grow (NaN where too few do)."""

    name: str
    kappa: Float
    error: Float
    slope: float


@dataclass(frozen=True, eq=False)
class Ladder:
    """Curves by name, the first of the implementation in question; error is in units of u.

    beyond   smallest κ of the ladder at which that implementation's error exceeds its bound; NaN where it never does
    """

    unit_roundoff: float
    n: int
    curves: tuple[Curve, ...]
    beyond: float

    def curve(self, name: str) -> Curve | None:
        return next((curve for curve in self.curves if curve.name == name), None)


def ladder_spec(spec: Spec, conventions: Conventions) -> Spec:
    """A training step of the same kind, of a size at which a median means something.

    In the compute format throughout where the backend takes that: storing y in half would hide what grows.
    """
    shape = list(spec.shape)
    if spec.size > MOST_ELEMENTS:
        shape = [min(size, 2) for size in shape]
    values = math.prod(shape[axis] for axis in spec.reduced_axes)
    if values < FEWEST_VALUES:
        axis = spec.reduced_axes[0]
        shape[axis] = math.ceil(FEWEST_VALUES * max(shape[axis], 1) / max(values, 1))
    plain = replace(spec, shape=tuple(max(size, 1) for size in shape), steps=("training",), cotangent="explicit")
    plain = replace(plain, layout_x="contiguous", layout_cotangent="contiguous")
    name = conventions.compute_format(spec.data_format).name
    pure = replace(plain, data_format=name, parameter_format=name, statistics_format=name)
    return plain if conventions.unsupported(pure) else pure


def applies(spec: Spec) -> bool:
    """Whether a ladder says something: batch norm in training over at least one axis."""
    return spec.operation == "batch_norm" and spec.steps == ("training",) and bool(spec.reduced_axes)


def climb(pool: Pool, backend: str, spec: Spec, others: Iterable[str] = ()) -> Ladder | None:
    """The ladder of the backend, of the stable algorithm, and of those others that take the same Spec.

    None where the backend does not give y for it.
    """
    rung = ladder_spec(spec, pool.conventions(backend))
    if pool.conventions(backend).unsupported(rung) is not None:
        return None
    inputs = ladder_inputs(rung, pool.conventions(backend))
    names = (backend, *(name for name in others if name != backend))
    replies = pool.run(names, rung, inputs)
    exact = reference(rung, inputs, pool.conventions(backend))
    seen: dict[str, Array] = {}
    for name, reply in replies.items():
        y = None if reply.outputs is None else reply.outputs.y
        if y is not None and y.shape == exact.outputs["y"].bound.shape:
            seen[name] = y
    if backend not in seen:
        return None
    stable = kernels.run(SOUND["pairwise"].kernel, rung, inputs, replace(pool.conventions(backend), outputs=("y",)))
    assert stable.y is not None
    return ladder_of(exact, {backend: seen.pop(backend), STABLE: stable.y, **seen})


def ladder_inputs(spec: Spec, conventions: Conventions) -> Inputs:
    """REPEATS trials for each offset, from 1 up to where the format can no longer hold the noise."""
    compute = conventions.compute_format(spec.data_format)
    data = formats.named(spec.data_format)
    # At κ = 1/(16u) of the data's format four bits of the noise are left.
    highest = min(math.log2(1 / (16 * data.unit_roundoff)), data.emax - 8, math.log2(1 / compute.unit_roundoff))
    count = int(highest * STEPS_PER_OCTAVE) + 1
    offsets = np.repeat(2.0 ** (np.arange(count) / STEPS_PER_OCTAVE), REPEATS)
    trials = len(offsets)
    rng = np.random.default_rng(SEED)
    arrays: dict[str, Array] = {}
    for name, (shape, kind) in expected_arrays(spec).items():
        fill = {"gamma": 1.0, "running_var": 1.0}.get(name, 0.0)
        values = np.full((trials, *shape), fill)
        if name in ("x", "cotangent"):
            values = rng.standard_normal((trials, *shape))
        if name == "x":
            values += offsets.reshape((-1,) + (1,) * len(shape))
        arrays[name] = values.astype(formats.named(kind).dtype)
    return Inputs(**arrays)


def ladder_of(exact: Reference, observed: Mapping[str, Array]) -> Ladder:
    """Curves of y arrays against one reference; the first is the implementation in question."""
    output = exact.outputs["y"]
    unit = exact.rules.compute.unit_roundoff
    trials = len(exact.rungs)
    kappa = np.median(exact.channels.kappa.reshape(trials, -1), axis=1)
    per_rung = (trials // REPEATS, REPEATS)
    condition = np.median(kappa.reshape(per_rung), axis=1)
    curves = []
    for name, y in observed.items():
        error = output.error(y)
        with np.errstate(over="ignore", invalid="ignore"):
            relative = np.sqrt(np.mean(error.reshape(trials, -1) ** 2, axis=1))
        points = np.median(np.nan_to_num(relative, nan=np.inf).reshape(per_rung), axis=1)
        curves.append(Curve(name, condition, points / unit, slope_of(condition, points, unit)))
    first = next(iter(observed.values()))
    error = output.error(first)
    with np.errstate(invalid="ignore"):
        bad = ~(error - output.rung_bound <= output.bound) & ~output.undefined
    beyond = kappa[bad.reshape(trials, -1).any(axis=1)]
    return Ladder(unit, exact.spec.n, tuple(curves), float(np.min(beyond)) if len(beyond) else math.nan)


def slope_of(kappa: Float, error: Float, unit: float) -> float:
    """Exponent p of error ~ κ^p by least squares over log-log points that neither round nor saturate; NaN: too few."""
    grows = (error >= FIT_FROM * unit) & (error <= FIT_TO)
    # Only the first climb: beyond a saturated point the error may fall again.
    saturated = np.flatnonzero(~(error <= FIT_TO))
    if len(saturated):
        grows[saturated[0] :] = False
    if np.sum(grows) < FIT_POINTS:
        return math.nan
    slope: float = np.polyfit(np.log(kappa[grows]), np.log(error[grows]), 1)[0]
    return float(slope)
