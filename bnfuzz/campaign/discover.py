"""From a failing trial to a finding: known or new, confirmed, shrunk, saved.

Everything but the first trial of a signature is only counted, so that one fault never hides another and never
floods the corpus. A new one is confirmed with mpmath, saved as it was found, shrunk within the budget, and saved
again in its place: a kill in between loses nothing that was printed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bnfuzz import machine
from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.budget import Budget
from bnfuzz.case import Case, Inputs, Spec
from bnfuzz.corpus import Corpus
from bnfuzz.evaluation import Result, evaluate_case
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import FAILING, Verdict
from bnfuzz.known import KnownFinding
from bnfuzz.shrink.findings import shrink_finding
from bnfuzz.signature import first_failing, signature


@dataclass(frozen=True, eq=False)
class Discovery:
    """A new finding of this campaign. `path`: its file; `shrunk`: False where the budget did not reach."""

    finding: Finding
    path: Path | None
    shrunk: bool

    @property
    def first(self) -> Verdict:
        verdict = first_failing(self.finding.verdicts)
        assert verdict is not None
        return verdict

    @property
    def fails(self) -> bool:
        """Whether a run with this finding in it counts as failed."""
        return self.first.kind in FAILING


class Discoveries:
    """All findings of one campaign, by signature."""

    def __init__(self, pool: Pool, corpus: Corpus | None, budget: Budget, origin: str) -> None:
        self._pool = pool
        self._corpus = corpus
        self._budget = budget
        self._origin = origin
        self.counts: Counter[str] = Counter()
        self.known: dict[str, KnownFinding] = {}
        self.new: dict[str, Discovery] = {}
        self.unconfirmed: dict[str, Finding] = {}

    def look(
        self,
        result: Result,
        spec: Spec,
        inputs: Inputs,
        outputs: tuple[str, ...],
        announce: Callable[[Discovery], None],
    ) -> None:
        """Every failing trial of one backend's block, the worst of each new signature in full."""
        worst: dict[str, tuple[float, int]] = {}
        for trial in result.failing():
            headline = result.headline(int(trial), outputs)
            identity = None if headline is None else signature(spec, result.backend, (headline,))
            if headline is None or identity is None:
                continue
            self.counts[identity] += 1
            if identity not in worst or headline.severity > worst[identity][0]:
                worst[identity] = (headline.severity, int(trial))
        for identity, (_, trial) in worst.items():
            if not self._is_settled(identity, result.backend):
                case = Case(spec=spec, inputs=inputs.trial(trial))
                self._discover(identity, result, case, result.verdicts(trial), announce)

    def _is_settled(self, identity: str, backend: str) -> bool:
        if identity in self.known or identity in self.new or identity in self.unconfirmed:
            return True
        known = None
        if self._corpus is not None:
            known = self._corpus.known(identity, self._pool.version(backend))
        if known is not None:
            self.known[identity] = known
        return known is not None

    def _discover(
        self,
        identity: str,
        result: Result,
        case: Case,
        verdicts: tuple[Verdict, ...],
        announce: Callable[[Discovery], None],
    ) -> None:
        started = time.monotonic()
        finding = Finding(
            case=case,
            backend=result.backend,
            verdicts=verdicts,
            signature=identity,
            environment=machine.describe(self._pool.versions(result.backend)),
            origin=self._origin,
        )
        confirmed = self._confirmed(finding)
        if confirmed is None:
            self.unconfirmed[identity] = finding
            return
        finding = confirmed
        self.new[identity] = self.new[finding.signature] = Discovery(finding, None, False)
        path = None if self._corpus is None else self._corpus.add_finding(finding)
        # What does not fail a run is not worth the time of what does.
        fails = self.new[identity].fails
        allowance = self._budget.shrink_allowance() if fails else 0.0
        shrunk = False
        if allowance > 0:
            smaller = shrink_finding(self._pool, finding, seconds=allowance)
            shrunk = True
            if self._corpus is not None and smaller.confirmed:
                better = self._corpus.add_finding(smaller)
                if path is not None and better != path:
                    self._corpus.remove(path)
                path, finding = better, smaller
            elif smaller.confirmed:
                finding = smaller
        self._budget.shrinking(time.monotonic() - started)
        discovery = Discovery(finding, path, shrunk)
        self.new[identity] = self.new[finding.signature] = discovery
        announce(discovery)

    def _confirmed(self, finding: Finding) -> Finding | None:
        """The finding with its verdicts reached again, alone and against mpmath; None where they are not.

        A call that ended badly is its own evidence: it is confirmed by ending so again.
        """
        verdicts = evaluate_case(self._pool, finding.backend, finding.case, rung="mpmath")
        identity = signature(finding.case.spec, finding.backend, verdicts)
        if identity is None:
            return None
        return replace(finding, verdicts=verdicts, signature=identity, confirmed=True)

    @property
    def failing(self) -> tuple[Discovery, ...]:
        """Distinct new findings that make the run fail."""
        return tuple(d for d in self.distinct if d.fails)

    @property
    def distinct(self) -> tuple[Discovery, ...]:
        return tuple({id(d.finding): d for d in self.new.values()}.values())
