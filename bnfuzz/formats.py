"""The floating-point formats of the subjects under test.

Each has a unit roundoff u (half the gap between 1 and the next number, so round-to-nearest errs by at
most u relative), a smallest normal and subnormal number, and a largest finite one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from bnfuzz.errors import UsageError

FormatName = Literal["float16", "bfloat16", "float32", "float64"]


@dataclass(frozen=True)
class Format:
    """A binary format with `precision` significand bits (the hidden one included) and exponents emin..emax."""

    name: FormatName
    bits: int
    precision: int
    emin: int
    emax: int

    @property
    def unit_roundoff(self) -> float:
        """u = 2^-precision: 2^-11 float16, 2^-8 bfloat16, 2^-24 float32, 2^-53 float64."""
        return 2.0**-self.precision

    @property
    def smallest_normal(self) -> float:
        return 2.0**self.emin

    @property
    def smallest_subnormal(self) -> float:
        return 2.0 ** (self.emin - self.precision + 1)

    @property
    def largest(self) -> float:
        # Written so that float64's own largest is formed without overflow.
        return (2.0 - 2.0 ** (1 - self.precision)) * 2.0**self.emax

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype; bfloat16 needs ml_dtypes, which worker environments may lack."""
        if self.name == "bfloat16":
            import ml_dtypes

            dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return dtype
        return np.dtype(self.name)

    @property
    def bits_dtype(self) -> np.dtype[Any]:
        """The unsigned integer of the same width: how values travel and are stored exactly."""
        return np.dtype(f"uint{self.bits}")


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "float16": Format("float16", 16, 11, -14, 15),
        "bfloat16": Format("bfloat16", 16, 8, -126, 127),
        "float32": Format("float32", 32, 24, -126, 127),
        "float64": Format("float64", 64, 53, -1022, 1023),
    }
)


def named(name: str) -> Format:
    """The format called `name`; raises UsageError with the list of names otherwise."""
    if name not in FORMATS:
        raise UsageError(f"format {name!r} is unknown; use one of {', '.join(FORMATS)}")
    return FORMATS[name]


def of(array: np.ndarray[Any, Any]) -> Format:
    """The format of an array's elements; raises UsageError where it is none of ours."""
    return named(array.dtype.name)


def coarser(first: Format, second: Format) -> Format:
    """The one of the two with the larger unit roundoff."""
    return first if first.precision <= second.precision else second


def decimal(value: float, name: str) -> str:
    """The value in as many digits as tell neighbours of the named format apart."""
    return repr(float(value)) if name == "float64" else f"{float(value):.9g}"


def round_to(value: float, name: str) -> float:
    """The Python float rounded to the named format and back, exactly."""
    return float(np.asarray(value, dtype=np.float64).astype(named(name).dtype))
