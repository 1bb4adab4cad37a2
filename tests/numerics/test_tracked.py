"""Tracked arithmetic against the formats' own operations: what an admitted evaluation gives is within e.

Operands are numbers of the format within e of v; the operations are NumPy's and ml_dtypes'; exact results are
fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.conventions import Summation
from bnfuzz.errors import InternalError
from bnfuzz.numerics.tracked import CAPPED, RAW, RUNG, Tracked, TrackedArithmetic
from bnfuzz.numerics.values import Float64

NAMES = ("float16", "bfloat16", "float32")
MANY = settings(max_examples=50, derandomize=True, deadline=None)
OWN_ROUNDING = 1 + Fraction(100, 2**52)
"""The bounds are computed in float64; the reference inflates them by this much and more."""


ANY = Summation()


def arithmetic(name, *, flushes=False, summation=ANY):
    return TrackedArithmetic(Float64(), formats.named(name), flushes=flushes, summation=summation)


@st.composite
def values(draw, name, *, positive=False):
    """A finite number of the format: any bits, or near a power of two, or a small integer."""
    fmt = formats.named(name)
    unsigned = np.dtype(f"u{fmt.bits // 8}")
    bits = draw(st.integers(0, 2**fmt.bits - 1))
    near = draw(st.sampled_from([None, 0, 1, -1]))
    if near is not None:
        exponent = draw(st.integers(-12, 12))
        number = np.asarray(math.ldexp(1.0, exponent), dtype=fmt.dtype)
        bits = int(number.view(unsigned)) + near + draw(st.sampled_from([0, 1 << (fmt.bits - 1)]))
    value = float(np.asarray(bits, dtype=unsigned).view(fmt.dtype))
    value = value if math.isfinite(value) else draw(st.integers(-20, 20)) * 1.0
    return abs(value) if positive else value


@st.composite
def operands(draw, name, *, positive=False):
    """(v, e, a number of the format at most e from v): e is 0, some spacings of v, or v itself."""
    fmt = formats.named(name)
    v = draw(values(name, positive=positive))
    e = draw(st.sampled_from([0.0, 1.0, 4.0, 1000.0])) * max(2 * fmt.unit_roundoff * abs(v), fmt.smallest_subnormal)
    e = draw(st.sampled_from([e, abs(v)]))
    share = draw(st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.25]))
    near = np.asarray(max(min(v + share * e, fmt.largest), -fmt.largest), dtype=fmt.dtype)
    close = abs(Fraction(float(near)) - Fraction(v)) <= Fraction(e)
    return v, e, near if close else np.asarray(v, dtype=fmt.dtype)


def tracked(v, e=0.0):
    """Both tiers of the subject at e, the rung exact."""
    v, e = np.asarray(v, dtype=np.float64), np.broadcast_to(np.asarray(e, dtype=np.float64), np.shape(v))
    return Tracked(v, np.stack([e, e, np.zeros_like(e)]), np.zeros(v.shape, dtype=bool))


def check(result: Tracked, real, exact: Fraction):
    """The format's own result lies within e of the exact one, or is not finite and flagged; so does the rung's v."""
    real, e, rung = float(real), float(result.e[RAW].ravel()[0]), float(result.e[RUNG].ravel()[0])
    v, flag = float(np.ravel(result.v)[0]), bool(np.ravel(result.flag)[0])
    np.testing.assert_array_equal(result.e[CAPPED], result.e[RAW])
    if math.isfinite(v):
        error = abs(Fraction(v) - exact)
        assert error <= Fraction(rung) * OWN_ROUNDING, f"exact {float(exact)}, the rung's {v}, its bound {rung}"
    if not math.isfinite(real):
        assert flag, f"exact {float(exact)}, observed {real}, not flagged"
        return
    error = abs(Fraction(real) - exact)
    allowed = Fraction(e) * OWN_ROUNDING + Fraction(rung) if math.isfinite(e) else error
    assert error <= allowed, f"exact {float(exact)}, observed {real}, error {float(error)}, bound {e}, flag {flag}"


def fractions(listed):
    return [Fraction(v) for v, _, _ in listed]


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(data=st.data())
def test_two_operands(name, data):
    a = arithmetic(name)
    first, second = data.draw(operands(name)), data.draw(operands(name))
    exact = fractions([first, second])
    left, right = tracked(*first[:2]), tracked(*second[:2])
    with np.errstate(all="ignore"):
        check(a.add(left, right), first[2] + second[2], exact[0] + exact[1])
        check(a.subtract(left, right), first[2] - second[2], exact[0] - exact[1])
        check(a.multiply(left, right), first[2] * second[2], exact[0] * exact[1])


def in_order(terms, _lanes):
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def balanced(terms, _lanes):
    while len(terms) > 1:
        half = [left + right for left, right in zip(terms[::2], terms[1::2], strict=False)]
        terms = half + ([terms[-1]] if len(terms) % 2 else [])
    return terms[0]


def in_lanes(terms, lanes):
    return in_order([in_order(terms[lane::lanes], lanes) for lane in range(min(lanes, len(terms)))], lanes)


def in_float64(terms, _lanes):
    return np.asarray(in_order([term.astype(np.float64) for term in terms], 1)).astype(terms[0].dtype)


ORDERS = {
    "any": (ANY, [in_order, balanced, in_lanes]),
    "pairwise": (Summation("pairwise"), [balanced]),
    "lanes": (Summation("lanes", lanes=4), [in_lanes]),
    "wide": (Summation("wide", accumulator="float64"), [in_float64]),
}


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("name", NAMES)
@MANY
@given(data=st.data())
def test_sums_and_means_in_every_admitted_order(name, kind, data):
    summation, orders = ORDERS[kind]
    a = arithmetic(name, summation=summation)
    listed = data.draw(st.lists(operands(name), min_size=1, max_size=24))
    listed = data.draw(st.permutations(listed))
    v, e, real = zip(*listed, strict=True)
    terms, exact = tracked(v, e), sum(fractions(listed))
    dtype = formats.named(name).dtype
    for order in orders:
        with np.errstate(all="ignore"):
            total = np.asarray(order(list(real), summation.lanes if kind == "lanes" else 4))
            check(a.total(terms, (-1,)), total, exact)
            check(a.mean(terms, (-1,)), total / np.asarray(len(v), dtype=dtype), exact / len(v))


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(data=st.data())
def test_a_mean_of_inputs_covers_the_product_with_a_rounded_share(name, data):
    """Two roundings instead of one: what an input's own u·|z| covers, since a kernel is given the input exactly."""
    a = arithmetic(name)
    dtype = formats.named(name).dtype
    z = data.draw(st.lists(values(name), min_size=1, max_size=24))
    real = [np.asarray(number, dtype=dtype) for number in z]
    with np.errstate(all="ignore"):
        product = in_order(real, 1) * np.asarray(1.0 / len(z), dtype=dtype)
        check(a.mean(a.array(np.array(z)), (-1,)), product, sum(map(Fraction, z)) / len(z))


@pytest.mark.parametrize("name", NAMES)
def test_a_sum_whose_roundings_all_go_up(name):
    """Each term just above half the sum's spacing: every addition doubles it. Beyond n·u = 1 as well."""
    dtype = formats.named(name).dtype
    a = arithmetic(name)
    for n in (2, 3, 10, 100, 600):
        total, terms = np.asarray(1.0, dtype=dtype), [np.asarray(1.0, dtype=dtype)]
        for _ in range(n - 1):
            spacing = math.ldexp(1.0, math.frexp(float(total))[1] - formats.named(name).precision)
            up = np.asarray(np.nextafter(np.float32(spacing / 2), np.float32(np.inf)), dtype=np.float32)
            term = np.asarray(spacing / 2 * (1 + 2 * formats.named(name).unit_roundoff), dtype=dtype)
            terms.append(term if float(term) > spacing / 2 else up.astype(dtype))
            total = total + terms[-1]
        listed = [float(term) for term in terms]
        check(a.total(tracked(listed), (-1,)), total, sum(map(Fraction, listed)))


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(data=st.data())
def test_reciprocal_roots_on_both_sides(name, data):
    a = arithmetic(name)
    dtype = formats.named(name).dtype
    v, e, real = data.draw(operands(name, positive=True))
    floor = data.draw(st.sampled_from([0.0, v / 2, v, max(v - e, 0.0)]))
    e = data.draw(st.sampled_from([e, math.inf]))
    floor = min(floor, float(real))
    result = a.reciprocal_root(tracked(v, e), np.broadcast_to(floor, (3,)))
    if v == 0:
        assert np.isinf(result.e).all()
        assert result.flag
        return
    with np.errstate(all="ignore"):
        observed = np.asarray(1, dtype=dtype) / np.sqrt(real)
    if not np.isfinite(float(observed)):
        assert result.flag
        return
    exact = Fraction(1) / Fraction(math.isqrt(int(Fraction(v) * 4**400))) * 2**400
    check(result, observed, exact)


def test_the_lower_side_of_a_root_stops_at_the_floor():
    a = arithmetic("float32")
    u = 2.0**-24
    for floor in (0.25, 0.01, 1e-6):
        result = a.reciprocal_root(tracked(1.0, 5.0), np.full(3, floor))
        expected = 1 / math.sqrt(floor) - 1
        assert result.e[RAW] == pytest.approx(expected + 4 * u * (1 + expected), rel=1e-9)
        assert not result.flag
    assert a.reciprocal_root(tracked(1.0, 5.0), np.zeros(3)).flag


def test_the_upper_side_of_a_root_with_an_infinite_bound_is_the_root():
    """Any number from the floor up: 0 at worst, which is the root itself away."""
    a = arithmetic("float32")
    result = a.reciprocal_root(tracked(4.0, math.inf), np.full(3, 4.0))
    assert result.e[RAW] == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(data=st.data())
def test_scalars_cover_a_cast(name, data):
    fmt = formats.named(name)
    z = data.draw(st.floats(1e-45, 1e4) | st.sampled_from([0.0, 1e-12, 1e-5, 0.1, 1.0]))
    for flushes in (False, True):
        cast = float(np.asarray(z).astype(fmt.dtype))
        cast = 0.0 if flushes and abs(cast) < fmt.smallest_normal else cast
        result = arithmetic(name, flushes=flushes).scalar(z)
        assert abs(cast - z) <= result.e[RAW]


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(data=st.data())
def test_storing_covers_the_rounding(name, data):
    fmt = formats.named(name)
    v = data.draw(st.floats(-60000, 60000) | st.floats(-1e-4, 1e-4))
    stored = float(np.asarray(v).astype(fmt.dtype))
    result = arithmetic("float32").store(tracked(v), fmt)
    assert abs(Fraction(stored) - Fraction(v)) <= Fraction(float(result.e[RAW])) * OWN_ROUNDING
    assert result.e[RUNG] == 0


@pytest.mark.parametrize("name", NAMES)
def test_flushed_subnormals_are_covered(name):
    fmt = formats.named(name)
    a = arithmetic(name, flushes=True)
    tiny = fmt.smallest_normal
    assert a.array(np.array(tiny / 2)).e[RAW] >= tiny / 2
    assert a.array(np.array(0.0)).e[RAW] == 0
    assert a.array(np.array(tiny)).e[RAW] == fmt.unit_roundoff * tiny
    difference = a.subtract(tracked(1.5 * tiny), tracked(tiny))
    assert difference.e[RAW] >= tiny / 2
    product = a.multiply(tracked(tiny), tracked(0.5))
    assert product.e[RAW] >= tiny / 2
    total = a.total(tracked([1.5 * tiny, -tiny, tiny / 2]), (-1,))
    assert total.e[RAW] >= tiny


def test_overflow_sets_the_flag_and_no_infinite_bound():
    for name in NAMES:
        fmt = formats.named(name)
        a = arithmetic(name)
        big = tracked(fmt.largest)
        for result in (a.add(big, big), a.multiply(big, tracked(2.0)), a.subtract(tracked(-fmt.largest), big)):
            assert result.flag
            assert np.isfinite(result.e).all()
        assert not a.add(big, tracked(0.0)).flag or fmt.unit_roundoff * fmt.largest > 0
        assert a.total(tracked([fmt.largest, -fmt.largest, 1.0]), (-1,)).flag
        assert a.total(tracked([0.6 * fmt.largest, 0.6 * fmt.largest, -fmt.largest]), (-1,)).flag
        assert not a.total(tracked([0.1 * fmt.largest] * 3), (-1,)).flag


def test_a_flag_joins_through_everything():
    a = arithmetic("float32")
    flagged = Tracked(np.array([1.0, 2.0]), np.zeros((3, 2)), np.array([False, True]))
    plain = tracked([1.0, 1.0])
    for result in (a.add(flagged, plain), a.subtract(plain, flagged), a.multiply(flagged, plain)):
        np.testing.assert_array_equal(result.flag, [False, True])
    assert a.total(flagged, (-1,)).flag.all()
    assert a.mean(flagged, (-1,)).flag.all()
    np.testing.assert_array_equal(a.store(flagged, formats.named("float16")).flag, [False, True])
    np.testing.assert_array_equal(a.admitted(plain, lambda: flagged).flag, [False, True])
    np.testing.assert_array_equal(a.at_risk(plain, flagged).flag, [False, True])
    np.testing.assert_array_equal(a.limit(flagged, np.zeros(2)).flag, [False, True])


def test_an_exact_zero_times_an_infinite_bound_is_zero():
    a = arithmetic("float32")
    result = a.multiply(tracked(0.0), tracked(1.0, math.inf))
    np.testing.assert_array_equal(result.e, 0.0)
    assert np.isinf(a.multiply(tracked(0.0, 1e-30), tracked(1.0, math.inf)).e[RAW])
    assert np.isinf(a.multiply(tracked(1.0), tracked(0.0, math.inf)).e[RAW])


def test_a_nan_in_a_bound_is_an_internal_error():
    a = arithmetic("float32")
    broken = Tracked(np.array(1.0), np.array([math.nan, 0.0, 0.0]), np.array(False))
    for operation in (
        lambda: a.add(broken, tracked(1.0)),
        lambda: a.multiply(broken, tracked(1.0)),
        lambda: a.store(broken, formats.named("float32")),
        lambda: a.divide(broken, 2),
    ):
        with pytest.raises(InternalError, match="report the case"):
            operation()


def test_limits_cap_all_but_the_raw_tier():
    a = arithmetic("float32")
    e = np.array([[5.0, 0.5], [5.0, 0.5], [7.0, 0.25]])
    limited = a.limit(Tracked(np.array([1.0, 1.0]), e, np.zeros(2, dtype=bool)), np.array([2.0, 2.0]))
    np.testing.assert_array_equal(limited.e, [[2.0, 0.5], [5.0, 0.5], [2.0, 0.25]])


def test_admitted_forms_give_the_largest_bound_and_the_first_value():
    a = arithmetic("float32")
    first = Tracked(np.array([1.0, 1.0]), np.array([[1.0, 4.0], [2.0, 4.0], [0.5, 0.5]]), np.zeros(2, dtype=bool))
    other = Tracked(np.array([9.0, 9.0]), np.array([[3.0, 2.0], [1.0, 5.0], [9.0, 9.0]]), np.zeros(2, dtype=bool))
    result = a.admitted(first, lambda: other)
    np.testing.assert_array_equal(result.v, first.v)
    np.testing.assert_array_equal(result.e, [[3.0, 4.0], [2.0, 5.0], [0.5, 0.5]])
