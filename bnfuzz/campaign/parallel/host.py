"""Inside a worker of a cluster: processes that search, one per thread that asks.

Not in the worker itself: Hypothesis wants Python's random numbers for itself, and a worker that computes without a
pause cannot answer its scheduler.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from typing import TypeVar

from bnfuzz.campaign.parallel.place import Place

Order = TypeVar("Order")
Result = TypeVar("Result")


class Host:
    """The places of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: list[Place] = []

    def do(self, function: Callable[..., Result], *arguments: object) -> Result:
        """The function's result, from a process that is kept for the next call."""
        # A cluster's workers are daemons, which may have no children lest they outlive them; these do not.
        multiprocessing.current_process().daemon = False
        with self._lock:
            place = next((place for place in self._places if place.free), None)
            if place is None:
                place = Place()
                self._places.append(place)
            future = place.submit(function, *arguments)
        result: Result = future.result()
        return result

    def hurry(self) -> None:
        with self._lock:
            for place in self._places:
                place.interrupt()

    def close(self) -> None:
        with self._lock:
            for place in self._places:
                place.close()
            self._places.clear()


_HERE = Host()
"""That of this process: tasks come one by one, and what they need is worth keeping."""


def do(function: Callable[..., Result], *arguments: object) -> Result:
    return _HERE.do(function, *arguments)


def hurry() -> None:
    """Asks for everything that is being done to end soon."""
    _HERE.hurry()


def close() -> None:
    """Ends the processes, whatever they are doing."""
    _HERE.close()
