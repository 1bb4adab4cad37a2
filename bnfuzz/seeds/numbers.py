"""Numbers for seeds: made of a bit generator's raw stream by exact arithmetic, the same on every machine for ever."""

from __future__ import annotations

import numpy as np
from numpy.random import PCG64

from bnfuzz.numerics.values import Float

BITS = 24


def uniform(seed: int, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> Float:
    """Uniform multiples of (high - low)/2^24 above low."""
    count = int(np.prod(shape))
    fractions = (PCG64(seed).random_raw(count) >> np.uint64(64 - BITS)).astype(np.float64) / 2.0**BITS
    return (low + (high - low) * fractions).reshape(shape)


def normal(seed: int, shape: tuple[int, ...], mean: float = 0.0, deviation: float = 1.0) -> Float:
    """Nearly normal: twelve uniform numbers, summed."""
    return mean + deviation * (np.sum(uniform(seed, (12, *shape)), axis=0) - 6.0)


def rounded(values: Float, step: float) -> Float:
    """The nearest multiples of a step, a power of two: fewer digits in the file."""
    return np.rint(values / step) * step


def varied(shape: tuple[int, ...]) -> Float:
    """Multiples of 1/16 within -1..1 without symmetry, representable in every format: the usual cotangent."""
    count = int(np.prod(shape))
    return ((np.arange(count) * 11 % 31 - 13) / 16.0).reshape(shape)
