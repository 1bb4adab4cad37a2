"""Case files: one Case with its origin and what is expected of each backend, as exact and readable JSON."""

from bnfuzz.casefile.atomic import create_atomic, write_atomic
from bnfuzz.casefile.files import MAX_BYTES, dumps, loads, read
from bnfuzz.casefile.migrations import SCHEMA
from bnfuzz.casefile.stored import CaseFile, Expectation, Origin, State, from_finding, merged
from bnfuzz.casefile.tree import case_id
from bnfuzz.finding import Descent

__all__ = [
    "MAX_BYTES",
    "SCHEMA",
    "CaseFile",
    "Descent",
    "Expectation",
    "Origin",
    "State",
    "case_id",
    "create_atomic",
    "dumps",
    "from_finding",
    "loads",
    "merged",
    "read",
    "write_atomic",
]
