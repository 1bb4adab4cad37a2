"""Channel independence: other values in some channels leave every other channel's bits alone.

Exact for every kernel seen, at one shape: what a channel gives depends on its place (a compiler may treat the last
lanes of a vector otherwise) but not on its neighbours' values. One channel, some, or all but one are given other values
in all that is theirs: x, cotangent and buffers, and gamma and beta where each channel has its own. Half of the time a
NaN, an infinity or the format's largest number goes into one of these arrays besides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Inputs, Spec
from bnfuzz.judge.relations.groups import elements_of, group_count, parameters_are_per_group, parameters_of, reached
from bnfuzz.judge.relations.relation import Draws, Relation, Variant
from bnfuzz.numerics.tracked import Flag

POISONS = ("nan", "inf", "-inf", "largest")

POISONED_SHARE = 0.5

NAMED = 4
"""Up to so many channels are told by number."""

FOREIGN_SHARE = 0.3
"""How often a poison goes into another array than x."""


def vary(spec: Spec, inputs: Inputs, draws: Draws) -> Variant | str:
    if spec.size == 0 or group_count(spec) < 2:
        return "there are not two channels"
    if "zero_stride" in (spec.layout_x, spec.layout_cotangent):
        return "with stride 0 a channel cannot be changed alone"
    trials = inputs.trials
    groups = np.zeros((trials, *spec.statistics_shape), dtype=bool)
    for k, rng in enumerate(draws):
        groups[k] = _chosen(group_count(spec), rng).reshape(spec.statistics_shape)
    where = places(spec, groups)
    arrays = {name: array.copy() for name, array in inputs.items()}
    what = tuple(_change(spec, arrays, where, k, rng) for k, rng in enumerate(draws))
    return Variant(
        spec=spec,
        inputs=Inputs(**arrays),
        what=tuple(f"{_named(chosen)} given {done}" for chosen, done in zip(groups, what, strict=True)),
        reached=reached(spec, groups),
    )


def _chosen(count: int, rng: np.random.Generator) -> Flag:
    """One of `count`, some, or all but one."""
    how_many = (1, int(rng.integers(1, count)), count - 1)[rng.integers(3)]
    chosen = np.zeros(count, dtype=bool)
    chosen[rng.permutation(count)[:how_many]] = True
    return chosen


def _named(chosen: Flag) -> str:
    if chosen.ndim == 1 and chosen.sum() <= NAMED:
        return f"channel {', '.join(map(str, np.flatnonzero(chosen)))}"
    return f"{chosen.sum()} of {chosen.size} channels"


def places(spec: Spec, groups: Flag) -> dict[str, Flag]:
    """Input -> (K, *its shape without steps): what of it belongs to the chosen groups alone."""
    elements = elements_of(spec, groups)
    own = {"x": elements, "cotangent": elements, "running_mean": groups, "running_var": groups}
    if parameters_are_per_group(spec):
        own |= dict.fromkeys(("gamma", "beta"), parameters_of(spec, elements))
    return own


def _change(spec: Spec, arrays: dict[str, Array], where: dict[str, Flag], k: int, rng: np.random.Generator) -> str:
    """Changes trial k in place, and says how."""
    present = [name for name in arrays if name in where]
    for name in present:
        _put(arrays[name], k, where[name][k], partial(_redrawn, name, rng))
    if rng.random() >= POISONED_SHARE:
        return "other values"
    poison = POISONS[rng.integers(len(POISONS))]
    others = [name for name in present if name != "x"]
    name = others[rng.integers(len(others))] if others and rng.random() < FOREIGN_SHARE else "x"
    largest = formats.of(arrays[name]).largest
    value = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "largest": largest}[poison]

    def poisoned(old: Array) -> Array:
        old[..., rng.integers(old.shape[-1])] = value
        return old

    _put(arrays[name], k, where[name][k], poisoned)
    return f"other values and {poison} in {name}"


def _put(array: Array, k: int, mask: Flag, change: Callable[[Array], Array]) -> None:
    # Boolean masks pick along the last axes, so a steps axis stays in front.
    array[k][..., mask] = change(array[k][..., mask])


def _redrawn(name: str, rng: np.random.Generator, old: Array) -> Array:
    """Values of another size, finite and ordinary; a variance stays positive."""
    scale = 2.0 ** rng.integers(-3, 4)
    new = scale * (rng.standard_normal(old.shape) + rng.standard_normal())
    if name == "running_var":
        new = np.abs(new) + scale
    return new.astype(old.dtype)


CHANNELS = Relation(
    name="channel independence",
    says="other values in some channels leave every other channel's bits alone",
    exact=True,
    kind="leak",
    vary=vary,
)
