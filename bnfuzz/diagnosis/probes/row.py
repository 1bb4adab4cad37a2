"""A line of a card, and what a probe is: a name, what is documented, and a look at the implementation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bnfuzz.case import Case
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.subject import Subject

CANNOT_TELL = "cannot be told"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a probe saw.

    observed   a few words, the same for every implementation that does the same
    evidence   which input, which output, which numbers
    agrees     whether the documentation is kept; None: it is where `observed` is the documented text
    case       the input, to replay
    """

    observed: str
    evidence: str
    agrees: bool | None = None
    case: Case | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a card. `agrees` is None where nothing is documented, or nothing can be told."""

    name: str
    documented: str
    observed: str
    evidence: str
    agrees: bool | None = None
    case: Case | None = None

    @property
    def departs(self) -> bool:
        """The documentation is not kept: a finding."""
        return self.agrees is False


def of_statistics(documented: Callable[[Conventions], str]) -> Callable[[Conventions], str]:
    """`documented`, where there are running statistics that it can speak of."""
    return lambda conventions: documented(conventions) if "new_running_mean" in conventions.outputs else ""


def undocumented(conventions: Conventions) -> str:
    """For what no backend's record states."""
    del conventions
    return ""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """`documented` gives the text of a record, empty where it states nothing; `look` raises CannotTell."""

    name: str
    look: Callable[[Subject], Seen]
    documented: Callable[[Conventions], str] = undocumented

    def row(self, subject: Subject) -> Row:
        """The line of this probe for one implementation."""
        documented = self.documented(subject.conventions)
        try:
            seen = self.look(subject)
        except CannotTell as reason:
            return Row(name=self.name, documented=documented, observed=CANNOT_TELL, evidence=str(reason))
        kept = seen.agrees if seen.agrees is not None else seen.observed == documented
        expressible = seen.case is not None and subject.conventions.unsupported(seen.case.spec) is None
        return Row(
            name=self.name,
            documented=documented,
            observed=seen.observed,
            evidence=seen.evidence,
            agrees=kept if documented else None,
            case=seen.case if expressible else None,
        )
