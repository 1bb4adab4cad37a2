"""Shapes of x and the place of their channel axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from hypothesis import strategies as st

from bnfuzz.errors import UsageError
from bnfuzz.strategies.weighted import weighted

Shape = tuple[int, ...]
ShapeClass = Literal[
    "plain",
    "square",
    "odd_channels",
    "one_channel",
    "batch_one",
    "flat_axis",
    "single_value",
    "no_values",
    "no_channels",
]

CLASS_WEIGHTS: Mapping[ShapeClass, int] = MappingProxyType(
    {"plain": 9, "square": 2, "odd_channels": 2, "one_channel": 2, "single_value": 1, "batch_one": 2, "flat_axis": 2}
)
"""square: as many channels as an axis has places, so that a mixed-up axis still fits;
odd_channels: one beside a power of two, where tiles need padding; single_value: n = 1, where y = beta.
The last two are kept for rank 3 on, below which they would be n = 1 once more."""

EMPTY_WEIGHTS: Mapping[ShapeClass, int] = MappingProxyType({"no_values": 1, "no_channels": 1})

RANKS = range(2, 6)

ODD_CHANNELS = (3, 5, 7, 9, 15, 17, 31, 33, 63, 65, 127, 129)

SMALL_SHARE, LARGE_SHARE = 9, 1
"""Of ten shapes nine hold at most `max_size` elements, one up to `large_size`."""


def _check(min_rank: int, max_rank: int, max_size: int, large_size: int | None) -> None:
    if not 2 <= min_rank <= 5:
        raise UsageError(f"min_rank={min_rank} must lie within 2..5")
    if not 2 <= max_rank <= 5:
        raise UsageError(f"max_rank={max_rank} must lie within 2..5")
    if min_rank > max_rank:
        raise UsageError(f"min_rank={min_rank} is larger than max_rank={max_rank}")
    if max_size < 1:
        raise UsageError(f"max_size={max_size} must be at least 1; for empty shapes set allow_empty=True")
    if large_size is not None and large_size < max_size:
        raise UsageError(f"large_size={large_size} is smaller than max_size={max_size}; give None for no larger ones")


def _budgets(max_size: int, large_size: int | None) -> st.SearchStrategy[int]:
    """The most elements a shape may have. Mostly far below max_size: faults hide in small shapes just as well."""
    small = [min(16, max_size)] * 3 + [min(64, max_size)] * 4 + [max_size] * (SMALL_SHARE - 7)
    return st.sampled_from(small + [max_size if large_size is None else large_size] * LARGE_SHARE)


def _weights(rank: int, allow_empty: bool) -> dict[ShapeClass, int]:
    return {
        name: 0 if rank == 2 and name in ("batch_one", "flat_axis") else weight
        for name, weight in {**CLASS_WEIGHTS, **(EMPTY_WEIGHTS if allow_empty else {})}.items()
    }


def _size(draw: st.DrawFn, budget: int, axes_left: int) -> int:
    """The size of one of `axes_left` axes, leaving some of the budget to those after it; 1 only if need be.

    Always one draw: of two examples Hypothesis takes the one of fewer draws for the simpler one.
    """
    even = budget ** (1 / axes_left)
    largest = min(budget // 2 ** (axes_left - 1), math.floor(2 * even))
    return min(draw(st.integers(2, max(3, largest))), max(1, largest))


def channel_axes(rank: int) -> st.SearchStrategy[int]:
    """The channel axis of x of this rank, as a caller may write it: from -rank to rank - 1.

    * ``rank`` of x, at least 2.

    Half of them are 1, the only one that some frameworks know; a quarter -1; the rest any other way to write any axis.
    Shrinks towards 1.

    Drawn from ``channel_axes(4)``: ``1``, ``-2``.
    """
    if rank < 2:
        raise UsageError(f"rank={rank} must be at least 2")
    others = [axis for axis in range(-rank, rank) if axis not in (1, -1)]
    return st.sampled_from([1] * 2 * len(others) + [-1] * len(others) + others)


def shapes_and_channel_axes(
    *,
    min_rank: int = 2,
    max_rank: int = 5,
    max_size: int = 512,
    large_size: int | None = 4096,
    allow_empty: bool = False,
    channel_axis: int | None = None,
) -> st.SearchStrategy[tuple[Shape, int]]:
    """A shape of x together with its channel axis, the difficult ones on purpose (see `CLASS_WEIGHTS`).

    * ``min_rank``, ``max_rank``: number of axes; 2 and 5 by default.
    * ``max_size``: nine of ten shapes have at most so many elements; 512 by default, most have far fewer.
    * ``large_size``: the tenth has up to so many; 4096 by default, None for no larger ones.
    * ``allow_empty``: also shapes with n = 0 or without channels; off by default.
    * ``channel_axis``: where it is; drawn by `channel_axes` by default.

    Shrinks towards fewer axes, channel axis 1, plain shapes, and sizes of 2; 1 is a class of its own.

    Drawn: ``((2, 3), 1)``, ``((1, 5, 4, 5), -3)``.
    """

    def build() -> st.SearchStrategy[tuple[Shape, int]]:
        _check(min_rank, max_rank, max_size, large_size)
        if channel_axis is not None and not -min_rank <= channel_axis < min_rank:
            raise UsageError(
                f"channel_axis={channel_axis} must lie within {-min_rank}..{min_rank - 1}; raise min_rank={min_rank}"
            )
        return _shapes_and_axes(
            ranks=st.integers(min_rank, max_rank),
            axes={rank: channel_axes(rank) if channel_axis is None else st.just(channel_axis) for rank in RANKS},
            kinds={rank: weighted(_weights(rank, allow_empty)) for rank in RANKS},
            budgets=_budgets(max_size, large_size),
        )

    return st.deferred(build)


@st.composite
def _shapes_and_axes(
    draw: st.DrawFn,
    *,
    ranks: st.SearchStrategy[int],
    axes: Mapping[int, st.SearchStrategy[int]],
    kinds: Mapping[int, st.SearchStrategy[ShapeClass]],
    budgets: st.SearchStrategy[int],
) -> tuple[Shape, int]:
    rank = draw(ranks)
    axis = draw(axes[rank])
    budget = draw(budgets)
    return _sizes(draw, draw(kinds[rank]), rank, axis % rank, budget), axis


def _sizes(draw: st.DrawFn, kind: ShapeClass, rank: int, channel: int, budget: int) -> Shape:
    others = [axis for axis in range(rank) if axis != channel]
    fixed: dict[int, int] = {}
    if kind == "one_channel":
        fixed = {channel: 1}
    elif kind == "batch_one":
        fixed = {others[0]: 1}
    elif kind == "flat_axis":
        fixed = {draw(st.sampled_from(others)): 1}
    elif kind == "single_value":
        fixed = dict.fromkeys(others, 1)
    elif kind == "odd_channels":
        fixed = {channel: draw(st.sampled_from([odd for odd in ODD_CHANNELS if odd * 2 <= budget] or [1]))}
    elif kind == "square":
        side = min(draw(st.integers(2, max(3, math.isqrt(budget)))), math.isqrt(budget))
        fixed = {channel: side, draw(st.sampled_from(others)): side}
    left = budget // math.prod(fixed.values())
    free = rank - len(fixed)
    sizes = []
    for axis in range(rank):  # drawn for the fixed ones too, so that the plain class has the fewest draws
        size = _size(draw, left, max(free, 1))
        if axis not in fixed:
            left, free = left // size, free - 1
        sizes.append(fixed.get(axis, size))
    if kind == "no_channels":
        sizes[channel] = 0
    elif kind == "no_values":
        sizes[draw(st.sampled_from(others))] = 0
    return tuple(sizes)


def shapes(
    *,
    min_rank: int = 2,
    max_rank: int = 5,
    max_size: int = 512,
    large_size: int | None = 4096,
    allow_empty: bool = False,
) -> st.SearchStrategy[Shape]:
    """A shape of x alone.

    * all arguments as in `shapes_and_channel_axes`, with the same defaults.

    Shrinks towards fewer axes and sizes of 2.

    Drawn: ``(2, 3)``, ``(1, 5, 4, 5)``.
    """
    return shapes_and_channel_axes(
        min_rank=min_rank, max_rank=max_rank, max_size=max_size, large_size=large_size, allow_empty=allow_empty
    ).map(lambda pair: pair[0])


def shape_class(shape: Shape, channel_axis: int) -> ShapeClass:
    """What is special about a shape; the first that holds, the rarest first."""
    rank = len(shape)
    channel = channel_axis % rank
    channels = shape[channel]
    others = [size for axis, size in enumerate(shape) if axis != channel]
    holds: tuple[tuple[ShapeClass, bool], ...] = (
        ("no_channels", channels == 0),
        ("no_values", math.prod(others) == 0),
        ("single_value", math.prod(others) == 1),
        ("one_channel", channels == 1),
        ("square", channels in others),
        ("batch_one", others[0] == 1),
        ("flat_axis", 1 in others),
        ("odd_channels", channels in ODD_CHANNELS),
    )
    return next((name for name, is_so in holds if is_so), "plain")
