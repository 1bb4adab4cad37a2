"""The stored form of a case: the Case, where it came from, and what is expected of each backend."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

from bnfuzz.case import Array, Case
from bnfuzz.casefile import versions
from bnfuzz.casefile.tree import case_id
from bnfuzz.errors import UsageError
from bnfuzz.finding import Descent, Finding
from bnfuzz.judge.verdict import FINDINGS, Verdict
from bnfuzz.signature import portable

State = Literal["flaky", "open", "fixed", "seed"]
STATES: tuple[State, ...] = get_args(State)
"""Where two files of one case are merged, the first of their states wins: `flaky` is a person's word, kept."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a case came from; everything optional."""

    title: str = ""
    link: str = ""
    campaign: str = ""
    seed: int | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What backends of some versions do with the case.

    backend    name, or a pattern such as `jax*`
    versions   range such as `>=0.12,<0.13`; empty: every version
    findings   output -> kind of failure, exactly these; empty: the case passes (`ok`)
    signature  of the known finding
    also       outputs that fail in other cases of the same fault, which have no signature of their own
    why        a person's reason
    cause      what bnfuzz found to explain the failure
    confirmed  the failure was reached again with the most exact reference
    """

    backend: str
    versions: str = ""
    findings: Mapping[str, str] = field(default_factory=dict)
    signature: str = ""
    also: tuple[str, ...] = ()
    why: str = ""
    cause: str = ""
    link: str = ""
    confirmed: bool = False

    def __post_init__(self) -> None:
        versions.check_range(self.versions)
        for output, kind in self.findings.items():
            if kind not in FINDINGS:
                raise UsageError(f"{output}={kind!r} is no kind of finding; use one of {', '.join(sorted(FINDINGS))}")

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def explanation(self) -> str:
        """On one line: a person's reason, else the cause, else nothing."""
        return " ".join((self.why or self.cause).split())

    def applies(self, backend: str, version: str | None = None) -> bool:
        """Whether it speaks of this backend at this version (None: any)."""
        names = (backend, portable(backend))
        named = self.backend in names or any(fnmatch.fnmatchcase(name, self.backend) for name in names)
        return named and versions.within(version, self.versions)

    def matches(self, verdicts: tuple[Verdict, ...]) -> bool:
        """Whether exactly the stated outputs fail, with the stated kinds."""
        return dict(self.findings) == failures(verdicts)


@dataclass(frozen=True, kw_only=True, eq=False)
class CaseFile:
    """A stored case.

    descent      of a case that was shrunk
    verdicts     by backend, as judged when the case was saved
    environment  of the machine that saved it (machine.py)
    reference    exact outputs of the trial, for human readers only: nothing is judged by them
    """

    case: Case
    state: State = "open"
    origin: Origin = Origin()
    descent: Descent | None = None
    expectations: tuple[Expectation, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    verdicts: Mapping[str, tuple[Verdict, ...]] = field(default_factory=dict)
    reference: Mapping[str, Array] = field(default_factory=dict)

    @cached_property
    def id(self) -> str:
        return case_id(self.case)

    @property
    def signatures(self) -> tuple[str, ...]:
        """Of its known findings, without repeats, in order."""
        return tuple(dict.fromkeys(entry.signature for entry in self.expectations if entry.signature))

    @property
    def severity(self) -> float:
        """The largest of all recorded verdicts."""
        return max((verdict.severity for group in self.verdicts.values() for verdict in group), default=0.0)

    def expected(self, backend: str, version: str | None = None) -> tuple[Expectation, ...]:
        """The expectations that apply; none means that nothing is known, several that each of them is."""
        return tuple(entry for entry in self.expectations if entry.applies(backend, version))


def failures(verdicts: tuple[Verdict, ...]) -> dict[str, str]:
    """output -> kind of the verdicts that are findings."""
    return {verdict.output: verdict.kind for verdict in verdicts if verdict.is_finding}


def from_finding(finding: Finding, *, title: str = "", note: str = "", seed: int | None = None) -> CaseFile:
    """The open case of a finding."""
    link = finding.origin if finding.origin.startswith(("http://", "https://")) else ""
    expectation = Expectation(
        backend=portable(finding.backend),
        findings=failures(finding.verdicts),
        signature=finding.signature,
        also=finding.also,
        cause=finding.cause,
        confirmed=finding.confirmed,
    )
    return CaseFile(
        case=finding.case,
        origin=Origin(title=title, link=link, campaign="" if link else finding.origin, seed=seed, note=note),
        expectations=(expectation,),
        environment=finding.environment,
        verdicts={portable(finding.backend): finding.verdicts},
        descent=finding.descent,
    )


def merged(old: CaseFile, new: CaseFile, *, reopen: bool = True) -> CaseFile:
    """`old` with the expectations and verdicts of `new`, a file of the same case, that it lacks.

    An "ok" of the same backend and versions gives way to a finding. With `reopen` a new finding also sets the state
    back to open: a fault that was fixed has come back (a flaky one stays flaky). A known finding learns its cause,
    and with `reopen` a better one.
    """
    if old.id != new.id:
        raise UsageError(f"cases {old.id} and {new.id} differ; only files of one case can be merged")
    expectations = list(old.expectations)
    for entry in new.expectations:
        same = [
            i for i, own in enumerate(expectations) if (own.backend, own.versions) == (entry.backend, entry.versions)
        ]
        known = [i for i in same if expectations[i].findings == entry.findings]
        if known:
            causes = (entry.cause, expectations[known[0]].cause)
            cause = next(filter(None, causes if reopen else reversed(causes)), "")
            also = tuple(dict.fromkeys((*expectations[known[0]].also, *entry.also)))
            expectations[known[0]] = replace(expectations[known[0]], cause=cause, also=also)
        elif not (entry.ok and same):
            expectations = [own for i, own in enumerate(expectations) if not (i in same and own.ok)] + [entry]
    return replace(
        old,
        state=min(old.state, new.state, key=STATES.index) if reopen else old.state,
        descent=old.descent or new.descent,
        expectations=tuple(expectations),
        environment=old.environment or new.environment,
        verdicts={**new.verdicts, **old.verdicts},
        reference=old.reference or new.reference,
    )
