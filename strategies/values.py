"""Families of adversarial data for one channel; what each looks like is in `ValueFamily`."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import get_args

from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.errors import UsageError
from bnfuzz.formats import Format, FormatName
from bnfuzz.strategies.value_recipes import USUAL_EPS, ValueFamily, ValueName, limits
from bnfuzz.strategies.weighted import subset

VALUE_WEIGHTS: Mapping[ValueName, int] = MappingProxyType(
    {
        "noise": 10,
        "offset": 12,
        "two_valued": 4,
        "outlier": 4,
        "alternating": 4,
        "symmetric": 3,
        "integers": 4,
        "wide": 4,
        "constant": 3,
        "large_constant": 4,
        "near_overflow": 2,
        "subnormal": 2,
        "nonfinite": 0,
    }
)
"""Of 56 channels 4 (7 %) sit at the ends of the range, where most results overflow or vanish and little is checked,
and 7 (12 %) are constant; all others have a spread that can be told from nothing."""


def value_families(
    *,
    data_format: FormatName = "float32",
    eps: float | None = None,
    names: Collection[ValueName] | None = None,
    allow_nonfinite: bool = False,
    allow_constant: bool = True,
) -> st.SearchStrategy[ValueFamily]:
    """A recipe for one channel, as often as `VALUE_WEIGHTS` says, with exponents that suit the format.

    * ``data_format``: decides how large, small and close to each other the values may be; float32 by default.
    * ``eps``: with it a share of the spreads is about its root, where its place matters; 1e-5 by default.
    * ``names``: only these families; all by default.
    * ``allow_nonfinite``: also one NaN or infinity per channel; off by default.
    * ``allow_constant``: also channels that are constant for certain; on by default.

    Shrinks towards noise of spread 1, the first family that is allowed.

    Drawn: ``ValueFamily(name='noise', scale=0, depth=0)``, ``ValueFamily(name='offset', scale=13, depth=17)``.
    """

    def build() -> st.SearchStrategy[ValueFamily]:
        format_ = formats.named(data_format)
        if eps is not None and not eps >= 0:
            raise UsageError(f"eps={eps} must not be negative; give None for the usual 1e-5")
        drawn = subset("names", VALUE_WEIGHTS, _allowed(names, allow_nonfinite, allow_constant))
        return _recipes(drawn, {name: _exponents(name, format_, eps) for name in VALUE_WEIGHTS})

    return st.deferred(build)


_Exponents = tuple[st.SearchStrategy[int], st.SearchStrategy[int] | None]


@st.composite
def _recipes(
    draw: st.DrawFn, names: st.SearchStrategy[ValueName], exponents: Mapping[ValueName, _Exponents]
) -> ValueFamily:
    name = draw(names)
    scale, depth = exponents[name]
    return ValueFamily(name, draw(scale), 0 if depth is None else draw(depth))


def _exponents(name: ValueName, format_: Format, eps: float | None) -> _Exponents:
    """Strategies of scale and depth; None where the family has no use for a depth."""
    bounds = limits(name, format_)
    depth = None if bounds.depth == (0, 0) else st.integers(*bounds.depth)
    if name in ("offset", "two_valued", "large_constant", "near_overflow", "subnormal", "integers"):
        return st.integers(*bounds.scale), depth
    return st.sampled_from(_spreads(*bounds.scale, USUAL_EPS if eps is None else eps)), depth


def _allowed(names: Collection[ValueName] | None, nonfinite: bool, constant: bool) -> list[ValueName]:
    chosen: list[ValueName] = list(get_args(ValueName) if names is None else names)
    if not nonfinite and "nonfinite" in chosen:
        if names is not None:
            raise UsageError(f"names={names!r} holds 'nonfinite'; set allow_nonfinite=True as well")
        chosen.remove("nonfinite")
    if not constant:
        chosen = [name for name in chosen if name not in ("constant", "large_constant")]
    return chosen


def _spreads(low: int, high: int, eps: float) -> tuple[int, ...]:
    """Exponents to draw from: a half about 1, a quarter about √eps, a quarter anywhere in the range."""
    usual = [e for e in (0, 1, -1, 2, -2, 3, -3, 4) if low <= e <= high]
    root = round(math.log2(eps) / 2) if eps > 0 else low
    near_root = [min(max(root + step, low), high) for step in (0, 1, -1, 2)]
    anywhere = [low + (high - low) * part // 5 for part in range(1, 5)]
    return (*usual, *near_root, *anywhere)
