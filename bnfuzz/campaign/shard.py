"""The side of a parallel campaign that works: what a process does when it is asked.

The frameworks' workers are kept from one piece of work to the next.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from typing import Any

from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.discover import shrunk
from bnfuzz.campaign.frames import Described, Searched, SearchOrder, SentFinding, SentSighting, ShrinkOrder
from bnfuzz.campaign.scatter import Scatter
from bnfuzz.campaign.search import Search, empty_tally
from bnfuzz.campaign.sightings import Sightings


class Shard:
    """The pool of this process, and whether the work at hand is to end soon."""

    def __init__(self) -> None:
        self._pool: Pool | None = None
        self.hurried = False

    def pool(self, limits: Limits) -> Pool:
        """For the next piece of work: the pool with these limits."""
        self.hurried = False
        if self._pool is not None and self._pool.limits != limits:
            self._pool.close()
            self._pool = None
        if self._pool is None:
            self._pool = Pool(limits)
        return self._pool

    def hurry(self, *_: Any) -> None:
        self.hurried = True


_HERE = Shard()
"""That of this process: workers that have imported a framework are worth keeping."""


def begin(held: bool) -> None:
    """In a new process: an interrupt (perhaps `held` till now) ends the work at hand, and it dies with its parent."""
    signal.signal(signal.SIGINT, _HERE.hurry)
    if held:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), name="bnfuzz-parent", daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def describe(backends: tuple[str, ...], limits: Limits) -> dict[str, Described]:
    """The backends as they are here; brings their workers up. Raises as `Pool.describe` does."""

    pool = _HERE.pool(limits)
    return {
        name: Described(
            conventions=pool.conventions(name),
            versions=pool.versions(name),
            version=pool.version(name),
            slow=pool.backend(name).slow,
        )
        for name in backends
    }


def search(order: SearchOrder) -> Searched:
    """Searches one unit; ends early where the order or an interrupt says so."""
    return searched(order, _HERE.pool(order.terms.limits), hurried=lambda: _HERE.hurried)


def shrink(order: ShrinkOrder) -> SentFinding | None:
    """A smaller case of the finding; None where none convinces."""
    pool = _HERE.pool(order.terms.limits)
    order.terms.check(pool)
    clearer = None if order.clearer is None else order.clearer.finding()
    found = shrunk(pool, order.finding.finding(), clearer, order.judge, seconds=order.seconds)
    return None if found is None else SentFinding.of(found)


def searched(order: SearchOrder, pool: Pool, *, hurried: Callable[[], bool]) -> Searched:
    """`search` on a pool of the caller's."""
    terms, started = order.terms, time.monotonic()
    terms.check(pool)
    sent: list[SentSighting] = []
    sightings = Sightings(
        pool, order.settled, origin=terms.asked.origin, found=lambda seen: sent.append(SentSighting.of(seen))
    )

    def over() -> bool:
        return hurried() or (order.seconds is not None and time.monotonic() - started >= order.seconds)

    tally, scatter = empty_tally(terms.asked, pool, hung=order.hung), Scatter()
    Search(terms.asked, pool, tally=tally, scatter=scatter, cases=order.cases, over=over).run(order.unit, sightings)
    return Searched(
        tally=tally,
        scatter=scatter,
        sightings=tuple(sent),
        counts=dict(sightings.counts),
        backends=sightings.backends,
        outputs=sightings.outputs,
        clearest={identity: SentFinding.of(finding) for identity, finding in sightings.clearest.items()},
    )
