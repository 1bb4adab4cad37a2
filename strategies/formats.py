"""Formats of the data, the parameters and the running statistics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from hypothesis import strategies as st

from bnfuzz.conventions import FormatTriple
from bnfuzz.formats import FORMATS, FormatName
from bnfuzz.strategies.weighted import subset, weighted

TRIPLE_WEIGHTS: Mapping[FormatTriple, int] = MappingProxyType(
    {
        ("float32", "float32", "float32"): 8,
        ("bfloat16", "float32", "float32"): 2,
        ("float16", "float32", "float32"): 2,
        ("float64", "float64", "float64"): 2,
        ("bfloat16", "bfloat16", "bfloat16"): 1,
        ("float16", "float16", "float16"): 1,
    }
)
"""(data, parameters, statistics): half in float32, a quarter mixed as in training with half precision."""

_NAME_WEIGHTS: Mapping[FormatName, int] = MappingProxyType({"float32": 4, "bfloat16": 2, "float16": 2, "float64": 1})


def format_triples(*, allowed: Collection[FormatTriple] | None = None) -> st.SearchStrategy[FormatTriple]:
    """Names of the formats of (data, parameters, statistics), pure or mixed, as often as `TRIPLE_WEIGHTS` says.

    * ``allowed``: only these triples; all of `TRIPLE_WEIGHTS` by default. `Conventions.formats` fits here.

    Shrinks towards float32 throughout.

    Drawn: ``('float32', 'float32', 'float32')``, ``('bfloat16', 'float32', 'float32')``.
    """
    return st.deferred(lambda: subset("allowed", TRIPLE_WEIGHTS, allowed))


def format_names(*, allowed: Collection[FormatName] | None = None) -> st.SearchStrategy[FormatName]:
    """Name of one format.

    * ``allowed``: only these names; all four by default.

    Shrinks towards float32.

    Drawn: ``'float32'``, ``'float16'``.
    """
    assert set(_NAME_WEIGHTS) == set(FORMATS)
    return st.deferred(
        lambda: weighted(_NAME_WEIGHTS) if allowed is None else subset("allowed", _NAME_WEIGHTS, allowed)
    )
