"""The findings of a campaign: known or new, saved and announced as they come, and at the end shrunk.

Units are taken in the order of the sequence, whoever ran them and whichever ended first: so the trial that stands for
a signature is the same for one job and for many. A new finding is saved as it was found, and announced: a kill after
that loses nothing that was printed. A trial that shows the same far more clearly takes its place; in the last part of
the budget each is shrunk, and saved in place of what was found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.sightings import CLEARER, Judge, Settled, Sighting, confirmed_by_mpmath
from bnfuzz.casefile.versions import within
from bnfuzz.corpus import Corpus
from bnfuzz.corpus.known import KnownFinding
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import FAILING, Verdict
from bnfuzz.shrink.findings import shrink_finding
from bnfuzz.shrink.related import shrink_related
from bnfuzz.signature import first_failing, portable

CONVINCING = 100.0
"""Below this severity a shrunk case is kept only where it is no larger than the one that was found first."""


@dataclass(eq=False)
class Discovery:
    """A new finding of this campaign.

    path     its file
    judge    what it was judged by
    clearer  a trial of the same signature with a larger severity, not yet confirmed
    shrunk   True once a smaller case stands in its place
    """

    finding: Finding
    path: Path | None
    judge: Judge = "reference"
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
        return self.fails and not self.shrunk and self.finding.confirmed and self.first.kind != "hang"

    @property
    def shown(self) -> float:
        """The severity that another trial must pass by far to take its place; infinite where none can."""
        if not self.waits:
            return math.inf
        first = first_failing((self.clearer or self.finding).verdicts)
        return first.severity if first is not None else math.inf


class Discoveries:
    """All findings of one campaign, by signature. `versions`: backend -> version of its framework."""

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
        self._listed = () if corpus is None else corpus.known_list
        self._open = dict.fromkeys(_open_signatures(corpus, versions), math.inf)
        self.counts: Counter[str] = Counter()
        self.known: dict[str, KnownFinding] = {}
        self.new: dict[str, Discovery] = {}
        self.unconfirmed: dict[str, Finding] = {}

    def settled(self) -> Settled:
        """What the next unit need not confirm."""
        shown = self._open | dict.fromkeys((*self.known, *self.unconfirmed), math.inf)
        shown |= {identity: discovery.shown for identity, discovery in self.new.items()}
        return Settled(known=self._listed, shown=shown)

    def take(self, sighting: Sighting) -> None:
        """The first trial of a signature in the unit at hand: saved and announced, unless it is settled."""
        identity, finding = sighting.identity, sighting.finding
        if self._is_settled(identity, finding.backend):
            return
        if sighting.doubted:
            self.unconfirmed[identity] = finding
        elif finding.signature in self.new:
            self.new[identity] = self.new[finding.signature]
        elif not self._is_settled(finding.signature, finding.backend):
            discovery = Discovery(finding, self._saved(finding, None), sighting.judge)
            self.new[identity] = self.new[finding.signature] = discovery
            self._announce(discovery)

    def count(self, counts: Mapping[str, int], backends: Mapping[str, str], clearest: Mapping[str, Finding]) -> None:
        """What else a unit saw (see `Sightings`), after its sightings were taken."""
        for identity, trials in counts.items():
            self.counts[identity] += trials
            self._is_settled(identity, backends[identity])
        for identity, finding in clearest.items():
            discovery, first = self.new.get(identity), first_failing(finding.verdicts)
            if discovery is not None and first is not None and first.severity > CLEARER * discovery.shown:
                discovery.clearer = finding

    def _is_settled(self, identity: str, backend: str) -> bool:
        if identity in self.known or identity in self.new or identity in self.unconfirmed:
            return True
        known = None
        if self._corpus is not None:
            known = self._corpus.known(identity, self._versions[backend])
        if known is not None:
            self.known[identity] = known
        return known is not None

    @property
    def waiting(self) -> tuple[Discovery, ...]:
        """New findings that are to be shrunk."""
        return tuple(discovery for discovery in self.distinct if discovery.waits)

    def replace(self, discovery: Discovery, smaller: Finding | None) -> None:
        """Saves and announces what a discovery was shrunk to; None leaves it as it was found."""
        if smaller is None:
            return
        discovery.path = self._saved(smaller, discovery.path)
        discovery.finding = smaller
        discovery.shrunk = True
        self.new[smaller.signature] = discovery
        self._announce(discovery)

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

    @property
    def distinct(self) -> tuple[Discovery, ...]:
        """New findings, each once."""
        return tuple({id(discovery): discovery for discovery in self.new.values()}.values())

    @property
    def failing(self) -> tuple[Discovery, ...]:
        """New findings that make the run fail."""
        return tuple(d for d in self.distinct if d.fails)


def _open_signatures(corpus: Corpus | None, versions: Mapping[str, str | None]) -> Iterator[str]:
    """Signatures of open cases that speak of these versions."""
    ours = {portable(backend): version for backend, version in versions.items()}
    for entry in () if corpus is None else corpus.entries:
        for expectation in entry.file.expectations if entry.file.state in ("open", "flaky") else ():
            backend = expectation.signature.split("/")[1] if "/" in expectation.signature else ""
            if backend in ours and within(ours[backend], expectation.versions):
                yield expectation.signature


def shrunk(pool: Pool, first: Finding, clearer: Finding | None, judge: Judge, *, seconds: float) -> Finding | None:
    """A small case of the same fault, from its clearest trial where that is confirmed; None where none convinces."""
    shrink = shrink_finding if judge == "reference" else shrink_related
    starts = [first]
    if clearer is not None:
        confirmed = confirmed_by_mpmath(pool, clearer)
        if confirmed is not None and confirmed.signature == first.signature:
            starts.insert(0, confirmed)
    for start in starts:
        smaller = shrink(pool, start, seconds=seconds / len(starts))
        if smaller.confirmed and (_convinces(smaller) or smaller.case.spec.size <= first.case.spec.size):
            return smaller
    return None


def _convinces(finding: Finding) -> bool:
    first = first_failing(finding.verdicts)
    return first is not None and first.severity >= CONVINCING
