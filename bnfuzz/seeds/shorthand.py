"""Short names for what many seeds share: format triples, and one channel's values as a column."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from bnfuzz.formats import FormatName
from bnfuzz.numerics.values import Float

FORMAT_FIELDS = ("data_format", "parameter_format", "statistics_format")


def _formats(data: FormatName, others: FormatName) -> MappingProxyType[str, Any]:
    return MappingProxyType(dict(zip(FORMAT_FIELDS, (data, others, others), strict=True)))


HALF = _formats("float16", "float32")
BRAIN = _formats("bfloat16", "float32")
PURE_HALF = _formats("float16", "float16")
PURE_BRAIN = _formats("bfloat16", "bfloat16")
DOUBLE = _formats("float64", "float64")


def column(values: Sequence[float]) -> Float:
    """One channel's values as x of shape (n, 1)."""
    return np.asarray(values, dtype=np.float64)[:, None]


def columns(*channels: Sequence[float]) -> Float:
    """Several channels' values, each a sequence of n, as x of shape (n, channels)."""
    return np.stack([np.asarray(values, dtype=np.float64) for values in channels], axis=1)
