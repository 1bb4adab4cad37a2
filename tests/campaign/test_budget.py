"""Budgets, told by a clock of our own."""

from __future__ import annotations

from bnfuzz.campaign.budget import Budget
from bnfuzz.campaign.settings import Settings


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time() -> None:
    clock = Clock()
    budget = Budget(Settings(backends=("numpy",), minutes=2.0), clock)
    clock.now += 119.9
    assert not budget.spent(judged=10**9)
    clock.now += 0.1
    assert budget.spent(judged=0)
    assert budget.elapsed == 120.0


def test_time_is_set_aside_for_what_waits_to_be_shrunk() -> None:
    clock = Clock()
    budget = Budget(Settings(backends=("numpy",), minutes=1.0, shrink_share=0.2), clock)
    clock.now += 47.9
    assert not budget.spent(judged=0, waiting=1000)
    clock.now += 0.2
    assert budget.spent(judged=0, waiting=1000)
    assert not budget.spent(judged=0, waiting=1)


def test_cases() -> None:
    clock = Clock()
    budget = Budget(Settings(backends=("numpy",), cases=500), clock)
    clock.now += 10**6
    assert not budget.spent(judged=499)
    assert budget.spent(judged=500)


def test_shrinking_never_takes_more_than_its_share() -> None:
    clock = Clock()
    budget = Budget(Settings(backends=("numpy",), minutes=1.0, shrink_share=0.2), clock)
    for _ in range(20):
        seconds = budget.shrink_allowance()
        clock.now += seconds
        budget.shrinking(seconds)
    assert 0 < budget.shrink_seconds <= 12.0


def test_shrinking_ends_with_the_campaign() -> None:
    clock = Clock()
    budget = Budget(Settings(backends=("numpy",), minutes=1.0), clock)
    clock.now += 59.5
    assert budget.shrink_allowance() <= 0.5
    clock.now += 1.0
    assert budget.shrink_allowance() == 0.0
