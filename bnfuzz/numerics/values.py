"""The rungs of precision that exact values are evaluated in.

An arithmetic of values knows nothing of errors; `tracked` adds those. Each rung states the unit roundoff and
the underflow loss of one of its own operations, so that the reference can bound its own error too.

Arrays broadcast as in NumPy; axes of a sum are negative (counted from the last) and stay as axes of length 1.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


class Values(Protocol):
    """What a rung offers. `V` values are opaque to everybody else."""

    name: str
    unit_roundoff: float
    underflow: float

    def lift(self, array: Float) -> Any:
        """The float64 array as values of this rung, exactly."""
        ...

    def add(self, a: Any, b: Any) -> Any: ...

    def subtract(self, a: Any, b: Any) -> Any: ...

    def multiply(self, a: Any, b: Any) -> Any: ...

    def divide(self, a: Any, count: int) -> Any:
        """a / count for a positive integer."""
        ...

    def total(self, a: Any, axes: tuple[int, ...]) -> Any:
        """Sum over `axes`."""
        ...

    def reciprocal_root(self, a: Any) -> Any:
        """1/sqrt(a); 0 where a <= 0, which the caller treats as undefined."""
        ...

    def magnitude(self, a: Any) -> Float:
        """abs(a), rounded to float64; infinite where this rung overflowed (NaN included)."""
        ...

    def split(self, a: Any) -> tuple[Float, Float]:
        """a as an unevaluated sum of two float64 arrays, the first the nearest float64."""
        ...


class Float64:
    """Plain float64: the first rung, for subjects of narrower formats."""

    name = "float64"
    unit_roundoff = 2.0**-53
    underflow = 2.0**-1075

    def lift(self, array: Float) -> Float:
        return np.asarray(array, dtype=np.float64)

    def add(self, a: Float, b: Float) -> Float:
        return a + b

    def subtract(self, a: Float, b: Float) -> Float:
        return a - b

    def multiply(self, a: Float, b: Float) -> Float:
        return a * b

    def divide(self, a: Float, count: int) -> Float:
        return a / count

    def total(self, a: Float, axes: tuple[int, ...]) -> Float:
        return np.sum(a, axis=axes, keepdims=True)

    def reciprocal_root(self, a: Float) -> Float:
        positive = a > 0
        return np.where(positive, 1.0 / np.sqrt(np.where(positive, a, 1.0)), 0.0)

    def magnitude(self, a: Float) -> Float:
        return np.where(np.isnan(a), np.inf, np.abs(a))

    def split(self, a: Float) -> tuple[Float, Float]:
        return a, np.zeros_like(a)
