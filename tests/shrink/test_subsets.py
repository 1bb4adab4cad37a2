from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.shrink.subsets import MOST, sizes, subsets


@given(st.integers(0, 3000), st.sampled_from([1, 2]))
def test_sizes_ascend_below_n_and_reach_n_less_one(n: int, smallest: int) -> None:
    found = sizes(n, smallest)
    assert list(found) == sorted(set(found))
    assert all(smallest <= size < n for size in found)
    assert (n - 1 in found) == (n - 1 >= smallest)


@given(
    st.lists(st.floats(width=32), min_size=1, max_size=40),
    st.data(),
)
def test_subsets_are_distinct_ascending_and_of_the_size(values: list[float], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(values)))
    worst = data.draw(st.none() | st.integers(0, len(values) - 1))
    found = subsets(np.array(values), size, worst)
    assert 1 <= len(found) <= MOST
    assert len(set(found)) == len(found)
    for chosen in found:
        assert list(chosen) == sorted(set(chosen))
        assert len(chosen) == size
        assert 0 <= chosen[0] <= chosen[-1] < len(values)
    assert found == subsets(np.array(values), size, worst)


def test_the_extremes_are_among_them() -> None:
    assert (2, 5) in subsets(np.array([0.0, 1, -9, 2, 3, 9, 1, 0, 0, 0, 0, 0, 0, 0]), 2, None)


def test_the_worst_comes_first_with_every_other() -> None:
    found = subsets(np.arange(12.0), 2, 7)
    assert 7 in found[0]
    assert {pair for pair in found if 7 in pair} == {tuple(sorted((7, k))) for k in range(12) if k != 7}


def test_few_choices_are_all_tried() -> None:
    assert len(subsets(np.arange(6.0), 3, None)) == 20


def test_close_to_all_each_chunk_is_left_out_in_turn() -> None:
    found = subsets(np.arange(10.0), 9, None)
    assert {next(iter(set(range(10)) - set(chosen))) for chosen in found} == set(range(10))


@pytest.mark.parametrize(("size", "found"), [(3, ((0, 1, 2),)), (4, ())])
def test_all_of_them_is_one_choice_and_more_is_none(size: int, found: tuple[tuple[int, ...], ...]) -> None:
    assert subsets(np.arange(3.0), size, None) == found
