"""What a campaign tries depends on its seed, its filters and the round, and on nothing else."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from bnfuzz.campaign.draw import each_plan, vocabulary, vocabulary_size
from bnfuzz.campaign.settings import Settings
from bnfuzz.case import Mode
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS
from bnfuzz.strategies import Plan

TRIPLES = ALL_FORMATS + MIXED_FORMATS


def drawn(asked: Settings, round_number: int) -> list[Plan]:
    plans: list[Plan] = []
    each_plan(asked, vocabulary(asked, TRIPLES, round_number), round_number, plans.append)
    return plans


# Not with @given: drawing for a campaign is itself a run of Hypothesis.
SEEDS = [0, 1, 7, 12345, 2**32]


@pytest.mark.parametrize("round_number", [0, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_same_seed_same_plans_and_inputs(seed: int, round_number: int) -> None:
    asked = Settings(backends=("numpy",), minutes=1.0, seed=seed)
    first, second = drawn(asked, round_number), drawn(asked, round_number)
    assert first == second
    for one, other in zip(first[:3], second[:3], strict=True):
        for (name, array), (_, again) in zip(one.expand(4).items(), other.expand(4).items(), strict=True):
            assert array.tobytes() == again.tobytes(), name


def test_other_seeds_and_rounds_differ() -> None:
    asked = Settings(backends=("numpy",), minutes=1.0, seed=1)
    other = Settings(backends=("numpy",), minutes=1.0, seed=2)
    assert drawn(asked, 0) != drawn(other, 0)
    assert vocabulary(asked, TRIPLES, 0) != vocabulary(asked, TRIPLES, 1)


@pytest.mark.parametrize("round_number", range(4))
@pytest.mark.parametrize("seed", SEEDS)
def test_a_vocabulary_is_small_and_sorted_smallest_first(seed: int, round_number: int) -> None:
    asked = Settings(backends=("numpy",), minutes=1.0, seed=seed)
    specs = vocabulary(asked, TRIPLES, round_number)
    sizes = [spec.size * len(spec.steps) for spec in specs]
    assert 0 < len(specs) <= vocabulary_size(round_number)
    assert len(set(specs)) == len(specs)
    assert sizes == sorted(sizes)


def test_filters_hold() -> None:
    asked = Settings(backends=("numpy",), minutes=1.0, formats=("float16",), modes=("inference",), families=("offset",))
    for plan in drawn(asked, 1):
        assert plan.spec.data_format == "float16"
        assert plan.spec.steps == ("inference",)
        assert {family.name for family in plan.families} == {"offset"}


def test_formats_that_no_backend_accepts_are_not_drawn() -> None:
    asked = Settings(backends=("numpy",), minutes=1.0)
    specs = vocabulary(asked, (("float64", "float64", "float64"),), 2)
    assert {spec.formats for spec in specs} == {("float64", "float64", "float64")}


def test_plans_of_a_round_reach_every_spec() -> None:
    asked = Settings(backends=("numpy",), minutes=1.0, seed=3)
    assert {plan.spec for plan in drawn(asked, 0)} == set(vocabulary(asked, TRIPLES, 0))


def test_an_aimed_round_is_one_long_draw() -> None:
    asked = Settings(backends=("numpy",), minutes=1.0, seed=3)
    plans = drawn(asked, 3)
    assert len(plans) > 300
    assert len({plan.spec for plan in plans}) > 10
    assert np.unique([plan.seed for plan in plans]).size > 50


def test_most_are_batch_norms_of_one_step_and_the_rest_is_drawn_too() -> None:
    asked = Settings(backends=("numpy",), minutes=1.0, seed=1)
    specs = [spec for number in range(8) for spec in vocabulary(asked, TRIPLES, number)]
    empty = sum(0 in spec.shape for spec in specs)
    several = sum(len(spec.steps) > 1 for spec in specs)
    assert 0 < empty < 0.05 * len(specs)
    assert 0.05 * len(specs) < several < 0.15 * len(specs)
    assert any(set(spec.steps) == {"training", "inference"} for spec in specs)


@pytest.mark.parametrize(("modes", "several"), [(("training",), True), (("inference",), False)])
def test_a_sequence_has_the_modes_that_are_asked_for(modes: tuple[Mode, ...], several: bool) -> None:
    asked = Settings(backends=("numpy",), minutes=1.0, seed=1, modes=modes)
    specs = [spec for number in range(6) for spec in vocabulary(asked, TRIPLES, number)]
    assert all(set(spec.steps) == set(modes) for spec in specs)
    assert any(len(spec.steps) > 1 for spec in specs) == several


SEQUENCE = """
import hashlib
from bnfuzz.campaign.draw import each_plan, vocabulary
from bnfuzz.campaign.settings import Settings
from bnfuzz.strategies.formats import TRIPLE_WEIGHTS

asked, digest = Settings(backends=("numpy",), seed=5, cases=1), hashlib.sha256()
for number in range(3):
    specs = vocabulary(asked, tuple(TRIPLE_WEIGHTS), number)
    each_plan(asked, specs[:2], number, lambda plan: digest.update(repr(plan).encode()))
    digest.update(repr(specs).encode())
print(digest.hexdigest())
"""


def test_the_sequence_does_not_depend_on_what_is_loaded() -> None:
    """Hypothesis draws constants of loaded modules: a command and a job on a cluster load different ones at first."""

    def digest(*modules: str) -> str:
        source = "".join(f"import {module}\n" for module in modules) + SEQUENCE
        return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout

    assert digest() == digest("bnfuzz.cli.fuzz", "bnfuzz.diagnosis.explain") == digest("bnfuzz.campaign.parallel.host")
