from __future__ import annotations

import math

import pytest

from bnfuzz.errors import UsageError
from bnfuzz.strategies import channel_axes, shapes, shapes_and_channel_axes
from bnfuzz.strategies.shapes import CLASS_WEIGHTS, EMPTY_WEIGHTS, shape_class


def test_all_shapes_keep_the_bounds(assert_all_examples):
    def check(pair):
        shape, axis = pair
        return 2 <= len(shape) <= 5 and 1 <= math.prod(shape) <= 4096 and -len(shape) <= axis < len(shape)

    assert_all_examples(shapes_and_channel_axes(), check, 200)


def test_all_shapes_keep_narrow_bounds(assert_all_examples):
    strategy = shapes(min_rank=3, max_rank=4, max_size=20, large_size=None, allow_empty=True)
    assert_all_examples(strategy, lambda shape: 3 <= len(shape) <= 4 and math.prod(shape) <= 20)


def test_one_element_is_a_possible_bound(assert_all_examples):
    assert_all_examples(shapes(max_size=1, large_size=None), lambda shape: math.prod(shape) == 1, 30)


def test_nine_of_ten_are_small(draw_many):
    sizes = [math.prod(shape) for shape in draw_many(shapes(), 400)]
    assert sum(size <= 512 for size in sizes) / len(sizes) > 0.85
    assert max(sizes) > 512


@pytest.mark.parametrize("kind", [*CLASS_WEIGHTS, *EMPTY_WEIGHTS])
def test_can_produce_every_class(find_any, kind):
    strategy = shapes_and_channel_axes(allow_empty=True)
    find_any(strategy, lambda pair: shape_class(*pair) == kind)


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_can_produce_every_rank(find_any, rank):
    find_any(shapes(), lambda shape: len(shape) == rank)


def test_not_empty_unless_allowed(assert_all_examples):
    assert_all_examples(shapes(), lambda shape: 0 not in shape)


def test_shrinks(minimal):
    assert minimal(shapes_and_channel_axes()) == ((2, 2), 1)
    assert minimal(shapes(), lambda shape: 1 in shape) == (2, 1)
    assert minimal(shapes(), lambda shape: len(shape) > 3) == (2, 2, 2, 2)


@pytest.mark.parametrize("rank", [2, 4])
def test_channel_axes_are_written_in_every_way(draw_many, rank):
    assert set(draw_many(channel_axes(rank), 200)) == set(range(-rank, rank))


def test_a_channel_axis_can_be_asked_for(assert_all_examples):
    assert_all_examples(shapes_and_channel_axes(channel_axis=-1), lambda pair: pair[1] == -1, 30)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"min_rank": 1}, "min_rank=1 must lie within 2..5", id="low rank"),
        pytest.param({"max_rank": 6}, "max_rank=6 must lie within 2..5", id="high rank"),
        pytest.param({"min_rank": 4, "max_rank": 3}, "min_rank=4 is larger than max_rank=3", id="order of ranks"),
        pytest.param({"max_size": 0}, "max_size=0 must be at least 1", id="no size"),
        pytest.param({"large_size": 5}, "large_size=5 is smaller than max_size=512", id="order of sizes"),
        pytest.param({"channel_axis": 7}, "channel_axis=7 must lie within", id="axis"),
    ],
)
def test_arguments_are_checked_when_drawn_from(minimal, arguments, message):
    strategy = shapes_and_channel_axes(**arguments)
    with pytest.raises(UsageError, match=message):
        minimal(strategy)


def test_channel_axes_need_two_axes():
    with pytest.raises(UsageError, match="rank=1 must be at least 2"):
        channel_axes(1)
