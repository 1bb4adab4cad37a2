"""Tracked arithmetic: every value carries a bound on how far an admitted evaluation of it may be.

A tracked value is (v, e, flag). v is the exact value, as good as the rung has it. e ≥ 0 bounds the distance of
any evaluation that rounds each operation to the subject's format, in any order that counts as sound. `flag`
says that the evaluation may overflow, or divide by zero, on the way; it is joined through every operation.

e has a leading axis of three tiers, all computed in one pass:

    CAPPED  the subject's bound, with the hard limits of limits.py
    RAW     the subject's bound without them
    RUNG    the bound of this evaluation itself: what v may be wrong by

Overflow never makes the subject's e infinite: it sets the flag, so that an overflow that is not admitted cannot
excuse anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnfuzz.conventions import Summation
from bnfuzz.errors import InternalError
from bnfuzz.formats import Format, named
from bnfuzz.numerics.roundings import ROOT_ROUNDINGS
from bnfuzz.numerics.values import Float, Values

CAPPED, RAW, RUNG = 0, 1, 2
TIERS = 3

Flag = NDArray[np.bool_]

_GUARD = 2.0**-50
"""Relative slack h for the float64 evaluation of the root's bound; 4u_rung·v stands for what v itself may be off."""


@dataclass(frozen=True, eq=False)
class Tracked:
    """v: a value of the rung; e: (TIERS, *shape) float64; flag: boolean, shape of v."""

    v: Any
    e: Float
    flag: Flag


def _tiers(subject: float, rung: float, rank: int) -> Float:
    """(TIERS, 1, …, 1): the subject's number in its two tiers, the rung's in the third."""
    return np.array([subject, subject, rung]).reshape(TIERS, *(1,) * rank)


def bounds_product(a: Float, b: Float) -> Float:
    """a·b of non-negative numbers where 0·∞ is 0: a bound of zero is exact, whatever it meets."""
    with np.errstate(invalid="ignore", over="ignore"):
        product: Float = a * b
    # Looked for only where it shows: this is the most frequent operation of all.
    return np.where((a == 0) | (b == 0), 0.0, product) if np.isnan(product).any() else product


class TrackedArithmetic:
    """Operations on tracked values: values on one rung, errors for one subject format.

    values     the rung
    subject    compute format of the subject: its u, largest number, and underflow
    flushes    the subject flushes subnormals: an underflow may lose the smallest normal number
    summation  growth of the subject's sums
    """

    def __init__(self, values: Values, subject: Format, *, flushes: bool, summation: Summation) -> None:
        self.values = values
        self.subject = subject
        self.flushes = flushes
        self.summation = summation

    # -- entering and leaving -----------------------------------------------------------------------------------

    def array(self, z: Float, *, roundings: float = 1.0) -> Tracked:
        """An input: `roundings` units of backward error u·|z| (what makes the bound condition-aware), and |z|
        itself where a flushing subject may take a subnormal for 0. The rung holds z exactly."""
        magnitude = np.abs(z)
        e = roundings * self.subject.unit_roundoff * magnitude
        if self.flushes:
            e = e + np.where(magnitude < self.subject.smallest_normal, magnitude, 0.0)
        return Tracked(self.values.lift(z), np.stack([e, e, np.zeros_like(e)]), np.zeros(z.shape, dtype=bool))

    def scalar(self, z: float) -> Tracked:
        """eps or a weight: u·|z| + t, since it may be cast to the compute format, where it may underflow."""
        e = self.subject.unit_roundoff * abs(z) + self.underflow_in(self.subject)
        return Tracked(self.values.lift(np.asarray(z)), np.array([e, e, 0.0]), np.zeros((), dtype=bool))

    def exact(self, z: Float) -> Tracked:
        """A value without any error (a cotangent of ones, a statistic kept as it was)."""
        return Tracked(self.values.lift(z), np.zeros((TIERS, *z.shape)), np.zeros(z.shape, dtype=bool))

    def underflow_in(self, fmt: Format) -> float:
        """What one underflow in `fmt` may lose: half a subnormal, or the smallest normal where flushed."""
        if self.flushes:
            return fmt.smallest_normal
        # Half of float64's smallest is no float64: rounded up.
        return fmt.smallest_subnormal / 2 or fmt.smallest_subnormal

    def store(self, a: Tracked, output: Format) -> Tracked:
        """a rounded once to the output format; the reference itself is not rounded."""
        e = a.e.copy()
        magnitude = self.values.magnitude(a.v)
        loss = self.underflow_in(output)
        e[:RUNG] += output.unit_roundoff * (magnitude + a.e[:RUNG]) + loss
        return self._checked(a.v, e, a.flag)

    def rounded(self, a: Tracked, fmt: Format, times: int = 1) -> Tracked:
        """a after `times` further roundings to `fmt`, flagged where it may overflow that (with none: only flagged)."""
        flag = a.flag | self._overflows(a.v, a.e, fmt)
        for _ in range(times):
            a = self.store(a, fmt)
            flag = flag | self._overflows(a.v, a.e, fmt)
        return Tracked(a.v, a.e, flag)

    # -- operations ---------------------------------------------------------------------------------------------

    def add(self, a: Tracked, b: Tracked) -> Tracked:
        a, b = self._aligned(a, b)
        return self._round(self.values.add(a.v, b.v), a.e + b.e, a.flag | b.flag)

    def subtract(self, a: Tracked, b: Tracked) -> Tracked:
        a, b = self._aligned(a, b)
        return self._round(self.values.subtract(a.v, b.v), a.e + b.e, a.flag | b.flag)

    def multiply(self, a: Tracked, b: Tracked) -> Tracked:
        a, b = self._aligned(a, b)
        ma, mb = self.values.magnitude(a.v), self.values.magnitude(b.v)
        e = bounds_product(ma, b.e) + bounds_product(mb + b.e, a.e)
        zero = ((ma == 0) & (a.e == 0)) | ((mb == 0) & (b.e == 0))
        return self._round(self.values.multiply(a.v, b.v), e, a.flag | b.flag, zero)

    def total(self, a: Tracked, axes: tuple[int, ...]) -> Tracked:
        """Sum over `axes` (negative, kept as length 1)."""
        v, e, flag = self._total(a, axes)
        return self._checked(v, e, flag)

    def mean(self, a: Tracked, axes: tuple[int, ...]) -> Tracked:
        """Sum over `axes` divided by the count: one more rounding, which covers a product with a rounded 1/n.

        A mean that is updated value by value (Welford) divides n times, and of the k-th underflow k/n is left in the
        end: (n + 1)/2 of them in all, even where the sum is 0.
        """
        count = self._count(a, axes)
        v, e, flag = self._total(a, axes)
        empty = np.all(self._is_zero(a.v, a.e), axis=axes, keepdims=True)
        updates = np.where(empty, 0.0, max(count - 1, 0) / 2 * self._loss(flag.ndim))
        return self._round(self.values.divide(v, count), e / count + updates, flag, self._is_zero(v, e))

    def divide(self, a: Tracked, count: int) -> Tracked:
        """a divided by a positive integer, rounded once."""
        return self._round(self.values.divide(a.v, count), a.e / count, a.flag, self._is_zero(a.v, a.e))

    def reciprocal_root(self, a: Tracked, floor: Float) -> Tracked:
        """1/√a for a that no evaluation makes smaller than `floor` (TIERS, *shape) ≥ 0.

        Both sides, each without cancellation: low δ/(√v √(v−δ) (√v + √(v−δ))) with
        δ = min(e(1 + h) + 4u_rung·v, v − floor(1 − h)), high e/(√v √(v+e) (√v + √(v+e))), or 1/√v for infinite e; the
        larger one, then 4u relative. Flagged where the floor may be 0. Where v = 0 the root is undefined, and
        where v passes float64 it cannot be followed: e is infinite.
        """
        v = self.values.magnitude(a.v)
        usable = (v > 0) & np.isfinite(v)
        safe = np.where(usable, v, 1.0)
        root = np.sqrt(safe)
        noise = 4 * self.values.unit_roundoff
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            drop = np.minimum(a.e * (1 + _GUARD) + noise * safe, safe - floor * (1 - _GUARD))
            lo = safe - drop
            low = np.where(lo > 0, drop / (root * np.sqrt(lo) * (root + np.sqrt(lo))), np.inf)
            top = np.sqrt(safe + a.e)
            high = np.where(np.isinf(a.e), 1 / root, a.e / (root * top * (root + top)))
        e = np.maximum(np.maximum(low, 0.0), high)
        e = np.where(usable, e, np.inf)
        units = _tiers(self.subject.unit_roundoff, self.values.unit_roundoff, v.ndim)
        e = e + ROOT_ROUNDINGS * units * (1 / root + e) + self._loss(v.ndim)
        result = self.values.reciprocal_root(a.v)
        flag = a.flag | (floor[RAW] <= 0) | ~usable
        return self._checked(result, e, flag | self._overflows(result, e, self.subject))

    # -- bounds -------------------------------------------------------------------------------------------------

    def limit(self, a: Tracked, cap: Float) -> Tracked:
        """e at most `cap` in the capped tier and on the rung; never the flag."""
        e = a.e.copy()
        for tier in (CAPPED, RUNG):
            e[tier] = np.minimum(e[tier], cap)
        return Tracked(a.v, e, a.flag)

    def loosened(self, a: Tracked, extra: Float) -> Tracked:
        """a with `extra`, of the subject's two tiers, added to its bound."""
        e = np.array(np.broadcast_to(a.e, (TIERS, *np.broadcast_shapes(a.e.shape[1:], extra.shape[1:]))))
        e[:RUNG] += extra
        return self._checked(a.v, e, a.flag)

    def admitted(self, first: Tracked, *others: Callable[[], Tracked]) -> Tracked:
        """One quantity by several forms that all count as sound: v of the first, elementwise largest e.

        The rung evaluates only the first form, so its own bound is that form's.
        """
        e, flag = first.e.copy(), first.flag
        for other in others:
            form = other()
            e[:RUNG] = np.maximum(e[:RUNG], form.e[:RUNG])
            flag = flag | form.flag
        return Tracked(first.v, e, flag)

    def same_centre(self, first: Tracked, form: Tracked, underflows: Float) -> Tracked:
        """Another form of the quantity `first`, whose errors in one common centre act on it as they do on `first`.

        So its capped bound is at most that of `first`, four more roundings, and `underflows` times what one
        underflow may lose (this form may scale an underflow up where the first does not).
        """
        e = form.e.copy()
        limit = first.e[CAPPED] + 4 * self.subject.unit_roundoff * (self.values.magnitude(first.v) + first.e[CAPPED])
        e[CAPPED] = np.minimum(e[CAPPED], limit + underflows * self.underflow_in(self.subject))
        return Tracked(form.v, e, form.flag)

    def at_risk(self, a: Tracked, *intermediates: Tracked) -> Tracked:
        """a, flagged where one of the intermediates of some form may overflow."""
        flag = a.flag
        for part in intermediates:
            flag = flag | part.flag
        return Tracked(a.v, a.e, np.broadcast_to(flag, np.shape(a.flag)).copy())

    def anywhere(self, a: Tracked, axes: tuple[int, ...]) -> Tracked:
        """a, flagged along `axes` wherever it is flagged at all: what becomes of the terms of one sum."""
        flag = np.broadcast_to(np.any(a.flag, axis=axes, keepdims=True), a.flag.shape).copy()
        return Tracked(a.v, a.e, flag)

    # -- internals ----------------------------------------------------------------------------------------------

    def _loss(self, rank: int) -> Float:
        return _tiers(self.underflow_in(self.subject), self.values.underflow, rank)

    def _is_zero(self, v: Any, e: Float) -> Flag:
        """Where a value is 0 in every evaluation, so that operations on it cannot underflow; per tier."""
        zero: Flag = (self.values.magnitude(v) == 0) & (e == 0)
        return zero

    def _round(self, v: Any, e: Float, flag: Flag, zero: Flag | None = None) -> Tracked:
        """(v, e) after one rounding: e + u(|v| + e) + t.

        `zero`: where a product or quotient is exactly 0, and t with it. None for sums, which underflow exactly unless
        flushed.
        """
        magnitude = self.values.magnitude(v)
        units = _tiers(self.subject.unit_roundoff, self.values.unit_roundoff, magnitude.ndim)
        e = e + units * (magnitude + e)
        if zero is not None:
            e = e + np.where(zero, 0.0, self._loss(magnitude.ndim))
        elif self.flushes:
            e[:RUNG] += self.subject.smallest_normal
        return self._checked(v, e, flag | self._overflows(v, e, self.subject))

    def _overflows(self, v: Any, e: Float, fmt: Format) -> Flag:
        flag: Flag = self.values.magnitude(v) + e[RAW] > fmt.largest
        return flag

    def _checked(self, v: Any, e: Float, flag: Flag) -> Tracked:
        if np.isnan(e).any():
            raise InternalError("an error bound became NaN; this is a bug of bnfuzz, please report the case")
        return Tracked(v, e, flag)

    def _aligned(self, a: Tracked, b: Tracked) -> tuple[Tracked, Tracked]:
        """Both with e of the same rank, so that broadcasting pairs the tiers and not an axis of the shape."""
        rank = max(a.flag.ndim, b.flag.ndim)

        def raised(t: Tracked) -> Tracked:
            missing = rank - t.flag.ndim
            if not missing:
                return t
            return Tracked(t.v, t.e.reshape(TIERS, *(1,) * missing, *t.e.shape[1:]), t.flag)

        return raised(a), raised(b)

    def _count(self, a: Tracked, axes: tuple[int, ...]) -> int:
        return int(np.prod([a.flag.shape[axis] for axis in axes], dtype=object))

    def _total(self, a: Tracked, axes: tuple[int, ...]) -> tuple[Any, Float, Flag]:
        """Σe + growth·u·Σ(|v| + e) + n·t; flagged where partial sums may pass the largest number."""
        count = self._count(a, axes)
        v = self.values.total(a.v, axes)
        terms = self.values.magnitude(a.v) + a.e
        with np.errstate(over="ignore"):
            whole = np.sum(terms, axis=axes, keepdims=True)
            e = np.sum(a.e, axis=axes, keepdims=True)
            e[:RUNG] += self._accumulated(terms[:RUNG], axes, count)
            e[RUNG] += count * self.values.unit_roundoff * whole[RUNG]
            if self.flushes:
                e[:RUNG] += count * self.subject.smallest_normal
            largest = (1 + count * self.subject.unit_roundoff) * whole[RAW]
        flag = np.any(a.flag, axis=axes, keepdims=True) | (largest > self.subject.largest)
        return v, e, flag

    def _accumulated(self, terms: Float, axes: tuple[int, ...], count: int) -> Float:
        """Σ of growth·u·terms for the subject, by its stated summation.

        `any` order: a term that takes part in k additions is multiplied by at most (1 + u)^k. In no order has the i-th
        deepest term more than D = min(n−i+1, n−1) of them, so the error is at most Σ |t|₍ᵢ₎·((1 + u)^D − 1), magnitudes
        descending; and never more than (n−1)·u·Σ|t| (Jeannerod and Rump, SIAM J. Matrix Anal. Appl. 34, 2013).
        """
        kind = self.summation.kind
        u = self.subject.unit_roundoff
        whole = np.sum(terms, axis=axes, keepdims=True)
        if kind == "any":
            ordered = np.sort(_flattened(terms, axes), axis=-1)[..., ::-1]
            depth = np.minimum(count - np.arange(count), count - 1).astype(np.float64)
            grown = np.sum(bounds_product(ordered, np.expm1(depth * np.log1p(u))), axis=-1).reshape(whole.shape)
            return np.minimum(grown, bounds_product(whole, np.asarray((count - 1) * u)))
        if kind == "pairwise":
            return (np.ceil(np.log2(max(count, 1))) + 2) * u * whole
        if kind == "lanes":
            return (count / self.summation.lanes + self.summation.lanes) * u * whole
        # Accumulated wide, then rounded once to the compute format.
        return (count * named(self.summation.accumulator).unit_roundoff + u) * whole


def _flattened(a: Float, axes: tuple[int, ...]) -> Float:
    """The given (negative) axes moved last and merged into one."""
    rank = a.ndim
    positions = tuple(axis % rank for axis in axes)
    kept = tuple(axis for axis in range(rank) if axis not in positions)
    moved = np.transpose(a, kept + positions)
    return moved.reshape(*moved.shape[: len(kept)], int(np.prod([a.shape[p] for p in positions], dtype=object)))
