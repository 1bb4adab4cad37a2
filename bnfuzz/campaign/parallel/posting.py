"""Work given to a crew: what is lost with its worker is given out again, a bounded number of times."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from bnfuzz.campaign.parallel.crew import Crew

ATTEMPTS = 3
"""Workers that may be lost over one and the same piece of work."""


@dataclass(frozen=True, kw_only=True)
class Lost:
    """A piece of work that took its worker with it every time. `why` is one line."""

    why: str


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is to be done. `order` is made when it is given out, since the time that is left is a part of it."""

    key: int
    name: str
    function: Callable[[Any], Any]
    order: Callable[[], Any]


class Postings:
    """What a crew is working on. `collect` gives (work, its order, its result or Lost) as they come."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._flying: dict[Future[Any], tuple[Work, Any]] = {}
        self._again: list[Work] = []
        self._left: list[Future[Any]] = []
        self._losses: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._flying) + len(self._again)

    @property
    def room(self) -> int:
        """How much more the crew can be given."""
        self._left = [future for future in self._left if not future.done()]
        return self._crew.size - len(self) - len(self._left)

    @property
    def names(self) -> list[str]:
        """What has not come back."""
        return [work.name for work, _ in self._flying.values()] + [work.name for work in self._again]

    def post(self, work: Work) -> None:
        order = work.order()
        self._flying[self._crew.submit(work.function, order)] = (work, order)

    def collect(self, seconds: float) -> Iterator[tuple[Work, Any, Any]]:
        """What has come back within so many seconds; raises what was raised there."""
        again, self._again = self._again, []
        for work in again:
            self.post(work)
        if not self._flying:
            time.sleep(seconds)
        done, _ = wait(self._flying, timeout=seconds, return_when=FIRST_COMPLETED)
        # In the order in which it was given out, not in that of a set.
        for future in [future for future in self._flying if future in done]:
            work, order = self._flying.pop(future)
            error = None if future.cancelled() else future.exception()
            if not future.cancelled() and (error is None or not self._crew.was_lost(error)):
                yield work, order, future.result()
                continue
            self._losses[work.name] += 1
            if self._losses[work.name] < ATTEMPTS:
                self._again.append(work)
            else:
                why = f"{work.name}: {ATTEMPTS} workers were lost over it, the last with: {error or 'it was cancelled'}"
                yield work, order, Lost(why=" ".join(why.split()))

    def leave(self) -> None:
        """Forgets all that is on its way; the crew's places are taken until it ends."""
        for future in self._flying:
            future.cancel()
        self._left += self._flying
        self._flying.clear()
        self._again.clear()
