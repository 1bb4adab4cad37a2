"""The findings of a campaign: known or new, saved and announced as they come, and at the end shrunk.

Units are taken in the order of the sequence, whoever ran them and whichever ended first: so the trial that stands for
a signature is the same for one job and for many. A new finding is saved as it was found, and announced: a kill after
that loses nothing that was printed. A trial that shows the same far more clearly takes its place, and so does one that
tells more of the fault, whose signature then stands for all (sameness.py); in the last part of the budget each is
shrunk, and saved in place of what was found.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.findings.recorded import Recorded
from bnfuzz.campaign.findings.sameness import Symptoms, same_fault, strand
from bnfuzz.campaign.findings.sightings import CLEARER, Judge, Settled, Sighting, confirmed_by_mpmath
from bnfuzz.case import OUTPUT_NAMES
from bnfuzz.corpus import Corpus
from bnfuzz.corpus.known import KnownFinding
from bnfuzz.diagnosis.explain import explain_case
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import FAILING, Verdict
from bnfuzz.shrink.findings import shrink_finding
from bnfuzz.shrink.goal import CONVINCING
from bnfuzz.shrink.related import shrink_related
from bnfuzz.signature import first_failing

EXPLAIN_SECONDS = 3.0
"""A cause is looked for only where so much of a finding's time is left."""


@dataclass(eq=False)
class Discovery:
    """A new finding of this campaign.

    path     its file
    judge    what it was judged by
    outputs  those that failed in any trial that is counted under it
    earlier  signatures that stood for it before a trial told more
    clearer  a trial of the same signature with a larger severity, not yet confirmed
    shrunk   True once a smaller case stands in its place
    """

    finding: Finding
    path: Path | None
    judge: Judge = "reference"
    outputs: frozenset[str] = frozenset()
    earlier: tuple[str, ...] = ()
    clearer: Finding | None = None
    shrunk: bool = False

    @property
    def symptoms(self) -> Symptoms:
        return Symptoms(signature=self.finding.signature, outputs=self.outputs)

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
        return self.fails and not self.shrunk and self.finding.confirmed and self.first.kind != "hang"

    @property
    def shown(self) -> float:
        """The severity that another trial must pass by far to take its place; infinite where none can."""
        if not self.waits:
            return math.inf
        first = first_failing((self.clearer or self.finding).verdicts)
        return first.severity if first is not None else math.inf


class Discoveries:
    """All findings of one campaign, one per fault. `versions`: backend -> version of its framework.

    counts       signature that stands -> trials counted under it
    known        likewise -> what the corpus knows
    new          signature, standing or not -> the discovery that its trials are counted under
    unconfirmed  signature -> what the finest reference has not borne out so far: every unit tries its own trial of it
    """

    def __init__(
        self,
        corpus: Corpus | None,
        *,
        versions: Mapping[str, str | None],
        announce: Callable[[Discovery], None],
    ) -> None:
        self._corpus = corpus
        self._versions = versions
        self._announce = announce
        self._recorded = Recorded(corpus, versions)
        self._covered: dict[str, str] = {}
        self._uncovered: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.known: dict[str, KnownFinding] = {}
        self.new: dict[str, Discovery] = {}
        self.unconfirmed: dict[str, Finding] = {}

    def settled(self) -> Settled:
        """What the next unit need not confirm."""
        # What is settled for good: a unit that is at work meanwhile must come to the same without this.
        done = (*self._recorded.open, *self.known, *self.new)
        shown = dict.fromkeys(done, math.inf)
        shown |= {discovery.finding.signature: discovery.shown for discovery in self.distinct}
        return Settled(known=self._recorded.listed, shown=shown)

    def take(self, sighting: Sighting) -> None:
        """The first trial of a signature in the unit at hand: saved and announced, unless it is settled."""
        identity, finding = sighting.identity, sighting.finding
        symptoms = _symptoms(finding)
        if self._is_settled(replace(symptoms, signature=identity), finding.backend):
            return
        if sighting.doubted:
            self.unconfirmed.setdefault(identity, finding)
            return
        doubted = [name for name in dict.fromkeys((identity, finding.signature)) if self.unconfirmed.pop(name, None)]
        if self._is_settled(symptoms, finding.backend):
            # The finest reference gave it another name, which stands for something already.
            if finding.signature in self.new:
                self.new[identity] = self.new[finding.signature]
            else:
                self._covered[identity] = self._covered.get(finding.signature, finding.signature)
        else:
            self._place(identity, symptoms, sighting)
        for name in doubted:
            trials = self.counts.pop(name, 0)
            self.counts[self.standing(name)] += trials

    def _place(self, identity: str, symptoms: Symptoms, sighting: Sighting) -> None:
        """A discovery of its own, or another appearance of one; where it tells more, its name and case are taken."""
        finding = sighting.finding
        discovery = next((one for one in self.distinct if same_fault(one.symptoms, symptoms)), None)
        if discovery is None:
            discovery = Discovery(finding, None, sighting.judge, symptoms.outputs)
            discovery.path = self._saved(discovery, finding)
            self.new[identity] = self.new[finding.signature] = discovery
            self._announce(discovery)
            return
        self.new[identity] = self.new[finding.signature] = discovery
        discovery = self._extended(discovery, symptoms.outputs)
        if symptoms.telling < discovery.symptoms.telling:
            before = discovery.finding.signature
            discovery.path = self._saved(discovery, finding)
            discovery.finding, discovery.judge, discovery.clearer = finding, sighting.judge, None
            self._renamed(discovery, before)
            self._announce(discovery)

    def count(
        self,
        counts: Mapping[str, int],
        backends: Mapping[str, str],
        clearest: Mapping[str, Finding],
        outputs: Mapping[str, frozenset[str]],
    ) -> None:
        """What else a unit saw (see `Sightings`), after its sightings were taken."""
        for identity, trials in counts.items():
            symptoms = Symptoms(signature=identity, outputs=outputs[identity])
            self._is_settled(symptoms, backends[identity])
            if identity in self.new:
                self._extended(self.new[identity], symptoms.outputs)
            elif identity in self._covered and not self._recorded.known(symptoms, self._versions[backends[identity]]):
                # The first of them showed no more than is recorded, but another one does.
                self._uncovered.add(identity)
                del self._covered[identity]
            self.counts[self.standing(identity)] += trials
        for identity, finding in clearest.items():
            discovery, first = self.new.get(identity), first_failing(finding.verdicts)
            if discovery is None or first is None or discovery.finding.signature != identity:
                continue
            if first.severity > CLEARER * discovery.shown:
                discovery.clearer = finding

    def standing(self, identity: str) -> str:
        """The signature that trials of this one are counted under."""
        if identity in self.new:
            return self.new[identity].finding.signature
        return self._covered.get(identity, identity)

    def _is_settled(self, symptoms: Symptoms, backend: str) -> bool:
        identity = symptoms.signature
        if any(identity in settled for settled in (self.known, self.new, self._covered)):
            return True
        found = self._recorded.known(symptoms, self._versions[backend])
        if found is None or (found[0] != identity and identity in self._uncovered):
            return False
        standing, self.known[standing] = found
        if standing != identity:
            self._covered[identity] = standing
        return True

    def _extended(self, discovery: Discovery, outputs: frozenset[str]) -> Discovery:
        """The discovery with these outputs, joined with others that are thereby seen to be the same."""
        before, discovery.outputs = discovery.outputs, discovery.outputs | outputs
        kept = discovery
        while (other := self._same_as(kept)) is not None:
            kept, left = sorted((kept, other), key=lambda one: one.symptoms.telling)
            kept.outputs |= left.outputs
            self.new |= {identity: kept for identity, one in self.new.items() if one is left}
            self._renamed(kept, left.finding.signature, *left.earlier)
            if self._corpus is not None and left.path is not None and left.path != kept.path:
                self._corpus.withdraw(left.path, left.finding.backend)
        if kept is not discovery or discovery.outputs != before:
            kept.path = self._saved(kept, kept.finding)
        return kept

    def _same_as(self, discovery: Discovery) -> Discovery | None:
        others = (one for one in self.distinct if one is not discovery)
        return next((one for one in others if same_fault(one.symptoms, discovery.symptoms)), None)

    def _renamed(self, discovery: Discovery, *before: str) -> None:
        """What was counted under other names is counted under the one that stands."""
        standing = discovery.finding.signature
        for name in (name for name in before if name != standing):
            self.counts[standing] += self.counts.pop(name, 0)
            discovery.earlier += () if name in discovery.earlier else (name,)

    @property
    def waiting(self) -> tuple[Discovery, ...]:
        """New findings that are to be shrunk."""
        return tuple(discovery for discovery in self.distinct if discovery.waits)

    def replace(self, discovery: Discovery, smaller: Finding | None) -> None:
        """Saves and announces what a discovery was shrunk to; None leaves it as it was found.

        So does a smaller case whose name, which shrinking may change, stands for something else already.
        """
        before = discovery.finding.signature
        if smaller is None or (smaller.signature != before and self._is_taken(smaller, discovery)):
            return
        discovery.path = self._saved(discovery, smaller)
        discovery.finding = smaller
        discovery.shrunk = True
        self.new[smaller.signature] = discovery
        self._renamed(discovery, before)
        self._announce(discovery)

    def _is_taken(self, finding: Finding, discovery: Discovery) -> bool:
        """Whether the finding shows what is known, or what another discovery stands for."""
        symptoms = _symptoms(finding)
        if finding.signature in self.new:
            return self.new[finding.signature] is not discovery
        if finding.signature in self.known or finding.signature in self._covered:
            return True
        if self._recorded.known(symptoms, self._versions[finding.backend]) is not None:
            return True
        return any(same_fault(one.symptoms, symptoms) for one in self.distinct if one is not discovery)

    def _saved(self, discovery: Discovery, finding: Finding) -> Path | None:
        """The file of `finding`, in place of the one that the discovery has."""
        if self._corpus is None:
            return None
        failing = {verdict.output for verdict in finding.verdicts if verdict.is_finding}
        also = tuple(name for name in OUTPUT_NAMES if name in discovery.outputs - failing)
        path = self._corpus.add_finding(replace(finding, also=also))
        if not finding.confirmed:
            self._corpus.set_state(path, "flaky")
        if discovery.path is not None and discovery.path != path:
            self._corpus.withdraw(discovery.path, finding.backend)
        return path

    @property
    def distinct(self) -> tuple[Discovery, ...]:
        """New findings, each once."""
        return tuple({id(discovery): discovery for discovery in self.new.values()}.values())

    @property
    def failing(self) -> tuple[Discovery, ...]:
        """New findings that make the run fail."""
        return tuple(d for d in self.distinct if d.fails)


def _symptoms(finding: Finding) -> Symptoms:
    kinds = {verdict.output: verdict.kind for verdict in finding.verdicts}
    return Symptoms(signature=finding.signature, outputs=frozenset(strand(kinds)))


def shrunk(pool: Pool, first: Finding, clearer: Finding | None, judge: Judge, *, seconds: float) -> Finding | None:
    """A small case of the same fault, from its clearest trial where that is confirmed; None where none convinces.

    What explains it is looked for in what is left of the time, and may take a little longer.
    """
    deadline = time.monotonic() + seconds
    shrink = shrink_finding if judge == "reference" else shrink_related
    starts = [first]
    if clearer is not None:
        confirmed = confirmed_by_mpmath(pool, clearer)
        if confirmed is not None and confirmed.signature == first.signature:
            starts.insert(0, confirmed)
    for start in starts:
        smaller = shrink(pool, start, seconds=seconds / len(starts))
        if smaller.confirmed and (_convinces(smaller) or smaller.case.spec.size <= first.case.spec.size):
            return _explained(pool, smaller, judge, deadline)
    return None


def _explained(pool: Pool, finding: Finding, judge: Judge, deadline: float) -> Finding:
    """The finding with its cause, where there is time to look for it and one is found."""
    if judge != "reference" or time.monotonic() + EXPLAIN_SECONDS > deadline:
        return finding
    explanation = explain_case(pool, finding.backend, finding.case)
    return replace(finding, cause=explanation.sentence) if explanation.known else finding


def _convinces(finding: Finding) -> bool:
    """Where not, a shrunk case is kept only if it is no larger than the one that was found first."""
    first = first_failing(finding.verdicts)
    return first is not None and first.severity >= CONVINCING
