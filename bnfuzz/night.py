"""The record of a night: what was run, what was found, and how each finding stands. Stored, compared and shown.

Plain values only, so that a record survives any change of the code that made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from bnfuzz.judge.verdict import FAILING

Standing = Literal["new", "back", "changed", "flaky", "same", "unseen", "gone"]

STANDINGS: tuple[Standing, ...] = get_args(Standing)
"""How a finding stands tonight, what needs attention first.

new      no night before has seen it
back     it was gone, and fails again
changed  the stored case fails otherwise than recorded, or passes while another case of the signature fails
flaky    the same call fails at one time and passes at another
same     as recorded
unseen   not run tonight: its backend did not take part, or time ran out
gone     the stored case passes, and nothing else of the signature was seen
"""

NEWS: frozenset[Standing] = frozenset({"new", "back"})
"""Standings that fail a night, where the kind is one that fails a run."""


@dataclass(frozen=True, kw_only=True)
class Tracked:
    """A finding over the nights, by its signature.

    backend      as it was asked for: for a target, with its path
    severity     the largest error/bound of the stored case
    note         one clause on the standing: what changed, in which version it is fixed
    cause        one clause; `no known cause` where it was looked for in vain, empty where it was not looked for
    case         name of its file below `cases/`; empty where none is stored
    issue        name of its text below `issues/`; empty where none is written yet
    issue_ready  its script showed the fault
    first_night, last_night   in which it was first and last seen failing; gone_night in which it was found gone
    version      of the backend when it was last seen failing; fixed_in when it was found gone
    finished     nothing is left to shrink
    """

    signature: str
    backend: str
    output: str
    kind: str
    severity: float
    standing: Standing
    note: str = ""
    cause: str = ""
    link: str = ""
    case: str = ""
    issue: str = ""
    issue_ready: bool = False
    first_night: int
    last_night: int
    gone_night: int = 0
    version: str = ""
    fixed_in: str = ""
    finished: bool = False

    @property
    def open(self) -> bool:
        return self.standing != "gone"

    @property
    def fails(self) -> bool:
        """Whether its kind fails a run by default."""
        return self.kind in FAILING


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """A stored case on one backend: `standing` as in `bnfuzz.replay`. `case` is its path below the corpus folder."""

    case: str
    backend: str
    standing: str
    reason: str = ""
    link: str = ""
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A file of the corpus that cannot be read."""

    case: str
    problem: str


@dataclass(frozen=True, kw_only=True)
class KnownEntry:
    """An entry of known.toml tonight.

    standing   seen     its failures came again (`trials` of them in the campaign, or a stored case)
               quiet    nothing of it was seen, which proves nothing
               fixed    nothing of it was seen, and its stored cases pass
               expired  its version range leaves out what runs here
    """

    signature: str
    reason: str
    link: str = ""
    versions: str = ""
    standing: Literal["seen", "quiet", "fixed", "expired"] = "quiet"
    trials: int = 0
    last_night: int = 0
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """The fault that was planted for the night: the night is worth nothing where it does not arrive.

    signatures   of what was found of it; trials judged until then
    """

    fault: str
    description: str
    signatures: tuple[str, ...] = ()
    trials: int = 0

    @property
    def arrived(self) -> bool:
        return bool(self.signatures)


@dataclass(frozen=True, kw_only=True)
class BackendNight:
    """One backend in the night's campaign: its counts as in the closing table, and its largest ratio."""

    name: str
    version: str
    judged: int = 0
    refused: int = 0
    failed_calls: int = 0
    vacuous: int = 0
    seconds: float = 0.0
    hung: bool = False
    worst_output: str = ""
    worst: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Findings by standing; replayed cases that did what was known or right, and those that did not."""

    new: int = 0
    back: int = 0
    changed: int = 0
    flaky: int = 0
    same: int = 0
    unseen: int = 0
    gone: int = 0
    replayed: int = 0
    replay_failed: int = 0
    replay_fixed: int = 0
    replay_left: int = 0

    @property
    def open(self) -> int:
        return self.new + self.back + self.changed + self.flaky + self.same + self.unseen


@dataclass(frozen=True, kw_only=True)
class Night:
    """What one night came to; kept for ever.

    started   UTC, as 2026-11-30T02:00:00Z
    budget    in words; seconds from the first worker to the last line
    drawn     label -> plans that had it
    troubles  what went wrong with the machine or with this tool, a clause each: the night is not to be trusted
    remarks   what was left out, a clause each
    complete  False where the user ended it early
    """

    number: int
    started: str
    seed: int
    budget: str
    seconds: float = 0.0
    search_seconds: float = 0.0
    judged: int = 0
    plans: int = 0
    backends: tuple[BackendNight, ...] = ()
    counts: Counts = Counts()
    drawn: tuple[tuple[str, int], ...] = ()
    planted: Planted
    troubles: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    complete: bool = True
    new_only: bool = False

    @property
    def rate(self) -> float:
        """Judged trials per second of the campaign."""
        return self.judged / self.search_seconds if self.search_seconds > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A judged output of one trial: a point of the plot of error/bound over the condition number."""

    backend: str
    output: str
    kind: str
    severity: float
    kappa: float
    format: str
    what: str
    seed: int
    trial: int


@dataclass(frozen=True, kw_only=True)
class FormatWorst:
    """One output of a backend in one data format: checks, findings, and the largest ratio of those that passed."""

    backend: str
    output: str
    format: str
    checks: int
    findings: int
    worst_passing: float
    worst: float


@dataclass(frozen=True, kw_only=True)
class NightReport:
    """All that a night has to say.

    findings   every one that is tracked, what needs attention first
    history    the nights before, oldest first
    """

    night: Night
    findings: tuple[Tracked, ...] = ()
    replayed: tuple[Replayed, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    known: tuple[KnownEntry, ...] = ()
    dots: tuple[Dot, ...] = ()
    formats: tuple[FormatWorst, ...] = ()
    history: tuple[Night, ...] = ()

    @property
    def news(self) -> tuple[Tracked, ...]:
        """What no night before has seen, or what is back."""
        return tuple(finding for finding in self.findings if finding.standing in NEWS)

    @property
    def exit_code(self) -> int:
        """0 clean, 1 new failing findings, 3 where the night is not to be trusted."""
        if self.night.troubles:
            return 3
        return 1 if any(finding.fails for finding in self.news) else 0
