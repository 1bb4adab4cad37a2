"""The side of a parallel campaign that works: what a process does when it is asked.

The frameworks' workers are kept from one piece of work to the next.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess

from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.findings.discover import shrunk
from bnfuzz.campaign.findings.sightings import Sightings
from bnfuzz.campaign.parallel.frames import Described, Searched, SearchOrder, SentFinding, SentSighting, ShrinkOrder
from bnfuzz.campaign.scatter import Scatter
from bnfuzz.campaign.search import Search, empty_tally


class Shard:
    """A pool, and what is done with it; an interrupt ends the unit at hand soon."""

    def __init__(self) -> None:
        self._pool: Pool | None = None
        self._hurried = False

    def describe(self, backends: tuple[str, ...], limits: Limits) -> dict[str, Described]:
        """The backends as they are here; brings their workers up. Raises as `Pool.describe` does."""
        pool = self._ready(limits)
        return {
            name: Described(
                conventions=pool.conventions(name),
                versions=pool.versions(name),
                version=pool.version(name),
                slow=pool.backend(name).slow,
            )
            for name in backends
        }

    def search(self, order: SearchOrder) -> Searched:
        """Searches one unit; ends early where the order or an interrupt says so."""
        started, asked, pool = time.monotonic(), order.terms.asked, self._ready(order.terms.limits)
        order.terms.check(pool)

        def over() -> bool:
            return self._hurried or (order.seconds is not None and time.monotonic() - started >= order.seconds)

        sent: list[SentSighting] = []
        sightings = Sightings(
            pool, order.settled, origin=asked.origin, found=lambda sighting: sent.append(SentSighting.of(sighting))
        )
        tally, scatter = empty_tally(asked, pool, hung=order.hung), Scatter()
        unit_search = Search(asked, pool, tally=tally, scatter=scatter, cases=order.cases, over=over)
        unit_search.run(order.unit, sightings)
        return Searched(
            tally=tally,
            scatter=scatter,
            sightings=tuple(sent),
            counts=dict(sightings.counts),
            backends=sightings.backends,
            outputs=sightings.outputs,
            clearest={identity: SentFinding.of(finding) for identity, finding in sightings.clearest.items()},
        )

    def shrink(self, order: ShrinkOrder) -> SentFinding | None:
        """A smaller case of the finding; None where none convinces."""
        pool = self._ready(order.terms.limits)
        order.terms.check(pool)
        clearer = None if order.clearer is None else order.clearer.finding()
        smaller = shrunk(pool, order.finding.finding(), clearer, order.judge, seconds=order.seconds)
        return None if smaller is None else SentFinding.of(smaller)

    def hurry(self) -> None:
        """Ends the unit at hand after its next plan, with what it has seen."""
        self._hurried = True

    def close(self) -> None:
        """Ends the frameworks' workers."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _ready(self, limits: Limits) -> Pool:
        """The pool with these limits, for the next piece of work."""
        self._hurried = False
        if self._pool is not None and self._pool.limits != limits:
            self.close()
        if self._pool is None:
            self._pool = Pool(limits)
        return self._pool


_HERE = Shard()
"""That of this process: workers that have imported a framework are worth keeping."""


def begin(held: bool) -> None:
    """In a new process: an interrupt (perhaps `held` till now) ends the work at hand, and it dies with its parent."""
    signal.signal(signal.SIGINT, lambda *_: _HERE.hurry())
    if held:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), name="bnfuzz-parent", daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def describe(backends: tuple[str, ...], limits: Limits) -> dict[str, Described]:
    """`Shard.describe` of this process."""
    return _HERE.describe(backends, limits)


def search(order: SearchOrder) -> Searched:
    """`Shard.search` of this process."""
    return _HERE.search(order)


def shrink(order: ShrinkOrder) -> SentFinding | None:
    """`Shard.shrink` of this process."""
    return _HERE.shrink(order)
