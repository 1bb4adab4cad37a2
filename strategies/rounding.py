"""From float64 to the values of a format: everything that the strategies hand out passes here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bnfuzz.case import Array
from bnfuzz.formats import Format

Float64 = NDArray[np.float64]
Exponents = NDArray[np.int64]


def stored(values: Float64, format_: Format, *, keep_infinities: bool = False) -> Array:
    """The nearest values of the format; what would overflow becomes its largest finite number, NaN stays.

    So do infinities with `keep_infinities`, for values that are meant to hold some.
    """
    with np.errstate(all="ignore"):
        clipped = np.clip(values, -format_.largest, format_.largest)
        if keep_infinities:
            clipped = np.where(np.isinf(values), values, clipped)
        return clipped.astype(format_.dtype)


def powers(exponents: Exponents) -> Float64:
    """2 to these integers, exactly."""
    return np.ldexp(1.0, exponents)


def mantissas(rng: np.random.Generator, shape: tuple[int, ...]) -> Float64:
    """Numbers in [1, 2) of either sign, with as many digits as float64 has, so that storing them rounds."""
    fraction = rng.random(shape)
    return np.where(rng.random(shape) < 0.5, -1.0 - fraction, 1.0 + fraction)
