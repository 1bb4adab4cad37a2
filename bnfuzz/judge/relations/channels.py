"""Channel independence: other values in one channel leave every other channel's bits alone.

Exact for every kernel seen, at one shape: what a channel gives depends on its place (a compiler may treat the last
lanes of a vector otherwise) but not on its neighbours' values. All that belongs to one channel is redrawn: x,
cotangent and buffers, and gamma and beta where they are the channel's own; or a NaN, an infinity or the format's
largest number is put into one of them.
"""

from __future__ import annotations

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Inputs, Spec
from bnfuzz.judge.relations.groups import elements_of, group_count, parameters_are_per_group, parameters_of, reached
from bnfuzz.judge.relations.relation import Draws, Relation, Variant
from bnfuzz.numerics.tracked import Flag

POISONS = ("nan", "inf", "-inf", "largest")

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
        groups[k].reshape(-1)[rng.integers(group_count(spec))] = True
    where = places(spec, groups)
    arrays = {name: array.copy() for name, array in inputs.items()}
    what = tuple(_change(spec, arrays, where, k, rng) for k, rng in enumerate(draws))
    channels = [", ".join(map(str, np.argwhere(chosen)[0])) for chosen in groups]
    return Variant(
        spec=spec,
        inputs=Inputs(**arrays),
        what=tuple(f"channel {channel} {done}" for channel, done in zip(channels, what, strict=True)),
        reached=reached(spec, groups),
    )


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
    recipe = ("other values", *POISONS)[rng.integers(1 + len(POISONS))]
    if recipe == "other values":
        for name in present:
            _put(arrays[name], k, where[name][k], lambda old, name=name: _redrawn(name, old, rng))
        return "given other values"
    others = [name for name in present if name != "x"]
    name = others[rng.integers(len(others))] if others and rng.random() < FOREIGN_SHARE else "x"
    largest = formats.of(arrays[name]).largest
    value = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "largest": largest}[recipe]

    def poisoned(old: Array) -> Array:
        old[..., rng.integers(old.shape[-1])] = value
        return old

    _put(arrays[name], k, where[name][k], poisoned)
    return f"given {recipe} in {name}"


def _put(array: Array, k: int, mask: Flag, change: object) -> None:
    assert callable(change)
    # Boolean masks pick along the last axes, so a steps axis stays in front.
    array[k][..., mask] = change(array[k][..., mask])


def _redrawn(name: str, old: Array, rng: np.random.Generator) -> Array:
    """Values of another size, finite and ordinary; a variance stays positive."""
    scale = 2.0 ** rng.integers(-3, 4)
    new = scale * (rng.standard_normal(old.shape) + rng.standard_normal())
    if name == "running_var":
        new = np.abs(new) + scale
    return new.astype(old.dtype)


CHANNELS = Relation(
    name="channel independence",
    says="other values in one channel leave every other channel's bits alone",
    exact=True,
    kind="leak",
    vary=vary,
)
