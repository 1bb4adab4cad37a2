"""From a failing trial to a finding: known or new, confirmed, saved, and at the end shrunk.

Everything but the first trial of a signature is only counted, so that one fault never hides another and never
floods the corpus. A new one is confirmed with mpmath, saved as it was found, and announced: a kill after that
loses nothing that was printed. While the campaign goes on, a trial that shows the same far more clearly takes
its place; in the last part of the budget each is shrunk, and saved in place of what was found.

Where the call itself failed (an exception, a dead or a hung worker), the trials are run one by one to find the
one to blame. A death that does not come again is saved all the same, as flaky.
"""

from __future__ import annotations

import math
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
from bnfuzz.corpus.known import KnownFinding
from bnfuzz.evaluation import Result, evaluate_case
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import FAILING, Verdict
from bnfuzz.relating import Related, relate_case
from bnfuzz.shrink.findings import shrink_finding
from bnfuzz.shrink.related import shrink_related
from bnfuzz.signature import first_failing, signature

Shrink = Callable[..., Finding]

CONVINCING = 100.0
"""Below this severity a shrunk case is kept only where it is no larger than the one that was found first."""

CLEARER = 2.0
"""A later trial takes the place of the first where its severity is this many times larger."""


@dataclass(eq=False)
class Discovery:
    """A new finding of this campaign.

    path     its file
    clearer  a trial of the same signature with a larger severity, not yet confirmed
    shrink   what makes it smaller; None where it stays as it was found
    shrunk   True once that was done
    """

    finding: Finding
    path: Path | None
    shrink: Shrink | None
    clearer: Finding | None = None
    shrunk: bool = False

    @property
    def first(self) -> Verdict:
        verdict = first_failing(self.finding.verdicts)
        assert verdict is not None
        return verdict

    @property
    def fails(self) -> bool:
        """Whether a run with this finding in it counts as failed."""
        return self.first.kind in FAILING

    @property
    def waits(self) -> bool:
        """Whether it is to be shrunk: it fails, came again, and is no hang (which would cost a deadline per step).

        What does not fail a run is not worth the time of what does.
        """
        hopeless = self.shrink is None or self.shrunk or not self.finding.confirmed
        return self.fails and not hopeless and self.first.kind != "hang"


class Discoveries:
    """All findings of one campaign, by signature."""

    def __init__(
        self,
        pool: Pool,
        corpus: Corpus | None,
        budget: Budget,
        *,
        origin: str,
        announce: Callable[[Discovery], None],
    ) -> None:
        self._pool = pool
        self._corpus = corpus
        self._budget = budget
        self._origin = origin
        self._announce = announce
        self.counts: Counter[str] = Counter()
        self.known: dict[str, KnownFinding] = {}
        self.new: dict[str, Discovery] = {}
        self.unconfirmed: dict[str, Finding] = {}

    def look(self, result: Result, spec: Spec, inputs: Inputs, outputs: tuple[str, ...]) -> None:
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
        for identity, (severity, trial) in worst.items():
            if self._is_settled(identity, result.backend):
                known = self.new.get(identity)
                if known is not None and known.waits and result.judged and _is_clearer(severity, known):
                    known.clearer = self._finding(identity, result, spec, inputs, trial)
                continue
            if not result.judged:
                self._failed_call(identity, result, spec, inputs)
                continue
            finding = self._finding(identity, result, spec, inputs, trial)
            confirmed = self._confirmed(finding)
            if confirmed is None:
                self.unconfirmed[identity] = finding
            else:
                self._discover(identity, confirmed)

    def look_related(
        self, related: Related, spec: Spec, inputs: Inputs, outputs: tuple[str, ...], *, seed: int
    ) -> None:
        """Trials that violate a relation: the relations confirm and shrink them, in the reference's place."""
        for trial, verdict in ((k, v) for verdicts in related.verdicts.values() for k, v in enumerate(verdicts)):
            identity = signature(spec, related.backend, (verdict,))
            if identity is None or (outputs and verdict.output not in outputs):
                continue
            self.counts[identity] += 1
            if self._is_settled(identity, related.backend):
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
            if named is None:
                self.unconfirmed[identity] = finding
            elif named in self.new:
                self.new[identity] = self.new[named]
            elif not self._is_settled(named, related.backend):
                confirmed = replace(finding, verdicts=verdicts, signature=named, confirmed=True)
                self._discover(identity, confirmed, shrink_related)

    def _is_settled(self, identity: str, backend: str) -> bool:
        if identity in self.known or identity in self.new or identity in self.unconfirmed:
            return True
        known = None
        if self._corpus is not None:
            known = self._corpus.known(identity, self._pool.version(backend))
        if known is not None:
            self.known[identity] = known
        return known is not None

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
                self._discover(identity, replace(found, verdicts=verdicts, confirmed=True))
                return
        first = self._finding(identity, result, spec, inputs, 0)
        why = f"{result.reply.message}; it did not come again when the trials were run one by one"
        verdicts = tuple(replace(verdict, why=why) for verdict in first.verdicts)
        self._discover(identity, replace(first, verdicts=verdicts))

    def _discover(self, identity: str, finding: Finding, shrink: Shrink = shrink_finding) -> None:
        """Saves and announces a new finding."""
        discovery = Discovery(finding, self._saved(finding, None), shrink)
        self.new[identity] = self.new[finding.signature] = discovery
        self._announce(discovery)

    @property
    def waiting(self) -> int:
        """New findings that `settle` will shrink."""
        return sum(discovery.waits for discovery in self.distinct)

    def settle(self) -> None:
        """Shrinks what waits, the clearest trial of each, as long as the budget's share for it lasts."""
        for discovery in self.distinct:
            allowance = self._budget.shrink_allowance(self.waiting)
            if discovery.waits and allowance > 0:
                started = time.monotonic()
                self._shrink(discovery, allowance)
                self._budget.shrinking(time.monotonic() - started)

    def _shrink(self, discovery: Discovery, seconds: float) -> None:
        assert discovery.shrink is not None
        first = discovery.finding
        starts = [first]
        if discovery.clearer is not None:
            clearer = self._confirmed(discovery.clearer)
            if clearer is not None and clearer.signature == first.signature:
                starts.insert(0, clearer)
        for start in starts:
            smaller = discovery.shrink(self._pool, start, seconds=seconds / len(starts))
            if smaller.confirmed and (_convinces(smaller) or smaller.case.spec.size <= first.case.spec.size):
                discovery.path = self._saved(smaller, discovery.path)
                discovery.finding = smaller
                discovery.shrunk = True
                self.new[smaller.signature] = discovery
                self._announce(discovery)
                return

    def _saved(self, finding: Finding, earlier: Path | None) -> Path | None:
        """The finding's file, in place of an earlier one of the same finding."""
        if self._corpus is None:
            return None
        path = self._corpus.add_finding(finding)
        if not finding.confirmed:
            self._corpus.set_state(path, "flaky")
        if earlier is not None and earlier != path:
            self._corpus.withdraw(earlier, finding.backend)
        return path

    def _confirmed(self, finding: Finding) -> Finding | None:
        """The finding with its verdicts reached again, alone and against mpmath; None where they are not."""
        verdicts = evaluate_case(self._pool, finding.backend, finding.case, rung="mpmath")
        identity = signature(finding.case.spec, finding.backend, verdicts)
        if identity is None:
            return None
        return replace(finding, verdicts=verdicts, signature=identity, confirmed=True)

    @property
    def distinct(self) -> tuple[Discovery, ...]:
        """New findings, each once."""
        return tuple({id(discovery): discovery for discovery in self.new.values()}.values())

    @property
    def failing(self) -> tuple[Discovery, ...]:
        """New findings that make the run fail."""
        return tuple(d for d in self.distinct if d.fails)


def _convinces(finding: Finding) -> bool:
    first = first_failing(finding.verdicts)
    return first is not None and first.severity >= CONVINCING


def _is_clearer(severity: float, known: Discovery) -> bool:
    shown = known.clearer or known.finding
    first = first_failing(shown.verdicts)
    return first is not None and math.isfinite(severity) and severity > CLEARER * first.severity
