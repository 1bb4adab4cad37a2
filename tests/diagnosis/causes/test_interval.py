"""Interval operations: whatever numbers the operands hold, the result holds what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.diagnosis.causes import interval
from bnfuzz.diagnosis.causes.interval import OPERATIONS, Ends

WIDE = np.longdouble
LARGEST = float(np.finfo(np.float32).max)
ROUNDOFF = 2.0**-24


@dataclass
class Held:
    """An interval and one number that it holds."""

    v: Any
    lo: Any
    hi: Any
    nan: Any
    point: np.longdouble

    def __str__(self) -> str:
        return f"{self.point} in [{self.lo}, {self.hi}], nan {self.nan}"


SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0**-149, -(2.0**-149), LARGEST, -LARGEST, float("inf"), float("-inf"))


def numbers(least: float = float("-inf")) -> st.SearchStrategy[float]:
    """Of float32, with the special ones often."""
    return st.sampled_from([x for x in SPECIAL if x >= least]) | st.floats(least, width=32, allow_nan=False)


@st.composite
def held(draw: st.DrawFn, least: float = float("-inf")) -> Held:
    kind = draw(st.sampled_from(("interval", "interval", "point", "may be nan", "is nan", "certain")))
    if kind == "certain":
        return _held(*[float("nan")] * 3, True, float("nan"))
    lo, point, hi = sorted(draw(st.tuples(*[numbers(least)] * 3)))
    if kind == "point":
        lo = hi = point
    if lo <= 0 <= hi and draw(st.booleans()):
        point = draw(st.sampled_from((0.0, -0.0)))
    v = draw(st.sampled_from((lo, point, hi)))
    return _held(v, lo, hi, kind in ("may be nan", "is nan"), float("nan") if kind == "is nan" else point)


def _held(v: float, lo: float, hi: float, nan: bool, point: float) -> Held:
    v_, lo_, hi_ = (np.asarray([number], dtype=WIDE) for number in (v, lo, hi))
    return Held(v_, lo_, hi_, np.asarray([nan]), WIDE(point))


def holds(ends: Ends, number: Any) -> bool:
    _, lo, hi, nan = (np.ravel(part)[0] for part in ends)
    return bool(nan) if np.isnan(number) else bool(lo <= number <= hi)


def told_certainly(ends: Ends) -> bool:
    """NaN ends come in pairs, and with the chance of NaN."""
    _, lo, hi, nan = ends
    return bool(np.all(np.isnan(lo) == np.isnan(hi)) and np.all(nan | ~np.isnan(lo)))


@settings(deadline=None, max_examples=400)
@given(st.sampled_from((np.add, np.subtract, np.multiply, np.divide, np.maximum)), held(), held())
def test_an_operation_on_two_holds_every_result(operation: np.ufunc, a: Held, b: Held) -> None:
    with np.errstate(all="ignore"):
        ends = OPERATIONS[operation](a, b)
        assert told_certainly(ends)
        assert holds(ends, operation(a.point, b.point)), (operation, str(a), str(b), ends)


@settings(deadline=None, max_examples=200)
@given(st.sampled_from((np.sqrt, np.absolute, np.negative)), held())
def test_an_operation_on_one_holds_every_result(operation: np.ufunc, a: Held) -> None:
    with np.errstate(all="ignore"):
        ends = OPERATIONS[operation](a)
        assert told_certainly(ends)
        assert holds(ends, operation(a.point)), (operation, str(a), ends)
        assert holds(interval.square(a), a.point * a.point), (str(a), ends)


@settings(deadline=None, max_examples=200)
@given(held(least=0.0), st.floats(0, 64, width=32))
def test_a_power_holds_every_result(a: Held, exponent: float) -> None:
    b = _held(exponent, exponent, exponent, False, exponent)
    with np.errstate(all="ignore"):
        ends = interval.power(a, b, 2.0**-50, 0.0)
        assert holds(ends, np.abs(a.point) ** b.point), (str(a), exponent, ends)


@pytest.mark.parametrize("divisor", [(-2.0, 0.0), (-2.0, -0.0), (0.0, 2.0), (-0.0, 2.0), (-1.0, 1.0)])
def test_a_divisor_that_may_vanish_may_do_so_from_either_side(divisor: tuple[float, float]) -> None:
    one, b = _held(1.0, 1.0, 1.0, False, 1.0), _held(divisor[0], *divisor, False, divisor[0])
    with np.errstate(all="ignore"):
        _, lo, hi, nan = interval.divide(one, b)
    assert (lo[0], hi[0], nan[0]) == (-np.inf, np.inf, False)


@pytest.mark.parametrize(
    ("operation", "first", "second"),
    [
        (np.add, (0.0, np.inf), (-np.inf, 0.0)),
        (np.subtract, (0.0, np.inf), (0.0, np.inf)),
        (np.multiply, (-1.0, 1.0), (1.0, np.inf)),
        (np.divide, (1.0, np.inf), (1.0, np.inf)),
        (np.divide, (0.0, 1.0), (-1.0, 1.0)),
    ],
)
def test_what_may_be_nan_stays_so_through_a_clamp(
    operation: np.ufunc, first: tuple[float, float], second: tuple[float, float]
) -> None:
    a, b = (_held(ends[0], *ends, False, ends[0]) for ends in (first, second))
    zero = _held(0.0, 0.0, 0.0, False, 0.0)
    with np.errstate(all="ignore"):
        clamped = interval.larger(Held(*OPERATIONS[operation](a, b), point=a.point), zero)
    assert clamped[1][0] == 0
    assert clamped[3].all()


def test_numbers_far_from_the_exceptions_are_never_nan() -> None:
    a, b = _held(2.0, 1.0, 3.0, False, 2.0), _held(-4.0, -5.0, -3.0, False, -4.0)
    for operation in (np.add, np.subtract, np.multiply, np.divide, np.maximum):
        assert not OPERATIONS[operation](a, b)[3].any()
    assert not interval.root(a)[3].any()


# -- sums -------------------------------------------------------------------------------------------------------------


def stacked(terms: Sequence[Held]) -> Held:
    parts = (np.concatenate([getattr(term, name) for term in terms])[:, None] for name in ("v", "lo", "hi", "nan"))
    return Held(*parts, point=WIDE(0))


def tree(values: Sequence[np.float32], choose: Callable[[int], int]) -> np.float32:
    """A sum in which any two that are left are added next."""
    left = list(values)
    while len(left) > 1:
        first = left.pop(choose(len(left)))
        second = left.pop(choose(len(left)))
        left.append(first + second)
    return left[0]


@settings(deadline=None, max_examples=200)
@given(st.lists(held(), min_size=1, max_size=6), st.data())
def test_a_sum_holds_every_order_with_what_overflows_on_the_way(terms: list[Held], data: st.DataObject) -> None:
    growth = len(terms) * ROUNDOFF * 1.01
    with np.errstate(all="ignore"):
        ends = interval.total(stacked(terms), 0, True, growth, LARGEST)
        total = tree([np.float32(term.point) for term in terms], lambda n: data.draw(st.integers(0, n - 1)))
        assert told_certainly(ends)
        assert holds(ends, WIDE(total)), (list(map(str, terms)), ends)


@settings(deadline=None, max_examples=200)
@given(st.lists(held(), min_size=1, max_size=6))
def test_running_sums_hold_every_partial_sum(terms: list[Held]) -> None:
    growth = len(terms) * ROUNDOFF * 1.01
    with np.errstate(all="ignore"):
        v, lo, hi, nan = interval.running_sums(stacked(terms), 0, growth, LARGEST)
        partial = np.add.accumulate(np.array([term.point for term in terms], dtype=np.float32))
        assert told_certainly((v, lo, hi, nan))
        for place, number in enumerate(partial):
            assert holds((v[place], lo[place], hi[place], nan[place]), WIDE(number)), (list(map(str, terms)), place)


def test_infinities_that_meet_in_a_running_sum_are_not_certain_to() -> None:
    terms = stacked([_held(1.0, 0.0, np.inf, False, 1.0), _held(-1.0, -np.inf, 0.0, False, -1.0)])
    with np.errstate(all="ignore"):
        _, lo, hi, nan = interval.running_sums(terms, 0, ROUNDOFF, LARGEST)
    assert lo[:, 0].tolist() == [0.0, -np.inf]
    assert hi[:, 0].tolist() == [np.inf, np.inf]
    assert nan[:, 0].tolist() == [False, True]
