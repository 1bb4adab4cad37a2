"""A finding: one Case on one backend, its verdicts, and where they were seen."""

from __future__ import annotations

from dataclasses import dataclass, field

from bnfuzz.case import Case
from bnfuzz.judge.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Descent:
    """How a case came to be as small as it is.

    origin    id of the case as it was found
    severity  of that case: what a smaller one may not fall far below, however often it is shrunk again
    steps     what was done to it, one line each, over all times it was shrunk
    finished  nothing was left to try
    """

    origin: str
    severity: float
    steps: tuple[str, ...] = ()
    finished: bool = False


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
    descent      of a case that was shrunk
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
    descent: Descent | None = None
