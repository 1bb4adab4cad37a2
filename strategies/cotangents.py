"""Families of cotangents g = dL/dy, each made to show another term of the gradient."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.case import Array
from bnfuzz.formats import Format, FormatName
from bnfuzz.strategies.rounding import Exponents, Float64, mantissas, powers, stored
from bnfuzz.strategies.weighted import subset

CotangentName = Literal["noise", "constant", "one_hot", "xhat", "orthogonal", "huge", "tiny"]

COTANGENT_WEIGHTS: Mapping[CotangentName, int] = MappingProxyType(
    {"noise": 8, "xhat": 3, "one_hot": 3, "orthogonal": 2, "constant": 2, "huge": 1, "tiny": 1}
)
"""Noise with a mean has all three terms of dx in it; the others isolate one, or push to the ends of the range."""

_USUAL = (0, 1, -1, 2, -2, 3, -3)


@dataclass(frozen=True)
class CotangentFamily:
    """Recipe of a trial's cotangent: a name and an integer exponent; every value is about 2^scale.

    noise       noise about a mean that is not 0
    constant    one value per channel: dx is exactly 0
    one_hot     one value per channel, 0 elsewhere: a column of the Jacobian
    xhat        the normalized data: the variance term takes all but eps/(var+eps) of it away
    orthogonal  noise without its parts along 1 and the normalized data: dgamma = dbeta = 0, no term takes anything away
    huge, tiny  noise far from 1
    """

    name: CotangentName = "noise"
    scale: int = 0

    def expand(self, rng: np.random.Generator, xhat: Float64, format_: Format) -> Array:
        """Values in the format, of the shape of ``xhat``: normalized data, each channel along the last axis."""
        lead = (*xhat.shape[:-1], 1)
        scale: Exponents = self.scale + rng.integers(-1, 2, lead)
        unit = _unit(self.name, rng, xhat, lead)
        with np.errstate(over="ignore"):  # x̂ of inference may be huge; what overflows is stored as the largest number
            return stored(powers(scale) * unit, format_)


def _unit(name: CotangentName, rng: np.random.Generator, xhat: Float64, lead: tuple[int, ...]) -> Float64:
    if name == "constant":
        return np.broadcast_to(mantissas(rng, lead), xhat.shape)
    if name == "xhat":
        return xhat
    if name == "one_hot":
        n = xhat.shape[-1]
        return np.where(np.arange(n) == rng.integers(0, max(n, 1), lead), mantissas(rng, lead), 0.0)
    noise = rng.standard_normal(xhat.shape)
    if name == "orthogonal":
        return orthogonal_part(noise, xhat)
    return noise + mantissas(rng, lead) * rng.integers(0, 2, lead) if name == "noise" else noise


def orthogonal_part(values: Float64, xhat: Float64) -> Float64:
    """``values`` less their projections on 1 and on xhat, along the last axis; twice, since once leaves rounding."""
    if xhat.shape[-1] == 0:
        return values
    largest = np.max(np.abs(xhat), axis=-1, keepdims=True)
    along = xhat / np.where(largest > 0, largest, 1.0)  # so that no square overflows
    along = along - np.mean(along, axis=-1, keepdims=True)
    square = np.sum(along * along, axis=-1, keepdims=True)
    for _ in range(2):
        values = values - np.mean(values, axis=-1, keepdims=True)
        part = np.sum(values * along, axis=-1, keepdims=True)
        values = values - along * np.divide(part, square, out=np.zeros_like(part), where=square > 0)
    return values


def normalized(x: Float64, eps: float) -> Float64:
    """(x - mean)/√(var + eps) along the last axis, in float64, scaled first so that no square overflows.

    Channels with NaN or infinities give 0.
    """
    if x.shape[-1] == 0:
        return x
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(x), axis=-1, keepdims=True)
        unit = x / np.where(largest > 0, largest, 1.0)
        centred = unit - np.mean(unit, axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        # eps/largest² in this order, so that neither the square nor its inverse leaves the range too soon.
        root = np.sqrt(variance + np.where(largest > 0, eps / largest / largest, eps))
        xhat = centred / root
    return np.where(np.isfinite(xhat), xhat, 0.0)


def cotangent_families(
    *,
    data_format: FormatName = "float32",
    n: int | None = None,
    names: Collection[CotangentName] | None = None,
) -> st.SearchStrategy[CotangentFamily]:
    """A recipe of a cotangent, as often as `COTANGENT_WEIGHTS` says.

    * ``data_format``: decides how far huge and tiny go; float32 by default.
    * ``n``: number of values per channel; below 3 nothing is orthogonal to both 1 and xhat, so that
      family stays out unless named.
    * ``names``: only these families; all by default.

    Shrinks towards noise of size 1, the first family that is allowed.

    Drawn: ``CotangentFamily(name='noise', scale=0)``, ``CotangentFamily(name='one_hot', scale=2)``.
    """

    def build() -> st.SearchStrategy[CotangentFamily]:
        format_ = formats.named(data_format)
        weights = {
            name: 0 if name == "orthogonal" and n is not None and n < 3 else weight
            for name, weight in COTANGENT_WEIGHTS.items()
        }
        scales = {name: st.sampled_from(_USUAL) for name in COTANGENT_WEIGHTS}
        scales["huge"] = st.integers(format_.emax // 2, format_.emax - 6)
        scales["tiny"] = st.integers(format_.emin, format_.emin // 2)
        return _recipes(subset("names", weights, names), scales)

    return st.deferred(build)


@st.composite
def _recipes(
    draw: st.DrawFn, names: st.SearchStrategy[CotangentName], scales: Mapping[CotangentName, st.SearchStrategy[int]]
) -> CotangentFamily:
    name = draw(names)
    return CotangentFamily(name, draw(scales[name]))
