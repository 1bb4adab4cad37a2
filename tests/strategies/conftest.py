"""Helpers for tests of strategies, as fixtures: about all examples, some example, the simplest one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.strategies import SearchStrategy

SETTINGS = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="session")
def assert_all_examples() -> Callable[..., None]:
    """(strategy, check, examples=100): `check(example)` returns or raises nothing false for every example."""

    def run(strategy: SearchStrategy[Any], check: Callable[[Any], Any], examples: int = 100) -> None:
        @settings(SETTINGS, max_examples=examples, phases=[Phase.generate])
        @given(strategy)
        def all_hold(example: Any) -> None:
            held = check(example)
            assert held is None or held, f"does not hold for {example!r}"

        all_hold()

    return run


@pytest.fixture(scope="session")
def find_any() -> Callable[..., Any]:
    """(strategy, condition, examples=1000): some example with the condition; the test fails where none is found."""

    def run(strategy: SearchStrategy[Any], condition: Callable[[Any], bool], examples: int = 1000) -> Any:
        return find(strategy, condition, settings=settings(SETTINGS, max_examples=examples, phases=[Phase.generate]))

    return run


@pytest.fixture(scope="session")
def minimal() -> Callable[..., Any]:
    """(strategy, condition=always, examples=1000): the simplest example with the condition."""

    def run(
        strategy: SearchStrategy[Any], condition: Callable[[Any], bool] = lambda _: True, examples: int = 1000
    ) -> Any:
        return find(strategy, condition, settings=settings(SETTINGS, max_examples=examples))

    return run


@pytest.fixture(scope="session")
def draw_many() -> Callable[..., list[Any]]:
    """(strategy, examples=200): a list of examples, for questions about shares."""

    def run(strategy: SearchStrategy[Any], examples: int = 200) -> list[Any]:
        drawn: list[Any] = []

        @settings(SETTINGS, max_examples=examples, phases=[Phase.generate])
        @given(strategy)
        def collect(example: Any) -> None:
            drawn.append(example)

        collect()
        return drawn

    return run


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(20240607))
