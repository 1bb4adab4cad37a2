"""mpmath values at 300 bits: the last rung, and what every finding is confirmed with.

Exponents are unbounded here, so nothing over- or underflows.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from bnfuzz.numerics.values import Float

Objects = NDArray[np.object_]

BITS = 300


class Multiprecision:
    """Object arrays of mpmath numbers in a context of their own (the caller's mpmath precision is not touched)."""

    name = "mpmath"
    unit_roundoff = 2.0 ** -(BITS - 1)
    underflow = 0.0

    def __init__(self) -> None:
        self._context = mpmath.MPContext()
        self._context.prec = BITS
        mpf = self._context.mpf
        self._lift = np.frompyfunc(mpf, 1, 1)
        self._divide = np.frompyfunc(lambda a, count: a / count, 2, 1)
        self._reciprocal_root = np.frompyfunc(lambda a: 1 / self._context.sqrt(a) if a > 0 else mpf(0), 1, 1)
        self._float = np.frompyfunc(float, 1, 1)

    def lift(self, array: Float) -> Objects:
        return self._as_objects(self._lift(np.asarray(array, dtype=np.float64)))

    def add(self, a: Objects, b: Objects) -> Objects:
        return a + b

    def subtract(self, a: Objects, b: Objects) -> Objects:
        return a - b

    def multiply(self, a: Objects, b: Objects) -> Objects:
        return a * b

    def divide(self, a: Objects, count: int) -> Objects:
        return self._as_objects(self._divide(a, count))

    def total(self, a: Objects, axes: tuple[int, ...]) -> Objects:
        return np.sum(a, axis=axes, keepdims=True, initial=self._context.mpf(0))

    def reciprocal_root(self, a: Objects) -> Objects:
        return self._as_objects(self._reciprocal_root(a))

    def magnitude(self, a: Objects) -> Float:
        return np.abs(np.asarray(self._float(a), dtype=np.float64))

    def split(self, a: Objects) -> tuple[Float, Float]:
        hi = np.asarray(self._float(a), dtype=np.float64)
        finite = np.isfinite(hi)
        rest = np.where(finite, a - self.lift(np.where(finite, hi, 0.0)), self.lift(np.zeros_like(hi)))
        return hi, np.asarray(self._float(rest), dtype=np.float64)

    def _as_objects(self, result: Any) -> Objects:
        # frompyfunc returns a bare object, not an array, for arrays of rank 0.
        return np.asarray(result, dtype=np.object_)
