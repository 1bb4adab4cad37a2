"""What explains a failing case: the causes that are left, why, and what was excluded on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

CauseKind = Literal["convention", "fault", "algorithm", "several"]
"""convention: another documented choice; fault: one step that computes something else; algorithm: the right formula,
evaluated in an unstable way; several: two of these together."""

UNKNOWN = "no known cause"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One explanation that nothing contradicts.

    name      of the catalogue's entry (several: joined by ` + `)
    sentence  what the code does, in one clause
    evidence  what it predicts and what was seen, one line each
    """

    name: str
    sentence: str
    kind: CauseKind
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The causes of one case on one backend.

    causes    simplest first; several are a tie, which nothing that was tried tells apart; none: no known cause
    failing   what fails, one line per output; empty where nothing does
    excluded  the alternatives that explained the case itself, and which input ruled each out
    asked     the further inputs that the backend was run on, one line each
    note      why the tie stands, or why nothing more can be said
    """

    causes: tuple[Cause, ...] = ()
    failing: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    note: str = ""

    @property
    def known(self) -> bool:
        return bool(self.causes)

    @property
    def sentence(self) -> str:
        """One clause: the simplest cause, with the names of those it is tied with; `no known cause` without any."""
        if not self.causes:
            return UNKNOWN
        first, *others = self.causes
        tied = f" (or {', '.join(cause.name for cause in others)})" if others else ""
        return f"{first.name}: {first.sentence}{tied}"

    def lines(self) -> Iterator[str]:
        """What `bnfuzz explain` prints."""
        if not self.failing:
            yield f"nothing fails{f': {self.note}' if self.note else ''}"
            return
        yield "fails:"
        yield from (f"  {line}" for line in self.failing)
        yield f"cause: {self.sentence}"
        for cause in self.causes:
            if len(self.causes) > 1:
                yield f"  {cause.name}: {cause.sentence}"
            yield from (f"  {line}" for line in cause.evidence)
        if self.asked:
            yield "asked:"
            yield from (f"  {line}" for line in self.asked)
        if self.excluded:
            yield "excluded:"
            yield from (f"  {line}" for line in self.excluded)
        if self.note:
            yield f"note: {self.note}"
