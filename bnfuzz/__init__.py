"""bnfuzz: differential fuzz testing of batch normalization against a certified reference.

The public names are loaded on first use: worker environments hold only NumPy and their framework.
"""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bnfuzz.case import Case, Inputs, Outputs, Spec, batch_norm_spec
    from bnfuzz.conventions import Conventions, Summation
    from bnfuzz.numerics.reference import reference
    from bnfuzz.testing import check

__version__ = "0.1.0"

_PUBLIC = MappingProxyType(
    {
        "Spec": "bnfuzz.case",
        "Inputs": "bnfuzz.case",
        "Case": "bnfuzz.case",
        "Outputs": "bnfuzz.case",
        "batch_norm_spec": "bnfuzz.case",
        "Conventions": "bnfuzz.conventions",
        "Summation": "bnfuzz.conventions",
        "reference": "bnfuzz.numerics.reference",
        "check": "bnfuzz.testing",
    }
)

__all__ = [  # all but the version are loaded by __getattr__
    "Case",
    "Conventions",
    "Inputs",
    "Outputs",
    "Spec",
    "Summation",
    "__version__",
    "batch_norm_spec",
    "check",
    "reference",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'bnfuzz' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)
