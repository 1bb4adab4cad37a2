"""The scalars eps and momentum, which arrays are present, and recipes of gamma and beta."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
from hypothesis import strategies as st

from bnfuzz.case import Array, Mode
from bnfuzz.errors import UsageError
from bnfuzz.formats import Format
from bnfuzz.strategies.rounding import Float64, mantissas, powers, stored
from bnfuzz.strategies.weighted import subset, weighted

EPS_WEIGHTS: Mapping[float | None, int] = MappingProxyType(
    {1e-5: 5, 1e-3: 3, None: 2, 1e-2: 2, 1.0: 1, 1e-4: 1, 1e-6: 2, 1e-8: 1, 2e-5: 1, 1.001e-5: 1, 1e-12: 1, 0.0: 1}
)
"""Defaults: 1e-5 (PyTorch, Flax, ONNX), 1e-3 (Keras, MXNet's symbol), 1e-4 (CNTK), 2e-5 (old ResNets), and 1.001e-5,
the least that fused kernels of MXNet and Keras take (cuDNN's limit is 1e-5 itself). 0 is one in 21."""

MOMENTUM_WEIGHTS: Mapping[float | None, int] = MappingProxyType(
    {0.1: 4, 0.3: 2, 1 / 3: 2, 0.9: 2, 0.01: 2, None: 1, 0.0: 1, 1.0: 1, 0.001: 1}
)
"""Weight of the new statistic. 1/2 is absent on purpose: it does not tell the two senses of momentum apart."""

PRESENCE_WEIGHTS: Mapping[tuple[bool, bool, bool], int] = MappingProxyType(
    {
        (True, True, True): 12,
        (True, True, False): 2,
        (False, False, True): 2,
        (True, False, True): 1,
        (False, True, True): 1,
        (False, False, False): 1,
        (True, False, False): 1,
        (False, True, False): 1,
    }
)
"""(gamma, beta, running statistics): all of them in most cases, since many backends cannot do without."""

ParameterName = Literal["one", "plain", "negative", "zero", "near_one", "large", "small", "mixed"]

GAMMA_WEIGHTS: Mapping[ParameterName, int] = MappingProxyType(
    {"one": 2, "plain": 8, "negative": 2, "zero": 1, "near_one": 1, "large": 2, "small": 1, "mixed": 3}
)
BETA_WEIGHTS: Mapping[ParameterName, int] = MappingProxyType(
    {"zero": 2, "plain": 8, "negative": 1, "one": 1, "near_one": 1, "large": 3, "small": 1, "mixed": 3}
)
"""Mostly away from the defaults 1 and 0, with which half of all known faults go unnoticed."""


def eps_values(
    *,
    minimum: float = 0.0,
    allow_default: bool = True,
    allowed: Collection[float | None] | None = None,
) -> st.SearchStrategy[float | None]:
    """An eps between 0 and 1: defaults of frameworks, their limits, and far from both; None is the backend's own.

    * ``minimum``: nothing smaller is drawn; 0 by default. A positive one keeps 0 and its undefined cases out.
    * ``allow_default``: also None; on by default.
    * ``allowed``: only these, of `EPS_WEIGHTS`; all by default.

    Shrinks towards 1e-5.

    Drawn: ``1e-05``, ``0.01``.
    """

    def build() -> st.SearchStrategy[float | None]:
        if not 0.0 <= minimum <= 1.0:
            raise UsageError(f"minimum={minimum} must lie within 0..1")
        if allowed is not None and any(key not in EPS_WEIGHTS for key in allowed):
            raise UsageError(f"allowed={allowed!r} must be among {', '.join(map(str, EPS_WEIGHTS))}")
        return weighted(
            {
                eps: weight
                for eps, weight in EPS_WEIGHTS.items()
                if (allowed is None or eps in allowed) and (allow_default if eps is None else eps >= minimum)
            }
        )

    return st.deferred(build)


def momenta(*, allow_default: bool = True) -> st.SearchStrategy[float | None]:
    """A momentum, the weight of the new statistic: 0, 1, usual ones, odd ones; None is the backend's own.

    * ``allow_default``: also None; on by default.

    Shrinks towards 0.1.

    Drawn: ``0.1``, ``0.3333333333333333``.
    """
    return weighted({k: w for k, w in MOMENTUM_WEIGHTS.items() if allow_default or k is not None})


def presences(
    *, mode: Mode = "training", affine: Literal["free", "both"] = "free", running: bool = False
) -> st.SearchStrategy[tuple[bool, bool, bool]]:
    """Which of gamma, beta and the running statistics are there.

    * ``mode``: inference needs running statistics; training by default.
    * ``affine``: "both" for gamma and beta always; "free" by default.
    * ``running``: True for running statistics always; False by default.

    Shrinks towards all of them.

    Drawn: ``(True, True, True)``, ``(False, False, True)``.
    """

    def build() -> st.SearchStrategy[tuple[bool, bool, bool]]:
        if affine not in ("free", "both"):
            raise UsageError(f"affine={affine!r} must be 'free' or 'both'")
        needed = running or mode == "inference"
        return weighted(
            {
                present: weight
                for present, weight in PRESENCE_WEIGHTS.items()
                if (present[2] or not needed) and (affine == "free" or (present[0] and present[1]))
            }
        )

    return st.deferred(build)


def gamma_names(*, allowed: Collection[ParameterName] | None = None) -> st.SearchStrategy[ParameterName]:
    """The name of a recipe of gamma, see `expand_parameter`.

    * ``allowed``: only these; all by default, as often as `GAMMA_WEIGHTS` says.

    Shrinks towards "one", the default of all frameworks.

    Drawn: ``'plain'``, ``'negative'``.
    """
    return st.deferred(lambda: subset("allowed", GAMMA_WEIGHTS, allowed))


def beta_names(*, allowed: Collection[ParameterName] | None = None) -> st.SearchStrategy[ParameterName]:
    """The name of a recipe of beta, see `expand_parameter`.

    * ``allowed``: only these; all by default, as often as `BETA_WEIGHTS` says.

    Shrinks towards "zero", the default of all frameworks.

    Drawn: ``'plain'``, ``'large'``.
    """
    return st.deferred(lambda: subset("allowed", BETA_WEIGHTS, allowed))


def expand_parameter(name: ParameterName, rng: np.random.Generator, shape: tuple[int, ...], format_: Format) -> Array:
    """Values of gamma or beta, in the format.

    one, zero   that number
    plain       ±m·2^e, m in [1, 2), e in -2..2: never 0 or 1 but by accident
    negative    the same, all negative
    near_one    1 or -1, off by one or two units in the last place
    large       ±m·2^e with e about a third of the largest exponent, at most 20; small: the same with -e
    mixed       each value by one of the other recipes
    """
    return stored(_parameter(name, rng, shape, format_), format_)


def _parameter(name: ParameterName, rng: np.random.Generator, shape: tuple[int, ...], format_: Format) -> Float64:
    if name == "one":
        return np.ones(shape)
    if name == "zero":
        return np.zeros(shape)
    if name == "near_one":
        units = rng.integers(-2, 3, shape)
        return np.where(rng.random(shape) < 0.8, 1.0, -1.0) * (1.0 + 2 * format_.unit_roundoff * units)
    if name == "mixed":
        values = np.zeros(shape)
        picked = rng.integers(0, len(_MIXED), shape)
        for place, part in enumerate(_MIXED):
            np.copyto(values, _parameter(part, rng, shape, format_), where=picked == place)
        return values
    if name in ("large", "small"):
        middle = min(20, format_.emax // 3)
        exponents = rng.integers(middle - 1, middle + 2, shape)
        return powers(exponents if name == "large" else -exponents) * mantissas(rng, shape)
    values = powers(rng.integers(-2, 3, shape)) * mantissas(rng, shape)
    if name == "negative":
        np.negative(np.abs(values), out=values)
    return values


_MIXED: tuple[ParameterName, ...] = ("plain", "negative", "zero", "near_one", "large", "small")
