"""When a campaign ends: after so much time, or so many judged trials. Shrinking has a share of it."""

from __future__ import annotations

from collections.abc import Callable

from bnfuzz.campaign.settings import Settings

UNLIMITED_SHRINK_SECONDS = 60.0
"""What shrinking may take in all where the budget is a number of cases."""

ONE_SHRINK_SECONDS = 2.5
"""What is set aside at the end of a budget of time for each finding that waits to be shrunk."""

FAIR_SHARE = 2.0
"""A finding may take this many times its even share of what is left: most need less."""


class Budget:
    """Starts when the workers are ready; `clock` gives seconds (time.monotonic)."""

    def __init__(self, asked: Settings, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock()
        self._cases = asked.cases
        self.seconds = None if asked.minutes is None else 60.0 * asked.minutes
        total = UNLIMITED_SHRINK_SECONDS if self.seconds is None else self.seconds
        self._shrink_left = asked.shrink_share * total
        self.shrink_seconds = 0.0

    @property
    def elapsed(self) -> float:
        return self._clock() - self._started

    def spent(self, judged: int, waiting: int = 0) -> bool:
        """Whether the search is over: `judged` trials are done, and `waiting` findings are still to be shrunk."""
        if self._cases is not None:
            return judged >= self._cases
        return self.search_seconds(waiting) <= 0

    def search_seconds(self, waiting: int = 0) -> float:
        """What is left of a budget of time for the search, while `waiting` findings are still to be shrunk."""
        assert self.seconds is not None
        return self.seconds - min(self._shrink_left, ONE_SHRINK_SECONDS * waiting) - self.elapsed

    def shrink_allowance(self, waiting: int = 1) -> float:
        """Seconds that the next of `waiting` findings may be shrunk for; 0 where the share is used up."""
        allowed = min(self._shrink_left, FAIR_SHARE * self._shrink_left / max(waiting, 1))
        if self.seconds is not None:
            allowed = min(allowed, self.seconds - self.elapsed)
        return max(allowed, 0.0)

    def shrinking(self, seconds: float) -> None:
        """Counts seconds as spent on findings."""
        self.shrink_seconds += seconds
        self._shrink_left -= seconds
