"""What a night is asked to do, and how its time is shared out."""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bnfuzz.campaign.settings import check_budget
from bnfuzz.campaign.shards import check_jobs
from bnfuzz.errors import UsageError

AGAIN_END, REPLAY_END, SEARCH_END, SHRINK_END, ISSUES_END = 0.1, 0.35, 0.84, 0.9, 0.97
"""Shares of a budget of time at which the parts of a night end; what one does not need is the next one's."""

LEAST_SEARCH = 1.0
"""Seconds that the campaign has in any case."""

UNTIMED_PART = 60.0
"""What shrinking and the writing of issue texts may each take where the budget is a number of cases."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A budget (minutes, or judged trials of the campaign), and where things are.

    backends   as for a campaign; empty: every one that runs here
    seed       None: from the date and the number of the night, so that no two nights are alike
    new_only   report only what the stored state does not have, and leave the state as it is; the corpus still gains
               what is found, and the open findings that it lacks, without which they would be found anew
    jobs, dask   handed to the campaign
    """

    output: Path
    corpus: Path
    backends: tuple[str, ...] = ()
    minutes: float | None = None
    cases: int | None = None
    seed: int | None = None
    jobs: int = 1
    dask: str | None = None
    new_only: bool = False

    def __post_init__(self) -> None:
        check_budget(self.minutes, self.cases)
        if self.seed is not None and self.seed < 0:
            raise UsageError(f"seed={self.seed} must not be negative")
        check_jobs(self.jobs, self.dask)

    @property
    def budget(self) -> str:
        return f"{self.minutes:g} minutes" if self.minutes is not None else f"{self.cases:,} cases"


def seed_of_night(day: datetime.date, number: int) -> int:
    """20261130012 for night 12 on 30 November 2026."""
    return int(f"{day:%Y%m%d}{number % 1000:03d}")


class Schedule:
    """The parts of a night against the clock (seconds; time.monotonic)."""

    def __init__(self, asked: Asked, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._total = None if asked.minutes is None else 60.0 * asked.minutes

    @property
    def elapsed(self) -> float:
        return self._clock() - self._started

    def left(self, share: float) -> float:
        """Seconds until that share of the budget is used up; infinite where the budget is no time."""
        return math.inf if self._total is None else self._total * share - self.elapsed

    def over(self, share: float) -> Callable[[], bool]:
        """Asks whether that share of the budget is used up."""
        return lambda: self.left(share) <= 0

    def search_minutes(self) -> float | None:
        """What the campaign has; None where its budget is a number of cases."""
        return None if self._total is None else max(self.left(SEARCH_END), LEAST_SEARCH) / 60.0

    def part(self, share: float) -> float:
        """Seconds of a part after the campaign."""
        return UNTIMED_PART if self._total is None else max(self.left(share), 0.0)
