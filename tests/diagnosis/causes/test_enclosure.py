"""Enclosures: what a float32 evaluation gives lies inside, for single operations and for whole kernels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from bnfuzz import formats
from bnfuzz.case import Case
from bnfuzz.conventions import Conventions, FormatTriple, Summation
from bnfuzz.diagnosis.causes.consistency import inside
from bnfuzz.diagnosis.causes.enclosure import Enclosure, Setting, constant, given, hull, scalar, total
from bnfuzz.diagnosis.causes.prediction import predict
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.fault import Fault

SINGLE = Setting(formats.named("float32"))
FLUSHING = Setting(formats.named("float32"), flushes=True)
NUMBERS = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)
ANY_NUMBERS = st.floats(width=32) | st.sampled_from((0.0, -0.0, 2.0**-149, 2.0**-126, 2.0**127, -(2.0**127)))
VECTORS = arrays_of.arrays(np.float32, st.integers(1, 20), elements=NUMBERS)


def holds(enclosed: Enclosure, values: np.ndarray) -> bool:
    return bool(np.all(inside(enclosed, np.asarray(values, dtype=np.longdouble))))


@settings(deadline=None)
@drawn(NUMBERS | ANY_NUMBERS, NUMBERS | ANY_NUMBERS)
def test_operations_hold_the_rounded_and_the_exact_result(x: float, y: float) -> None:
    with np.errstate(all="ignore"):
        a, b = constant(np.float32(x), SINGLE), constant(np.float32(y), SINGLE)
        single_x, single_y = np.float32(x), np.float32(y)
        assert holds(a + b, single_x + single_y)
        assert holds(a - b, single_x - single_y)
        assert holds(a * b, single_x * single_y)
        if np.isfinite([x, y]).all() and np.isfinite([(a * b).lo, (a * b).hi]).all():
            product = Fraction(float(single_x)) * Fraction(float(single_y))
            assert Fraction(float((a * b).lo)) <= product <= Fraction(float((a * b).hi))
        assert holds(a / b, single_x / single_y)
        assert holds(np.sqrt(np.abs(a)), np.sqrt(np.abs(single_x)))
        assert holds(np.maximum(a, b), np.maximum(single_x, single_y))


@settings(deadline=None)
@drawn(VECTORS, st.randoms(use_true_random=False))
def test_a_sum_holds_every_order(values: np.ndarray, random: object) -> None:
    order = list(range(len(values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    added = np.float32(0)
    for place in order:
        added = np.float32(added + values[place])
    assert holds(total(constant(values[:, None], SINGLE)), np.array([[added]]))


@settings(deadline=None)
@drawn(VECTORS)
def test_squares_and_their_sums_are_never_negative(values: np.ndarray) -> None:
    deviation = given(values[:, None], SINGLE) - given(values[::-1, None], SINGLE)
    squares = deviation * deviation
    assert np.all(squares.lo >= 0)
    assert np.all(total(squares).lo >= 0)


def test_a_narrow_format_is_rounded_to_and_not_widened_by() -> None:
    import ml_dtypes

    value = constant(np.float32(1.2345), SINGLE).astype(ml_dtypes.bfloat16)
    expected = float(np.float32(1.2345).astype(ml_dtypes.bfloat16))
    assert (float(value.lo), float(value.v), float(value.hi)) == (expected, expected, expected)


def test_nan_is_certain_only_where_one_went_in() -> None:
    zero = constant(np.zeros(1), SINGLE)
    around_zero = given(np.array([1.0]), SINGLE) - given(np.array([1.0]), SINGLE)
    assert np.isnan((zero + constant(np.array([np.nan]), SINGLE)).lo).all()
    quotient = zero / around_zero
    assert np.isinf(quotient.hi).all()
    assert np.isinf(quotient.lo).all()
    assert not holds(constant(np.array([np.nan]), SINGLE), np.array([1.0]))


def test_the_largest_number_is_passed_or_not() -> None:
    largest = float(np.finfo(np.float32).max)
    over = constant(np.array([largest]), SINGLE) * constant(np.array([2.0]), SINGLE)
    assert np.isinf(over.hi).all()
    assert holds(over, np.array([np.inf]))


def test_scalars_that_the_format_holds_are_exact() -> None:
    assert float(scalar(0.5, SINGLE).hi) == 0.5
    tenth = scalar(0.1, SINGLE)
    assert tenth.lo < np.float32(0.1) < tenth.hi


def flushed(value: np.float32) -> np.float32:
    return np.copysign(np.float32(0), value) if 0 < abs(value) < np.finfo(np.float32).tiny else value


@pytest.mark.parametrize("eps", [2.0**-149, 2.0**-140, 2.0**-127, 2.0**-126, 1e-5, 0.0])
def test_a_scalar_may_be_flushed_and_does_not_change_its_sign(eps: float) -> None:
    enclosed = scalar(eps, FLUSHING)
    assert holds(enclosed, flushed(np.float32(eps)))
    assert holds(enclosed, np.float32(eps))
    assert enclosed.lo >= 0


def test_a_scalar_beyond_the_largest_number_is_infinite() -> None:
    half = Setting(formats.named("float16"))
    assert holds(scalar(1e5, half), np.array(np.float64(np.inf)))
    assert holds(given(np.array([1e5, 1e-9]), half), np.array([np.inf, 0.0]))


@settings(deadline=None)
@drawn(ANY_NUMBERS, ANY_NUMBERS)
def test_operations_hold_what_a_flushing_subject_gives(x: float, y: float) -> None:
    with np.errstate(all="ignore"):
        a, b = (given(np.array([value]), FLUSHING) for value in (x, y))
        one, other = flushed(np.float32(x)), flushed(np.float32(y))
        for operation in (np.add, np.subtract, np.multiply, np.divide, np.maximum):
            assert holds(operation(a, b), np.array([flushed(operation(one, other))])), operation


@pytest.mark.parametrize("kind", ["any", "wide"])
@drawn(VECTORS)
def test_a_flushing_sum_may_lose_every_term(kind: str, values: np.ndarray) -> None:
    setting = Setting(formats.named("float32"), flushes=True, summation=Summation(kind=kind, accumulator="float64"))
    tiny = (np.sign(values) * 2.0**-127).astype(np.float32)[:, None]
    assert holds(total(constant(tiny, setting)), np.zeros((1, 1)))


def test_running_sums_of_opposite_infinities_are_not_certainly_nan() -> None:
    quotient = constant(np.ones((1, 1)), SINGLE) / constant(np.array([[2.0**-140]]), SINGLE)
    terms = np.concatenate([quotient, constant(np.array([[-np.inf]]), SINGLE)])
    sums = np.add.accumulate(terms, axis=0)
    assert not np.isnan(sums.lo).any()
    assert not np.isnan(sums.hi).any()
    assert holds(sums, np.array([[np.inf], [-np.inf]]))
    assert holds(sums[1], np.array([np.nan]))


@pytest.mark.parametrize("kind", ["any", "pairwise", "lanes"])
def test_partial_sums_may_overflow_where_the_sum_does_not(kind: str) -> None:
    large = np.array([2.0**127] * 2 + [-(2.0**127)] * 2)
    summation = Summation(kind=kind, lanes=1) if kind == "lanes" else Summation(kind=kind)
    enclosed = total(constant(large[:, None], Setting(formats.named("float32"), summation=summation)))
    for order in ((0, 1, 2, 3), (2, 3, 0, 1)):
        with np.errstate(all="ignore"):
            assert holds(enclosed, np.array([[np.add.accumulate(large[list(order)].astype(np.float32))[-1]]]))
    # Two halves that overflow meet.
    assert holds(enclosed, np.array([[np.nan]]))


def test_a_hull_holds_its_parts() -> None:
    first, second = constant(np.array([1.0]), SINGLE), constant(np.array([2.0]), SINGLE)
    assert holds(hull(first, second), np.array([1.5]))
    assert hull(first, second).v.tolist() == [1.0]


TRIPLES: tuple[FormatTriple, ...] = (
    ("float32", "float32", "float32"),
    ("float64", "float64", "float64"),
    ("bfloat16", "bfloat16", "bfloat16"),
)


def conventions_for(fault: Fault, triple: FormatTriple) -> Conventions:
    base = fault.conventions(CONVENTIONS)
    return replace(base, compute=()) if len(set(triple)) == 1 else base


KERNELS = [name for name in CATALOGUE if name not in ("naive_mean", "accumulate_in_half")]


@pytest.mark.parametrize("triple", TRIPLES, ids="-".join)
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_stays_inside_its_own_enclosure(name: str, triple: FormatTriple) -> None:
    fault = CATALOGUE[name]
    conventions = conventions_for(fault, triple)
    case, handed = (fault.example.case(conventions, triple, seed=3) for _ in range(2))
    stays_inside(fault, conventions, case, handed)


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_stays_inside_where_squares_overflow(name: str) -> None:
    fault = CATALOGUE[name]
    conventions = conventions_for(fault, TRIPLES[0])
    case, handed = (overflowing(fault.example.case(conventions, TRIPLES[0], seed=3)) for _ in range(2))
    stays_inside(fault, conventions, case, handed)


def overflowing(case: Case) -> Case:
    """Its x scaled so that the largest is 2^66: squares pass float32's largest number, x itself is far from it."""
    x = case.inputs.x
    finite = np.abs(x[np.isfinite(x)]).max(initial=0.0)
    scale = np.float32(2.0 ** (66 - np.ceil(np.log2(finite)))) if finite else np.float32(1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        return replace(case, inputs=replace(case.inputs, x=x * scale))


def stays_inside(fault: Fault, conventions: Conventions, case: Case, handed: Case) -> None:
    """`handed` is the same case again: some kernels write into what they are handed."""
    try:
        outputs = run(fault.kernel, handed.spec, handed.inputs, conventions)
    except (ValueError, ZeroDivisionError) as error:
        with pytest.raises(type(error)):
            predict(fault.kernel, case.spec, case.inputs, conventions)
        return
    for step, predicted in enumerate(predict(fault.kernel, case.spec, case.inputs, conventions, outputs)):
        for output, array in outputs.items():
            observed = array[0] if len(case.spec.steps) == 1 else array[0, step]
            assert predicted[output].shape == observed.shape, output
            assert holds(predicted[output], observed.astype(np.float64)), (output, step)
