"""The side of a parallel campaign that works: what one process does when it is asked.

The workers of the frameworks are kept from one unit to the next, and belong to a thread of their own: they die with
the thread that made them, and a cluster's worker may call from any of its threads.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.discover import shrunk
from bnfuzz.campaign.frames import Described, Searched, SearchOrder, SentFinding, SentSighting, ShrinkOrder
from bnfuzz.campaign.scatter import Scatter
from bnfuzz.campaign.search import Search, empty_tally
from bnfuzz.campaign.sightings import Sightings

Done = TypeVar("Done")


class Shard:
    """The pool of this process and the thread that owns it; several callers take turns."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bnfuzz-shard")
        self._pool: Pool | None = None
        self.hurried = threading.Event()

    def do(self, limits: Limits, work: Callable[[Pool], Done]) -> Done:
        """Waits for its turn, then for the work, which gets the pool with these limits."""
        return self._thread.submit(self._do, limits, work).result()

    def close(self) -> None:
        """Ends the frameworks' workers as soon as the work at hand is done; does not wait."""
        self._thread.submit(self._discard)

    def _do(self, limits: Limits, work: Callable[[Pool], Done]) -> Done:
        self.hurried.clear()
        if self._pool is not None and self._pool.limits != limits:
            self._discard()
        if self._pool is None:
            self._pool = Pool(limits)
        return work(self._pool)

    def _discard(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


_HERE = Shard()
"""That of this process: workers that have imported a framework are worth keeping."""


def begin(blocked: bool) -> None:
    """In a new process of this machine: an interrupt ends the unit at hand, and the process dies with its parent."""
    signal.signal(signal.SIGINT, lambda *_: _HERE.hurried.set())
    if blocked:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    die_with_parent()


def describe(backends: tuple[str, ...], limits: Limits) -> dict[str, Described]:
    """The backends as they are here; brings their workers up. Raises as `Pool.describe` does."""

    def described(pool: Pool) -> dict[str, Described]:
        return {
            name: Described(
                conventions=pool.conventions(name),
                versions=pool.versions(name),
                version=pool.version(name),
                slow=pool.backend(name).slow,
            )
            for name in backends
        }

    return _HERE.do(limits, described)


def search(order: SearchOrder) -> Searched:
    """Searches one unit; ends early where the order or a hurry says so."""
    return _HERE.do(order.terms.limits, lambda pool: searched(order, pool, _HERE.hurried.is_set))


def searched(order: SearchOrder, pool: Pool, hurried: Callable[[], bool] = lambda: False) -> Searched:
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


def shrink(order: ShrinkOrder) -> SentFinding | None:
    """A smaller case of the finding; None where none convinces."""

    def smaller(pool: Pool) -> SentFinding | None:
        order.terms.check(pool)
        clearer = None if order.clearer is None else order.clearer.finding()
        found = shrunk(pool, order.finding.finding(), clearer, order.judge, seconds=order.seconds)
        return None if found is None else SentFinding.of(found)

    return _HERE.do(order.terms.limits, smaller)


def close(*_: Any) -> None:
    """Ends the frameworks' workers of this process."""
    _HERE.close()


def die_with_parent() -> None:
    """Ends this process when the one that started it has ended, however that happened."""
    import os
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, name="bnfuzz-parent", daemon=True).start()
