"""What a campaign tries, in an order that only the seed and the round decide.

A campaign works in rounds. Each has a vocabulary of Specs, drawn by the strategies and sorted smallest first,
and several plans per Spec: a new Spec costs a compiling backend 100 to 300 ms, a repeated one microseconds. In
every fourth round all Specs share one long draw of plans instead, so that `hypothesis.target`, which needs some
hundreds of plans, can steer: it serves long runs.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import pkgutil
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

import bnfuzz
from bnfuzz.campaign.settings import Settings
from bnfuzz.case import Spec
from bnfuzz.conventions import FormatTriple
from bnfuzz.strategies import plans, specs
from bnfuzz.strategies.empties import empty_specs
from bnfuzz.strategies.formats import TRIPLE_WEIGHTS
from bnfuzz.strategies.plan import Plan
from bnfuzz.strategies.sequences import sequences

FIRST_VOCABULARY = 8
LARGEST_VOCABULARY = 48
PLANS_PER_SPEC = 6

AIMED_EVERY = 4
AIMED_PLANS = 600
"""Hypothesis begins to follow `target` after some two hundred examples."""

SEQUENCES = 1 / 16
EMPTIES = 1 / 32
"""Shares of the Specs, the one rounded up and the other down: a sequence costs as much as its steps, and what a step
shows alone is counted there; an empty array says nothing but that it is accepted."""

RARE_SIZE = 128
"""Elements of these: a fault of the state, or of no elements, needs no more."""

SPARE_DRAWS = 4
"""Specs drawn per Spec kept: the first examples of a draw are the simplest ones, and alike."""


def vocabulary_size(round_number: int) -> int:
    """Specs of a round: 8, 16, 32, then 48."""
    return int(min(FIRST_VOCABULARY << round_number, LARGEST_VOCABULARY))


def vocabulary(asked: Settings, triples: Collection[FormatTriple], round_number: int) -> tuple[Spec, ...]:
    """The round's Specs, smallest first. `triples`: formats that some backend accepts."""
    wanted = tuple(
        triple for triple in TRIPLE_WEIGHTS if triple in triples and (not asked.formats or triple[0] in asked.formats)
    )
    modes = asked.modes or None
    usual = specs(modes=modes, formats=wanted, allow_empty=asked.empty)
    small = specs(modes=modes, formats=wanted, max_size=RARE_SIZE, large_size=None)
    size = vocabulary_size(round_number)
    several = math.ceil(size * SEQUENCES) if "training" in (modes or ("training",)) else 0
    empty = math.floor(size * EMPTIES)
    kept = (
        *_drawn(asked, round_number, usual, "specs", size - several - empty),
        *_drawn(asked, round_number, sequences(small, modes=modes), "sequences", several),
        *_drawn(asked, round_number, empty_specs(small), "empty arrays", empty),
    )
    return tuple(sorted(dict.fromkeys(kept), key=lambda spec: spec.size * len(spec.steps)))


def _drawn(
    asked: Settings, round_number: int, strategy: st.SearchStrategy[Spec], purpose: str, count: int
) -> tuple[Spec, ...]:
    """So many different Specs, or nearly: the last ones of more draws."""
    found: dict[Spec, None] = {}
    if count:
        each_example(strategy, seed_of(asked.seed, round_number, purpose), SPARE_DRAWS * count, found.setdefault)
    return tuple(found)[-count:] if count else ()


def is_aimed(round_number: int) -> bool:
    """Whether the round is one long draw that follows `target`."""
    return round_number % AIMED_EVERY == AIMED_EVERY - 1


def each_plan(
    asked: Settings, vocabulary: tuple[Spec, ...], round_number: int, body: Callable[[Plan], None], *, first: int = 0
) -> None:
    """Calls `body` with the plans of Specs of a round, the first of them at position `first` of its vocabulary.

    The body may call `hypothesis.target`; it must not raise for findings.
    """

    def drawn(choice: tuple[Spec, ...], purpose: str, count: int) -> None:
        strategy = plans(choice, values=asked.families or None, allow_nonfinite=asked.nonfinite)
        each_example(strategy, seed_of(asked.seed, round_number, purpose), count, body)

    if is_aimed(round_number):
        drawn(vocabulary, "aimed", AIMED_PLANS)
        return
    for position, spec in enumerate(vocabulary, start=first):
        drawn((spec,), f"plans of {position}", PLANS_PER_SPEC)


def seed_of(seed: int, round_number: int, purpose: str) -> int:
    digest = hashlib.sha256(f"{seed}/{round_number}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


@cache
def _load_package() -> None:
    """Imports every module of this package.

    Now and then Hypothesis draws a constant that it has read in the modules which are loaded, those in site-packages
    apart. A command and the job of a cluster import different ones: with all of them loaded, one seed is one sequence.
    """
    for module in pkgutil.walk_packages(bnfuzz.__path__, "bnfuzz."):
        if not module.name.endswith("__main__"):
            # What needs an extra that is not installed can be imported nowhere here.
            with suppress(ImportError):
                importlib.import_module(module.name)


def each_example(strategy: st.SearchStrategy[Any], seed: int, count: int, body: Callable[[Any], Any]) -> None:
    """Hypothesis as a source of examples: no shrinking, no database, no deadline, one seed."""
    _load_package()
    raised: list[Exception] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        phases=(Phase.generate, Phase.target),
        database=None,
        deadline=None,
        derandomize=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(example: Any) -> None:
        if raised:
            return
        try:
            body(example)
        except Exception as error:
            raised.append(error)

    run()
    # Hypothesis would call the body again to see whether it raises again: a full disk is no property of the example.
    if raised:
        raise raised[0]
