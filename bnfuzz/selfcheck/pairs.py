"""Format pairs: the data's format and the one that is computed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from bnfuzz import formats
from bnfuzz.case import Spec
from bnfuzz.conventions import Conventions, FormatTriple
from bnfuzz.faults.backend import CONVENTIONS

PURE = replace(CONVENTIONS, compute=())
"""Half formats are computed in, too."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """(data, parameters, statistics) formats that a soak draws, and the conventions that decide the compute format."""

    triples: tuple[FormatTriple, ...]
    conventions: Conventions


PAIRS: Mapping[str, Pair] = MappingProxyType(
    {
        "float16": Pair(triples=(("float16", "float16", "float16"),), conventions=PURE),
        "bfloat16": Pair(triples=(("bfloat16", "bfloat16", "bfloat16"),), conventions=PURE),
        "float32": Pair(triples=(("float32", "float32", "float32"),), conventions=PURE),
        "float64": Pair(triples=(("float64", "float64", "float64"),), conventions=PURE),
        "float16/float32": Pair(
            triples=(("float16", "float32", "float32"), ("float16", "float16", "float16")), conventions=CONVENTIONS
        ),
        "bfloat16/float32": Pair(
            triples=(("bfloat16", "float32", "float32"), ("bfloat16", "bfloat16", "bfloat16")), conventions=CONVENTIONS
        ),
    }
)
"""Name -> Pair; one format alone stands for data and computation."""


def pair_name(spec: Spec, conventions: Conventions) -> str:
    """Name of the pair that a Spec falls under."""
    compute = conventions.compute_format(spec.data_format).name
    return spec.data_format if compute == spec.data_format else f"{spec.data_format}/{compute}"


def largest_told(pair: str) -> float:
    """The largest n with n·u ≤ 1/16, u that of the compute format: up to it most checks must say something."""
    compute = formats.named(pair.rpartition("/")[2])
    return 1 / (16 * compute.unit_roundoff)
