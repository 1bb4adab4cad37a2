"""Double-double values: an unevaluated sum hi + lo of two float64, about 106 bits.

The error-free transformations are Knuth's two-sum and Veltkamp-Dekker's two-product; addition is the accurate
variant whose relative error is below 3u² without a condition on signs (Joldes, Muller and Popescu, "Tight and
rigorous error bounds for basic building blocks of double-word arithmetic", ACM TOMS 2017). The stated unit
roundoff 2^-100 covers each operation here, roots included, with a margin that property tests check against mpmath.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bnfuzz.numerics.values import Float

_SPLITTER = 2.0**27 + 1.0


class Pair(NamedTuple):
    hi: Float
    lo: Float


def two_sum(a: Float, b: Float) -> Pair:
    """a + b = hi + lo exactly (Knuth)."""
    hi = a + b
    virtual = hi - a
    return Pair(hi, (a - (hi - virtual)) + (b - virtual))


def _quick_two_sum(a: Float, b: Float) -> Pair:
    hi = a + b
    return Pair(hi, b - (hi - a))


def _halves(a: Float) -> tuple[Float, Float]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Float, b: Float) -> Pair:
    """a · b = hi + lo exactly (Veltkamp, Dekker), barring over- and underflow."""
    hi = a * b
    ah, al = _halves(a)
    bh, bl = _halves(b)
    return Pair(hi, ((ah * bh - hi) + ah * bl + al * bh) + al * bl)


class DoubleDouble:
    """The second rung: float64 subjects, and narrower ones where float64 is too coarse.

    Over- and underflow of intermediates is not scaled away: the result is then infinite or NaN, or its error
    bound too large, and the trial goes to the next rung.
    """

    name = "double-double"
    unit_roundoff = 2.0**-100
    # A product's low part is lost below the smallest subnormal; its partial products lose up to four of them.
    underflow = 2.0**-1070

    def lift(self, array: Float) -> Pair:
        hi = np.asarray(array, dtype=np.float64)
        return Pair(hi, np.zeros_like(hi))

    def add(self, a: Pair, b: Pair) -> Pair:
        high = two_sum(a.hi, b.hi)
        low = two_sum(a.lo, b.lo)
        first = _quick_two_sum(high.hi, high.lo + low.hi)
        return _quick_two_sum(first.hi, first.lo + low.lo)

    def subtract(self, a: Pair, b: Pair) -> Pair:
        return self.add(a, Pair(-b.hi, -b.lo))

    def multiply(self, a: Pair, b: Pair) -> Pair:
        product = two_product(a.hi, b.hi)
        return _quick_two_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi))

    def divide(self, a: Pair, count: int) -> Pair:
        divisor = float(count)
        hi = a.hi / divisor
        product = two_product(hi, np.full_like(hi, divisor))
        remainder = ((a.hi - product.hi) - product.lo) + a.lo
        return _quick_two_sum(hi, remainder / divisor)

    def total(self, a: Pair, axes: tuple[int, ...]) -> Pair:
        shape = a.hi.shape
        rank = len(shape)
        positions = tuple(axis % rank for axis in axes)
        kept = tuple(axis for axis in range(rank) if axis not in positions)
        count = int(np.prod([shape[axis] for axis in positions], dtype=object))
        flat_shape = (*(shape[axis] for axis in kept), count)
        hi = np.transpose(a.hi, kept + positions).reshape(flat_shape)
        lo = np.transpose(a.lo, kept + positions).reshape(flat_shape)
        total = self._fold(Pair(hi, lo))
        out = tuple(1 if axis in positions else shape[axis] for axis in range(rank))
        return Pair(total.hi.reshape(out), total.lo.reshape(out))

    def _fold(self, a: Pair) -> Pair:
        """Sum over the last axis, halving it until one value is left."""
        while a.hi.shape[-1] > 1:
            count = a.hi.shape[-1]
            half = count // 2
            folded = self.add(
                Pair(a.hi[..., :half], a.lo[..., :half]), Pair(a.hi[..., half : 2 * half], a.lo[..., half : 2 * half])
            )
            if count % 2:
                folded = Pair(
                    np.concatenate([folded.hi, a.hi[..., -1:]], axis=-1),
                    np.concatenate([folded.lo, a.lo[..., -1:]], axis=-1),
                )
            a = folded
        if a.hi.shape[-1] == 0:
            empty = np.zeros((*a.hi.shape[:-1], 1))
            return Pair(empty, empty.copy())
        return a

    def reciprocal_root(self, a: Pair) -> Pair:
        """One Newton step r + r(1 − a r²)/2 from the float64 root, whose error is squared by it.

        a is scaled by an even power of two to about 1 first: r² would lose its low part for large a.
        """
        positive = a.hi > 0
        half = np.frexp(np.where(positive, a.hi, 1.0))[1] // 2
        safe = Pair(
            np.ldexp(np.where(positive, a.hi, 1.0), -2 * half), np.ldexp(np.where(positive, a.lo, 0.0), -2 * half)
        )
        start = 1.0 / np.sqrt(safe.hi)
        guess = Pair(start, np.zeros_like(start))
        residual = self.subtract(self.lift(np.ones_like(start)), self.multiply(safe, self.multiply(guess, guess)))
        correction = self.multiply(guess, Pair(residual.hi / 2, residual.lo / 2))
        # The second-order term 3/8 r residual² is about 2^-103 relative; it is cheap to keep.
        second = 0.375 * start * residual.hi * residual.hi
        root = self.add(self.add(guess, correction), self.lift(second))
        return Pair(
            np.where(positive, np.ldexp(root.hi, -half), 0.0), np.where(positive, np.ldexp(root.lo, -half), 0.0)
        )

    def magnitude(self, a: Pair) -> Float:
        return np.where(np.isfinite(a.hi) & np.isfinite(a.lo), np.abs(a.hi), np.inf)

    def split(self, a: Pair) -> tuple[Float, Float]:
        return a.hi, a.lo
