"""What a family of values looks like, and how NumPy expands one recipe into many trials at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

import numpy as np

from bnfuzz.case import Array
from bnfuzz.formats import Format
from bnfuzz.strategies.rounding import Exponents, Float64, mantissas, powers, stored

ValueName = Literal[
    "noise",
    "offset",
    "two_valued",
    "outlier",
    "alternating",
    "symmetric",
    "integers",
    "wide",
    "constant",
    "large_constant",
    "near_overflow",
    "subnormal",
    "nonfinite",
]

USUAL_EPS = 1e-5
"""What recipes take for eps where it is left to the backend."""

JITTER = 2
"""How far a trial's exponents may be from those of its recipe."""


@dataclass(frozen=True)
class Limits:
    """The exponents that a family admits in a format, both ends included."""

    scale: tuple[int, int]
    depth: tuple[int, int]


@cache
def limits(name: ValueName, format_: Format) -> Limits:
    """What keeps every value finite and, save at the ends of the range on purpose, every square too."""
    digits, high = format_.precision, min(40, format_.emax // 2 - 4)
    low = max(-40, format_.emin + 4)
    far = min(50, format_.emax - 3)
    table: dict[ValueName, Limits] = {
        "noise": Limits((low, high), (0, 0)),
        "offset": Limits((max(low, -12), far), (1, digits - 1)),
        "two_valued": Limits((max(low, -12), far), (0, digits - 1)),
        "outlier": Limits((low, high), (2, min(digits + 2, (format_.emax - high) // 2 + 2))),
        "alternating": Limits((low, high), (0, digits - 1)),
        "symmetric": Limits((low, high), (0, 0)),
        "integers": Limits((0, min(digits - 1, 10)), (0, 0)),
        "wide": Limits((low, high), (4, min(40, format_.emax // 2))),
        "constant": Limits((low, high), (0, 0)),
        "large_constant": Limits((min(8, far), far), (0, 0)),
        "near_overflow": Limits((format_.emax // 2, format_.emax), (0, 0)),
        "subnormal": Limits((format_.emin - digits + 1, format_.emin - 2), (0, 0)),
        "nonfinite": Limits((low, high), (0, 0)),
    }
    return table[name]


Expansion = Callable[[np.random.Generator, Exponents, Exponents, int], Float64]
"""(rng, scale, depth, n) -> values of shape (rows, n); scale and depth are columns of shape (rows, 1)."""


def _noise(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    return powers(scale) * rng.standard_normal((len(scale), n))


def _constant(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    return np.broadcast_to(powers(scale) * mantissas(rng, scale.shape), (len(scale), n))


def _offset(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    return powers(scale) * mantissas(rng, scale.shape) + _noise(rng, scale - depth, depth, n)


def _two_valued(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    rows = len(scale)
    second = rng.random((rows, n)) < 0.5
    if n > 1:  # both values occur, so that the variance is not zero by accident
        second[:, 0], second[:, -1] = False, True
        second = rng.permuted(second, axis=1)
    # Below 1.5, so that one unit in the last place added to it is not lost where the units double at 2.
    first = powers(scale) * np.copysign(1.0 + 0.5 * rng.random(scale.shape), rng.random(scale.shape) - 0.5)
    return np.where(second, first + np.copysign(powers(scale - depth), first), first)


def _outlier(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    values = _noise(rng, scale, depth, n)
    if n:
        rows = np.arange(len(scale))
        values[rows, rng.integers(0, n, len(rows))] = (powers(scale + depth) * mantissas(rng, scale.shape))[:, 0]
    return values


def _alternating(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    swing = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) * powers(scale - depth)
    centre = powers(scale) * mantissas(rng, scale.shape)
    return np.where(depth > 0, centre + swing, np.abs(centre) * np.sign(swing))


def _symmetric(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    half = _noise(rng, scale, depth, n // 2)
    middle = np.zeros((len(scale), n % 2))
    return np.concatenate([half, middle, -half[:, ::-1]], axis=1)


def _integers(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    return np.rint(powers(scale) * rng.uniform(-1.0, 1.0, (len(scale), n)))


def _wide(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    down = np.floor(rng.random((len(scale), n)) * (depth + 1)).astype(np.int64)
    return powers(scale - down) * mantissas(rng, down.shape)


def _full_range(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    return 0.5 * powers(scale) * mantissas(rng, (len(scale), n)) * 2.0 ** rng.integers(0, 2, (len(scale), n))


def _nonfinite(rng: np.random.Generator, scale: Exponents, depth: Exponents, n: int) -> Float64:
    values = _noise(rng, scale, depth, n)
    if n:
        rows = np.arange(len(scale))
        values[rows, rng.integers(0, n, len(rows))] = rng.choice([np.nan, np.inf, -np.inf], len(rows))
    return values


_EXPANSIONS: Mapping[ValueName, Expansion] = MappingProxyType(
    {
        "noise": _noise,
        "offset": _offset,
        "two_valued": _two_valued,
        "outlier": _outlier,
        "alternating": _alternating,
        "symmetric": _symmetric,
        "integers": _integers,
        "wide": _wide,
        "constant": _constant,
        "large_constant": _constant,
        "near_overflow": _full_range,
        "subnormal": _full_range,
        "nonfinite": _nonfinite,
    }
)


@dataclass(frozen=True)
class ValueFamily:
    """Recipe of one channel's values: a name and two integer exponents.

    noise           2^scale · normal noise
    offset          ±m·2^scale, m in [1, 2), plus 2^(scale-depth) · noise: depth is log2 of the condition number
    two_valued      two values, 2^(scale-depth) apart, in random order; both occur from n = 2 on
    outlier         noise with one value of 2^(scale+depth)
    alternating     c + s, c - s, c + s, ... with s = 2^(scale-depth); at depth 0 c, -c, c, ...
    symmetric       every value with its negative, so the mean is exactly 0
    integers        whole numbers up to 2^scale: sums of few are exact
    wide            magnitudes spread evenly over 2^(scale-depth) .. 2^scale, either sign
    constant        one value, ±m·2^scale; large_constant: the same far from 0
    near_overflow   magnitudes about 2^scale, from where squares overflow to the largest number
    subnormal       magnitudes about 2^scale, below the smallest normal number
    nonfinite       noise with one NaN or infinity
    """

    name: ValueName = "noise"
    scale: int = 0
    depth: int = 0

    def expand(self, rng: np.random.Generator, trials: int, n: int, format_: Format) -> Array:
        """(trials, n) values of the format. The first has the recipe's exponents, the others have some near them."""
        bounds = limits(self.name, format_)
        scale = _jittered(rng, self.scale, bounds.scale, trials)
        depth = _jittered(rng, self.depth, bounds.depth, trials)
        values = _EXPANSIONS[self.name](rng, scale, depth, n)
        return stored(values, format_, keep_infinities=self.name == "nonfinite")


def _jittered(rng: np.random.Generator, exponent: int, bounds: tuple[int, int], trials: int) -> Exponents:
    low, high = bounds
    steps = rng.integers(-JITTER, JITTER + 1, (trials, 1))
    steps[:1] = 0
    return np.clip(exponent + steps, low, high)
