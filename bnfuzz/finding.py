"""A finding: one Case on one backend, its verdicts, and where they were seen."""

from __future__ import annotations

from dataclasses import dataclass, field

from bnfuzz.case import Case
from bnfuzz.judge.verdict import Verdict


@dataclass(frozen=True, kw_only=True, eq=False)
class Finding:
    """What a campaign saves.

    backend      name as in the registry (`flax`, `jax`, `target:…`)
    verdicts     one per output, in data-flow order (one alone for error, crash and hang)
    signature    identity of the fault (signature.py)
    environment  versions, CPU features, threads, flush-to-zero, flags: text values by name (machine.py)
    also         outputs that fail in other trials of the same fault
    confirmed    the verdicts were reached again with mpmath as the reference
    cause        what explains it, where known; no part of the identity
    origin       where the case came from: a link, or campaign and seed
    """

    case: Case
    backend: str
    verdicts: tuple[Verdict, ...]
    signature: str
    environment: dict[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    confirmed: bool = False
    cause: str = ""
    origin: str = ""
