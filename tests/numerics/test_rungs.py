"""Each rung's operations err by no more than the unit roundoff and the underflow that it states."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bnfuzz.numerics.doubledouble import DoubleDouble, Pair, two_product, two_sum
from bnfuzz.numerics.multiprecision import Multiprecision
from bnfuzz.numerics.values import Float64

CONTEXT = mpmath.MPContext()
CONTEXT.prec = 1200
RUNGS = [Float64(), DoubleDouble()]
MANY = settings(max_examples=50, derandomize=True, deadline=None)


def ids(rung):
    return rung.name


@st.composite
def floats(draw, least: int = -1074, most: int = 1023):
    """Both signs, any significand, every exponent as likely as any other."""
    fraction = draw(st.integers(2**52, 2**53 - 1) | st.sampled_from([2**52, 2**52 + 1, 2**53 - 1]))
    return draw(st.sampled_from([1.0, -1.0])) * math.ldexp(fraction, draw(st.integers(least, most)) - 52)


@st.composite
def numbers(draw, least: int = -1074, most: int = 1023, positive: bool = False):
    """A float64 and a low part of at most half its spacing, or none."""
    hi = draw(floats(least=least, most=most))
    hi = abs(hi) if positive else hi
    share = draw(st.just(0) | st.integers(-(2**20), 2**20)) / 2**20
    return hi, share * math.ulp(hi) / 2


def value_of(rung, number):
    """(what the rung holds, its exact value) of a pair; the first rung drops the low part."""
    hi, lo = (np.array([part]) for part in number)
    if isinstance(rung, DoubleDouble):
        return Pair(hi, lo), Fraction(number[0]) + Fraction(number[1])
    return hi, Fraction(number[0])


def told(rung, value):
    """The exact value of a result, or None where it is not finite."""
    parts = [float(np.ravel(part)[0]) for part in rung.split(value)]
    return sum(map(Fraction, parts)) if np.isfinite(parts).all() else None


def check(rung, result, exact: Fraction, *operands, roundings: int = 1, scale: Fraction | None = None):
    got = told(rung, result)
    if got is None:
        # Overflow, of the value or of a partial product: never mistaken for a number.
        assert np.isinf(rung.magnitude(result)).all()
        assert max(map(abs, (exact, *operands))) > Fraction(2) ** 990
        return
    allowed = roundings * Fraction(rung.unit_roundoff) * (abs(exact) if scale is None else scale)
    allowed += Fraction(2) ** -1074 if rung.name == "float64" else Fraction(rung.underflow)
    assert abs(got - exact) <= allowed, f"exact {float(exact)}, error {float(abs(got - exact))}, bound {float(allowed)}"


@MANY
@given(floats(), floats())
def test_two_sum_is_exact(a, b):
    with np.errstate(all="ignore"):
        pair = two_sum(np.float64(a), np.float64(b))
    if np.isfinite(pair.hi):
        assert Fraction(float(pair.hi)) + Fraction(float(pair.lo)) == Fraction(a) + Fraction(b)


@MANY
@given(floats(-450, 450), floats(-450, 450))
def test_two_product_is_exact(a, b):
    pair = two_product(np.float64(a), np.float64(b))
    assert Fraction(float(pair.hi)) + Fraction(float(pair.lo)) == Fraction(a) * Fraction(b)


@pytest.mark.parametrize("rung", RUNGS, ids=ids)
@MANY
@given(numbers(), numbers())
@example((1.0, 2.0**-54), (-1.0, 2.0**-55))
@example((1.0 + 2.0**-52, -(2.0**-53)), (-1.0, -(2.0**-54)))
def test_add_and_subtract(rung, first, second):
    (a, exact_a), (b, exact_b) = value_of(rung, first), value_of(rung, second)
    with np.errstate(all="ignore"):
        check(rung, rung.add(a, b), exact_a + exact_b, exact_a, exact_b)
        check(rung, rung.subtract(a, b), exact_a - exact_b, exact_a, exact_b)


@pytest.mark.parametrize("rung", RUNGS, ids=ids)
@MANY
@given(numbers(), numbers())
@example((2.0**-540, 0.0), (2.0**-530, 2.0**-584))
def test_multiply(rung, first, second):
    (a, exact_a), (b, exact_b) = value_of(rung, first), value_of(rung, second)
    with np.errstate(all="ignore"):
        check(rung, rung.multiply(a, b), exact_a * exact_b, exact_a, exact_b)


@pytest.mark.parametrize("rung", RUNGS, ids=ids)
@MANY
@given(numbers(), st.integers(1, 2**24))
def test_divide(rung, number, count):
    a, exact = value_of(rung, number)
    with np.errstate(all="ignore"):
        check(rung, rung.divide(a, count), exact / count, exact)


@pytest.mark.parametrize("rung", RUNGS, ids=ids)
@MANY
@given(st.lists(numbers(-60, 60) | numbers(), min_size=1, max_size=20))
def test_total(rung, listed):
    exact = [value_of(rung, number)[1] for number in listed]
    hi, lo = (np.array([part]) for part in zip(*listed, strict=True))
    values = Pair(hi, lo) if isinstance(rung, DoubleDouble) else hi
    with np.errstate(all="ignore"):
        check(rung, rung.total(values, (-1,)), sum(exact), *exact, roundings=len(listed), scale=sum(map(abs, exact)))


@pytest.mark.parametrize("rung", RUNGS, ids=ids)
@MANY
@given(numbers(positive=True))
@example((2.0**1000, 2.0**940))
@example((5e-324, 0.0))
@example((np.nextafter(4.0, 0.0), 2.0**-54))
def test_reciprocal_root(rung, number):
    a, exact = value_of(rung, number)
    with np.errstate(all="ignore"):
        got = told(rung, rung.reciprocal_root(a))
    assert got is not None
    root = 1 / CONTEXT.sqrt(CONTEXT.mpf(exact.numerator) / exact.denominator)
    error = abs(CONTEXT.mpf(got.numerator) / got.denominator - root) / root
    assert error <= 4 * rung.unit_roundoff, f"relative error {float(error)}, bound {4 * rung.unit_roundoff}"


@pytest.mark.parametrize("rung", [*RUNGS, Multiprecision()], ids=ids)
def test_roots_of_what_is_not_positive_are_zero(rung):
    value, rest = rung.split(rung.reciprocal_root(rung.lift(np.array([0.0, -1.0]))))
    np.testing.assert_array_equal(value, [0.0, 0.0])
    np.testing.assert_array_equal(rest, [0.0, 0.0])


@pytest.mark.parametrize("rung", [*RUNGS, Multiprecision()], ids=ids)
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 0, 2), (3, 1, 1), (5, 7, 2)])
@pytest.mark.parametrize("axes", [(-1,), (-2,), (-1, -2), (-3, -1), (-3, -2, -1)])
def test_totals_keep_their_axes(rung, shape, axes):
    whole = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    value, rest = rung.split(rung.total(rung.lift(whole), axes))
    np.testing.assert_array_equal(value, whole.sum(axis=axes, keepdims=True))
    assert not rest.any()


@MANY
@given(floats(), floats(), st.integers(1, 1000))
def test_multiprecision_is_exact_to_its_roundoff(a, b, count):
    rung = Multiprecision()
    first, second = rung.lift(np.array([a])), rung.lift(np.array([b]))

    def close(result, exact: Fraction):
        got = result[0]
        scaled = CONTEXT.mpf(exact.numerator) / exact.denominator
        assert abs(CONTEXT.mpf(got) - scaled) <= rung.unit_roundoff * abs(scaled), f"{got} for {scaled}"

    close(rung.add(first, second), Fraction(a) + Fraction(b))
    close(rung.multiply(first, second), Fraction(a) * Fraction(b))
    close(rung.divide(first, count), Fraction(a) / count)


@MANY
@given(numbers(-900, 900))
def test_multiprecision_splits_into_the_nearest_and_a_rest(number):
    rung = Multiprecision()
    value = rung.add(rung.lift(np.array([number[0]])), rung.lift(np.array([number[1]])))
    hi, lo = rung.split(value)
    exact, nearest = Fraction(number[0]) + Fraction(number[1]), Fraction(float(hi[0]))
    assert abs(exact - nearest - Fraction(float(lo[0]))) <= Fraction(2) ** -53 * abs(exact - nearest)
    assert abs(lo[0]) <= math.ulp(hi[0]) / 2


def test_multiprecision_leaves_the_callers_precision_alone():
    before = mpmath.mp.prec
    rung = Multiprecision()
    rung.reciprocal_root(rung.lift(np.array([2.0])))
    assert mpmath.mp.prec == before


def test_what_overflows_has_an_infinite_magnitude():
    for rung in RUNGS:
        with np.errstate(all="ignore"):
            square = rung.multiply(rung.lift(np.array([1e200])), rung.lift(np.array([1e200])))
            assert np.isinf(rung.magnitude(square)).all()
            assert np.isinf(rung.magnitude(rung.subtract(square, square))).all()
    rung = Multiprecision()
    square = rung.multiply(rung.lift(np.array([1e200])), rung.lift(np.array([1e200])))
    with np.errstate(over="ignore"):
        assert np.isinf(rung.magnitude(square)).all()
    assert rung.magnitude(rung.subtract(square, square))[0] == 0
