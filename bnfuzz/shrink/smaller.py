"""Passes that leave values out: steps, channels, positions, axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bnfuzz.case import Case, Spec
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.block import Block
from bnfuzz.shrink.geometry import (
    flattened,
    merged,
    pick,
    profile,
    with_steps,
    without_axis,
    worst_place,
)
from bnfuzz.shrink.plain import bare, tidied, with_plain_values
from bnfuzz.shrink.subsets import sizes, subsets

MOST_CHANNELS = 8
"""Channels that are tried alone where the verdict does not name one."""

_LEAP_SIZES = (2, 4)


def leaps(case: Case, verdict: Verdict) -> Iterator[Block]:
    """The failing channel alone, flattened and plain, with very few of its values: often all that is needed."""
    channels = [_flat(one) for one in _single_channels(case, worst_place(case.spec, verdict))]
    at = worst_place(case.spec, verdict)
    for size in (*_LEAP_SIZES, 0):
        few = [part for channel in channels for part in _few(channel, size, _position(case.spec, at))]
        if not few:
            continue
        what = f"one channel, {size or 'all its'} values"
        yield Block(f"{what}, nothing that is not needed", tuple(bare(one, verdict) for one in few))
        kept = [tidied(one) for one in few]
        plain = [with_plain_values(one, *(name for name, _ in one.inputs.items() if name != "x")) for one in kept]
        yield Block(what, tuple(case for pair in zip(plain, kept, strict=True) for case in pair))


def _single_channels(case: Case, at: Mapping[int, int]) -> list[Case]:
    """The case with one position along each kept axis: the failing one, or a few where that is not known."""
    spec = case.spec
    if all(axis in at for axis in spec.kept_axes):
        places = [{axis: (at[axis],) for axis in spec.kept_axes}]
    else:
        longest = max((spec.shape[axis] for axis in spec.kept_axes), default=0)
        places = [
            {axis: (min(number, spec.shape[axis] - 1),) for axis in spec.kept_axes}
            for number in range(min(longest, MOST_CHANNELS))
        ]
    return [pick(case, place) for place in places] if spec.size else []


def _flat(case: Case) -> Case:
    return flattened(case) or case


def _position(spec: Spec, at: Mapping[int, int]) -> int | None:
    """Where the worst element is among the values of its channel, in the order of `flattened`."""
    if any(axis not in at for axis in spec.reduced_axes):
        return None
    position = 0
    for axis in spec.reduced_axes:
        position = position * spec.shape[axis] + at[axis]
    return position


def _few(case: Case, size: int, worst: int | None) -> Iterator[Case]:
    """Selections of `size` values along the longest reduced axis (0: all of them)."""
    spec = case.spec
    if not spec.reduced_axes or not size:
        yield case
        return
    axis = max(spec.reduced_axes, key=lambda axis: spec.shape[axis])
    if spec.shape[axis] < size:
        return
    at = worst if worst is not None and worst < spec.shape[axis] else None
    for chosen in subsets(profile(case, axis, {}), size, at):
        yield pick(case, {axis: chosen})


def fewer_steps(case: Case, verdict: Verdict) -> Iterator[Block]:
    """One step alone, then one step less."""
    del verdict
    count = len(case.spec.steps)
    if count > 1:
        for kept in [(step,) for step in range(count)] + [
            tuple(step for step in range(count) if step != gone) for gone in range(count)
        ]:
            yield Block(f"steps {', '.join(str(step + 1) for step in kept)} alone", (with_steps(case, kept),))


def fewer_positions(case: Case, verdict: Verdict) -> Iterator[Block]:
    """Fewer positions along each axis: kept axes (channels) first, then the longest."""
    spec = case.spec
    at = worst_place(spec, verdict)
    for axis in sorted(range(spec.rank), key=lambda axis: (axis in spec.reduced_axes, -spec.shape[axis])):
        n = spec.shape[axis]
        for size in sizes(n, _smallest(spec, axis, verdict)):
            chosen = subsets(profile(case, axis, at), size, at.get(axis))
            if chosen:
                yield Block(f"{size} of {n} along axis {axis}", tuple(pick(case, {axis: part}) for part in chosen))


def _smallest(spec: Spec, axis: int, verdict: Verdict) -> int:
    """2 where a single value per statistic would be another fault: its regime is n1."""
    alone = axis in spec.reduced_axes and spec.n == spec.shape[axis] and "training" in spec.steps
    return 2 if alone and verdict.regime in ("constant", "offset", "eps-dominated", "plain") and verdict.n else 1


def fewer_axes(case: Case, verdict: Verdict) -> Iterator[Block]:
    """Rank 2 at once, then an axis of length 1 less, then two neighbouring reduced axes as one."""
    del verdict
    spec = case.spec
    options = [("values by channels", flattened(case))]
    options += [(f"without axis {axis}", without_axis(case, axis)) for axis in range(spec.rank)]
    options += [(f"axes {axis} and {axis + 1} as one", merged(case, axis)) for axis in range(spec.rank - 1)]
    for what, smaller in options:
        if smaller is not None:
            yield Block(what, (smaller,))
