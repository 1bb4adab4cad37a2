"""What a night is asked to do, and how its time is shared out."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pytest

from bnfuzz.errors import UsageError
from bnfuzz.nightly.asked import SEARCH_END, Asked, Schedule, seed_of_night


def asked(**changes: Any) -> Asked:
    return Asked(**({"output": Path("n"), "corpus": Path("c"), "minutes": 10.0} | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"minutes": None}, "either minutes or cases"),
        ({"cases": 5}, "either minutes or cases"),
        ({"minutes": 0.0}, "minutes=0.0"),
        ({"minutes": math.nan}, "minutes=nan"),
        ({"minutes": None, "cases": 0}, "cases=0"),
        ({"seed": -1}, "seed=-1"),
        ({"jobs": 0}, "jobs=0"),
        ({"jobs": 2, "dask": "tcp://localhost:1"}, "exclude each other"),
    ],
)
def test_misuse_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        asked(**changes)


def test_nights_have_different_seeds() -> None:
    day = datetime.date(2026, 11, 30)
    assert seed_of_night(day, 12) == 20261130012
    seeds = {seed_of_night(day + datetime.timedelta(days=d), n) for d in range(40) for n in range(40)}
    assert len(seeds) == 1600


def test_the_parts_end_when_their_shares_are_used_up() -> None:
    now = [100.0]
    schedule = Schedule(asked(minutes=10.0), clock=lambda: now[0])
    over = schedule.over(0.5)
    assert not over()
    minutes = schedule.search_minutes()
    assert minutes is not None
    assert math.isclose(minutes, 10.0 * SEARCH_END)
    now[0] += 300.0
    assert over()
    assert schedule.part(0.4) == 0.0
    assert schedule.part(0.6) == pytest.approx(60.0)
    now[0] += 3000.0
    late = schedule.search_minutes()
    assert late is not None
    assert 0 < late < 0.1


def test_a_number_of_cases_sets_no_time() -> None:
    schedule = Schedule(asked(minutes=None, cases=5))
    assert schedule.search_minutes() is None
    assert not schedule.over(0.01)()
    assert 0 < schedule.part(0.5) < math.inf
