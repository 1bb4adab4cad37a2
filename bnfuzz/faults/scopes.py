"""Scopes: the formats in which a fault can show. Elsewhere the outputs' rounding hides it, or nothing differs."""

from __future__ import annotations

from collections.abc import Callable

from bnfuzz import formats
from bnfuzz.conventions import FormatTriple
from bnfuzz.formats import Format

Scope = Callable[[Format, FormatTriple], bool]
"""(compute format, (data, parameter, statistics) formats) -> whether it can show."""

SINGLE = 24
"""Significand bits of float32."""


def everywhere(compute: Format, triple: FormatTriple) -> bool:
    return True


def pure(compute: Format, triple: FormatTriple) -> bool:
    """Computes in the data's own format."""
    return compute.name == triple[0]


def kept(compute: Format, triple: FormatTriple) -> bool:
    """Parameters and statistics are kept in no coarser format than the compute format."""
    return all(formats.named(name).precision >= compute.precision for name in triple[1:])


def single(compute: Format, triple: FormatTriple) -> bool:
    """Computes in float32 or float64."""
    return compute.precision >= SINGLE


def kept_single(compute: Format, triple: FormatTriple) -> bool:
    """Computes in float32 or float64, and keeps parameters and statistics so."""
    return single(compute, triple) and kept(compute, triple)


def wider_compute(compute: Format, triple: FormatTriple) -> bool:
    """Computes in a wider format than the data's."""
    return compute.name != triple[0]


def wider_than_float16(compute: Format, triple: FormatTriple) -> bool:
    """Computes in a wider format than the data's, which is float16."""
    return triple[0] == "float16" and wider_compute(compute, triple)


def wider_shown(compute: Format, triple: FormatTriple) -> bool:
    """Computes in a wider format than the data's, with a float16 range to fall out of or float32 outputs to show it."""
    return wider_compute(compute, triple) and (triple[0] == "float16" or kept(compute, triple))


def wider_statistics(compute: Format, triple: FormatTriple) -> bool:
    """Computes, and keeps parameters and statistics, in a wider format than the data's."""
    return wider_compute(compute, triple) and triple[0] not in triple[1:]
