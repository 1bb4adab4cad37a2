"""What one unit of a campaign sees: failing trials by signature, the first of each confirmed.

Everything but the first trial of a signature is only counted, so that one fault never hides another and never
floods the corpus. A new one is confirmed with mpmath. Of the later ones that show the same far more clearly, the
clearest is kept in mind.

Where the call itself failed (an exception, a dead or a hung worker), the trials are run one by one to find the
one to blame. A death that does not come again is reported all the same, as flaky.

What a unit sees depends on the unit alone: what other units have found only spares it the confirming, so that
`Discoveries` comes to the same whichever of them were known when it began.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from bnfuzz import machine
from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.findings.sameness import strand
from bnfuzz.campaign.findings.step_alone import step_alone
from bnfuzz.case import Case, Inputs, Spec
from bnfuzz.corpus.known import KnownFinding, find
from bnfuzz.evaluation import CALL, Result, evaluate_case
from bnfuzz.finding import Finding
from bnfuzz.relating import Related, relate_case
from bnfuzz.signature import signature

CLEARER = 2.0
"""A later trial takes the place of the first where its severity is this many times larger."""

Judge = Literal["reference", "relations"]
"""What a finding was judged by, and so what shrinks it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sighting:
    """The first trial of a signature in a unit.

    identity  signature as the block showed it; that of the finding, judged alone, may be another
    doubted   mpmath does not confirm it: it is not reported
    """

    identity: str
    finding: Finding
    judge: Judge = "reference"
    doubted: bool = False


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What needs no confirming any more.

    known  findings that the corpus knows
    shown  signature -> severity that the campaign can show of it already; infinite where no other trial is wanted
    """

    known: tuple[KnownFinding, ...] = ()
    shown: Mapping[str, float] = field(default_factory=dict)

    def severity(self, identity: str, version: str | None) -> float | None:
        """What a clearer trial of this signature is to be compared with; None where the signature is new."""
        if identity in self.shown:
            return self.shown[identity]
        return None if find(self.known, identity, version) is None else math.inf


@dataclass(eq=False)
class _Group:
    """The trials of one signature in a block: the worst of them, how many, and the outputs that fail in any."""

    trial: int
    trials: int = 0
    severity: float = -math.inf
    outputs: frozenset[str] = frozenset()

    def add(self, severity: float, trial: int, outputs: tuple[str, ...]) -> None:
        self.trials += 1
        self.outputs |= frozenset(outputs)
        if severity > self.severity:
            self.severity, self.trial = severity, trial


class Sightings:
    """All that a unit sees. `found` is called with each Sighting at once.

    counts    signature -> failing trials
    backends  signature -> the backend that it was seen on
    outputs   signature -> outputs that failed in any of its trials
    clearest  signature -> the trial of the largest severity, unconfirmed, where that is clearer than what is settled
    """

    def __init__(self, pool: Pool, settled: Settled, *, origin: str, found: Callable[[Sighting], None]) -> None:
        self._pool = pool
        self._settled = settled
        self._origin = origin
        self._found = found
        self._shown: dict[str, float | None] = {}
        self._seen: set[str] = set()
        self._largest: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self.backends: dict[str, str] = {}
        self.outputs: dict[str, frozenset[str]] = {}
        self.clearest: dict[str, Finding] = {}

    def look(self, result: Result, spec: Spec, inputs: Inputs, outputs: tuple[str, ...]) -> None:
        """Every failing trial of one backend's block, the worst of each new signature in full.

        A step of a sequence that fails alone just so is no fault of the sequence, and goes by the step's own mode.
        """
        groups: dict[str, _Group] = {}
        for trial in (int(trial) for trial in result.failing()):
            kinds = {
                name: kind for name, kind in result.kinds(trial).items() if not outputs or name in (*outputs, CALL)
            }
            failing = strand(kinds)
            headline = result.headline(trial, failing) if failing else None
            identity = None if headline is None else signature(spec, result.backend, (headline,))
            if headline is not None and identity is not None:
                groups.setdefault(identity, _Group(trial)).add(headline.severity, trial, failing)
        for identity, group in groups.items():
            alone = step_alone(self._pool, result, spec, inputs, group.trial, identity) if len(spec.steps) > 1 else None
            if alone is None:
                self._look_at(identity, group, result, spec, inputs)
                continue
            failing = strand(alone.result.kinds(0))
            severity = max(verdict.severity for verdict in alone.result.verdicts(0) if verdict.output in failing)
            one = _Group(0, trials=group.trials, severity=severity, outputs=frozenset(failing))
            self._look_at(alone.signature, one, alone.result, alone.spec, alone.inputs)

    def _look_at(self, identity: str, group: _Group, result: Result, spec: Spec, inputs: Inputs) -> None:
        """The trials of one signature in a block."""
        self._count(identity, result.backend, group.trials, group.outputs)
        if result.judged and self._is_clearer(identity, group.severity):
            self._largest[identity] = group.severity
            self.clearest[identity] = self._finding(identity, result, spec, inputs, group.trial)
        if not self._is_first(identity):
            return
        if not result.judged:
            self._failed_call(identity, result, spec, inputs)
            return
        finding = self._finding(identity, result, spec, inputs, group.trial)
        confirmed = confirmed_by_mpmath(self._pool, finding)
        self._found(Sighting(identity=identity, finding=confirmed or finding, doubted=confirmed is None))

    def look_related(
        self, related: Related, spec: Spec, inputs: Inputs, outputs: tuple[str, ...], *, seed: int
    ) -> None:
        """Trials that violate a relation: the relations confirm and shrink them, in the reference's place."""
        for trial, verdict in ((k, v) for verdicts in related.verdicts.values() for k, v in enumerate(verdicts)):
            identity = signature(spec, related.backend, (verdict,))
            if identity is None or (outputs and verdict.output not in outputs):
                continue
            self._count(identity, related.backend, 1, frozenset({verdict.output}))
            if not self._is_first(identity):
                continue
            finding = Finding(
                case=Case(spec=spec, inputs=inputs.trial(trial)),
                backend=related.backend,
                verdicts=(verdict,),
                signature=identity,
                environment=machine.describe(self._pool.versions(related.backend)),
                origin=self._origin,
            )
            verdicts = relate_case(self._pool, related.backend, finding.case, seed=seed)
            named = signature(spec, related.backend, verdicts)
            if named is not None:
                finding = replace(finding, verdicts=verdicts, signature=named, confirmed=True)
            self._found(Sighting(identity=identity, finding=finding, judge="relations", doubted=named is None))

    def _count(self, identity: str, backend: str, trials: int, outputs: frozenset[str]) -> None:
        self.counts[identity] += trials
        self.outputs[identity] = self.outputs.get(identity, frozenset()) | outputs
        if identity not in self.backends:
            self.backends[identity] = backend
            self._shown[identity] = self._settled.severity(identity, self._pool.version(backend))

    def _is_first(self, identity: str) -> bool:
        """Whether the signature is new, and seen for the first time."""
        first = self._shown[identity] is None and identity not in self._seen
        self._seen.add(identity)
        return first

    def _is_clearer(self, identity: str, severity: float) -> bool:
        shown = self._shown[identity]
        enough = shown is None or severity > CLEARER * shown
        return enough and math.isfinite(severity) and severity > self._largest.get(identity, -math.inf)

    def _finding(self, identity: str, result: Result, spec: Spec, inputs: Inputs, trial: int) -> Finding:
        return Finding(
            case=Case(spec=spec, inputs=inputs.trial(trial)),
            backend=result.backend,
            verdicts=result.verdicts(trial),
            signature=identity,
            environment=machine.describe(self._pool.versions(result.backend)),
            origin=self._origin,
        )

    def _failed_call(self, identity: str, result: Result, spec: Spec, inputs: Inputs) -> None:
        """Blames the first trial that fails alone as the block did; where none does, the block's first, as flaky."""
        for trial in range(inputs.trials):
            case = Case(spec=spec, inputs=inputs.trial(trial))
            verdicts = evaluate_case(self._pool, result.backend, case)
            if signature(spec, result.backend, verdicts) == identity:
                found = self._finding(identity, result, spec, inputs, trial)
                self._found(Sighting(identity=identity, finding=replace(found, verdicts=verdicts, confirmed=True)))
                return
        first = self._finding(identity, result, spec, inputs, 0)
        why = f"{result.reply.message}; it did not come again when the trials were run one by one"
        verdicts = tuple(replace(verdict, why=why) for verdict in first.verdicts)
        self._found(Sighting(identity=identity, finding=replace(first, verdicts=verdicts)))


def confirmed_by_mpmath(pool: Pool, finding: Finding) -> Finding | None:
    """The finding with its verdicts reached again, alone and against mpmath; None where they are not."""
    verdicts = evaluate_case(pool, finding.backend, finding.case, rung="mpmath")
    identity = signature(finding.case.spec, finding.backend, verdicts)
    if identity is None:
        return None
    return replace(finding, verdicts=verdicts, signature=identity, confirmed=True)
