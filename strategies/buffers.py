"""Recipes of the running mean and the running variance, away from their defaults 0 and 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
from hypothesis import strategies as st

from bnfuzz.case import Array
from bnfuzz.errors import UsageError
from bnfuzz.formats import Format
from bnfuzz.strategies.rounding import Float64, mantissas, powers, stored
from bnfuzz.strategies.weighted import subset

MeanName = Literal["zero", "plain", "near_data", "data_value", "large"]
VarianceName = Literal["one", "plain", "near_data", "near_eps", "tiny", "huge", "zero", "negative"]

MEAN_WEIGHTS: Mapping[MeanName, int] = MappingProxyType(
    {"zero": 1, "plain": 4, "near_data": 4, "data_value": 2, "large": 1}
)
VARIANCE_WEIGHTS: Mapping[VarianceName, int] = MappingProxyType(
    {"one": 1, "plain": 5, "near_data": 4, "near_eps": 3, "tiny": 1, "huge": 1, "zero": 1, "negative": 0}
)
"""A mean near the data makes x - mean cancel in inference; a variance near eps shows where eps is added."""


def mean_names(*, allowed: Collection[MeanName] | None = None) -> st.SearchStrategy[MeanName]:
    """The name of a recipe of the running mean, see `expand_running_mean`.

    * ``allowed``: only these; all by default, as often as `MEAN_WEIGHTS` says.

    Shrinks towards "zero", the default of all frameworks.

    Drawn: ``'plain'``, ``'near_data'``.
    """
    return st.deferred(lambda: subset("allowed", MEAN_WEIGHTS, allowed))


def variance_names(
    *,
    allowed: Collection[VarianceName] | None = None,
    allow_negative: bool = False,
    allow_zero: bool = True,
) -> st.SearchStrategy[VarianceName]:
    """The name of a recipe of the running variance, see `expand_running_var`.

    * ``allowed``: only these; all by default, as often as `VARIANCE_WEIGHTS` says.
    * ``allow_negative``: also negative variances, whose results are undefined; off by default.
    * ``allow_zero``: also 0; on by default.

    Shrinks towards "one", the default of all frameworks.

    Drawn: ``'plain'``, ``'near_eps'``.
    """

    def build() -> st.SearchStrategy[VarianceName]:
        if allowed is not None and "negative" in allowed and not allow_negative:
            raise UsageError(f"allowed={allowed!r} holds 'negative'; set allow_negative=True as well")
        excluded = {name for name, kept in (("negative", allow_negative), ("zero", allow_zero)) if not kept}
        chosen = VARIANCE_WEIGHTS if allowed is None else allowed
        return subset("allowed", VARIANCE_WEIGHTS, [name for name in chosen if name not in excluded])

    return st.deferred(build)


def expand_running_mean(name: MeanName, rng: np.random.Generator, x: Float64, format_: Format) -> Array:
    """The running mean of each channel of x, whose last axis holds the channel's values.

    zero        0
    plain       ±m·2^e, m in [1, 2), e in -2..2
    near_data   the mean of the data, off by up to two units in the last place
    data_value  one of the data's values
    large       ±m·2^e with e about a third of the largest exponent, at most 20
    """
    shape = x.shape[:-1]
    if name == "zero":
        return stored(np.zeros(shape), format_)
    if name == "large":
        middle = min(20, format_.emax // 3)
        return stored(powers(rng.integers(middle - 1, middle + 2, shape)) * mantissas(rng, shape), format_)
    if name == "plain" or x.shape[-1] == 0:
        return stored(powers(rng.integers(-2, 3, shape)) * mantissas(rng, shape), format_)
    if name == "data_value":
        return stored(_finite(x[..., rng.integers(0, x.shape[-1])]), format_)
    off = 1.0 + 2 * format_.unit_roundoff * rng.integers(-2, 3, shape)
    with np.errstate(all="ignore"):
        return stored(_finite(np.mean(x, axis=-1)) * off, format_)


def expand_running_var(name: VarianceName, rng: np.random.Generator, x: Float64, eps: float, format_: Format) -> Array:
    """The running variance of each channel of x, whose last axis holds the channel's values.

    one, zero  that number
    plain      m·2^e, m in [1, 2), e in -3..3
    near_data  the variance of the data times a number in [1/2, 2)
    near_eps   eps times a number in [1/4, 4)
    tiny       m·2^-e with e about a half of the largest exponent, at most 40; huge: the same with +e
    negative   as plain, negated
    """
    shape = x.shape[:-1]
    if name == "zero":
        return stored(np.zeros(shape), format_)
    if name == "one":
        return stored(np.ones(shape), format_)
    size = np.abs(mantissas(rng, shape))
    if name == "near_eps" and eps > 0:
        return stored(eps * size * powers(rng.integers(-2, 2, shape)), format_)
    if name in ("tiny", "huge"):
        middle = min(40, format_.emax // 2)
        exponents = rng.integers(middle - 2, middle + 3, shape)
        return stored(size * powers(exponents if name == "huge" else -exponents), format_)
    if name == "near_data" and x.shape[-1] > 1:
        with np.errstate(all="ignore"):
            variance = _finite(np.var(x, axis=-1))
        # A constant channel has none: 1 keeps the result defined.
        return stored(np.where(variance > 0, variance, 1.0) * size * 0.5, format_)
    plain = size * powers(rng.integers(-3, 4, shape))
    return stored(-plain if name == "negative" else plain, format_)


def _finite(values: Float64) -> Float64:
    return np.where(np.isfinite(values), values, 0.0)
