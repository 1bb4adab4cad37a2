"""The campaign: the units of its sequence one after the other, on workers of this process, until the budget is spent.

`shards.run_campaign` is what runs one, here or spread over several processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.budget import Budget
from bnfuzz.campaign.findings.discover import Discoveries, Discovery, shrunk
from bnfuzz.campaign.findings.sightings import Sightings
from bnfuzz.campaign.progress import Watched
from bnfuzz.campaign.scatter import Scatter
from bnfuzz.campaign.search import Search, empty_tally
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.tally import Tally
from bnfuzz.campaign.units import FRUITLESS_ROUNDS, Unit, check_outputs, nothing_left, units
from bnfuzz.corpus import Corpus


@dataclass(frozen=True, eq=False)
class Report:
    """What a campaign came to.

    interrupted  ended by the user before its budget
    lost         what could not be run, and why: one line per unit or finding
    """

    asked: Settings
    tally: Tally
    discoveries: Discoveries
    elapsed: float
    shrink_seconds: float
    interrupted: bool
    versions: dict[str, dict[str, str]]
    scatter: Scatter = field(default_factory=Scatter)
    lost: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return bool(self.discoveries.failing)

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Backends that took part without one judged trial or failed call: of them the campaign says nothing.

        The slow ones apart, which get so few plans that a short campaign has none for them.
        """
        tallies = self.tally.backends.items()
        return tuple(name for name, tally in tallies if not (tally.judged or tally.failed_calls or tally.slow))


class Campaign:
    """One budgeted search. `announce` is called for every new finding, `tick` after every plan."""

    def __init__(
        self,
        asked: Settings,
        pool: Pool,
        corpus: Corpus | None,
        *,
        announce: Callable[[Discovery], None],
        tick: Callable[[Watched], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.asked = asked
        self.scatter = Scatter()
        self._pool = pool
        # Asked before the clock starts: it brings every worker up.
        self._versions = {name: pool.versions(name) for name in asked.backends}
        conventions = [pool.conventions(name) for name in asked.backends]
        check_outputs(asked, conventions)
        self._units = units(asked, conventions)
        self.tally = empty_tally(asked, pool)
        self.budget = Budget(asked, clock)
        versions = {name: pool.version(name) for name in asked.backends}
        self.discoveries = Discoveries(corpus, versions=versions, announce=announce)
        self._search = Search(
            asked,
            pool,
            tally=self.tally,
            scatter=self.scatter,
            cases=asked.cases,
            over=lambda: self.budget.spent(self.tally.tried, len(self.discoveries.waiting)),
            tick=lambda: tick(self),
        )

    def run(self) -> Report:
        """Searches until the budget is spent or the user interrupts."""
        interrupted = False
        try:
            while not self._search.over():
                unit = next(self._units)
                if unit.round >= FRUITLESS_ROUNDS and not self.tally.tried:
                    raise nothing_left()
                self._run(unit)
            self._settle()
        except KeyboardInterrupt:
            interrupted = True
        return Report(
            asked=self.asked,
            tally=self.tally,
            discoveries=self.discoveries,
            elapsed=self.budget.elapsed,
            shrink_seconds=self.budget.shrink_seconds,
            interrupted=interrupted,
            versions=self._versions,
            scatter=self.scatter,
        )

    def _run(self, unit: Unit) -> None:
        sightings = Sightings(
            self._pool, self.discoveries.settled(), origin=self.asked.origin, found=self.discoveries.take
        )
        try:
            self._search.run(unit, sightings)
        finally:
            self.discoveries.count(sightings.counts, sightings.backends, sightings.clearest, sightings.outputs)

    def _settle(self) -> None:
        """Shrinks what waits, as long as the budget's share for it lasts."""
        waiting = self.discoveries.waiting
        for number, discovery in enumerate(waiting):
            allowance = self.budget.shrink_allowance(len(waiting) - number)
            if allowance > 0:
                started = time.monotonic()
                smaller = shrunk(self._pool, discovery.finding, discovery.clearer, discovery.judge, seconds=allowance)
                self.discoveries.replace(discovery, smaller)
                self.budget.shrinking(time.monotonic() - started)
