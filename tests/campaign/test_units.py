"""The sequence of units is that of the rounds, whole and in order, and knows nothing of jobs."""

from __future__ import annotations

from itertools import takewhile

import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.draw import each_plan, vocabulary
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.units import Unit, accepted_formats, check_outputs, units
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError
from bnfuzz.strategies import Plan

ASKED = Settings(backends=("numpy",), minutes=1.0, seed=5)
CONVENTIONS = (Pool().conventions("numpy"),)


def of_rounds(last: int) -> list[Unit]:
    return list(takewhile(lambda unit: unit.round <= last, units(ASKED, CONVENTIONS)))


def test_units_of_a_round_are_its_vocabulary_in_order() -> None:
    found = of_rounds(3)
    assert [unit.number for unit in found] == list(range(len(found)))
    for number in range(4):
        parts = [unit for unit in found if unit.round == number]
        whole = tuple(spec for unit in parts for spec in unit.specs)
        drawn = vocabulary(ASKED, accepted_formats(ASKED, CONVENTIONS), number)
        assert whole == tuple(spec for spec in drawn if CONVENTIONS[0].unsupported(spec) is None)
        assert [unit.first for unit in parts] == [whole.index(unit.specs[0]) for unit in parts]


def test_a_round_cut_into_units_draws_the_plans_of_the_whole() -> None:
    parts = [unit for unit in of_rounds(1) if unit.round == 1]
    whole = tuple(spec for unit in parts for spec in unit.specs)
    together: list[Plan] = []
    each_plan(ASKED, whole, 1, together.append)
    apart: list[Plan] = []
    for unit in parts:
        each_plan(ASKED, unit.specs, unit.round, apart.append, first=unit.first)
    assert apart == together


def test_an_aimed_round_is_one_unit() -> None:
    (unit,) = [unit for unit in of_rounds(3) if unit.round == 3]
    assert unit.aimed
    assert len(unit.specs) > 10


def test_a_unit_names_its_place() -> None:
    second = of_rounds(0)[1]
    assert str(second) == f"unit 1 (round 0, Specs {second.first + 1} to {second.first + len(second.specs)})"


def test_formats_that_nobody_accepts_are_refused() -> None:
    stated = Conventions(source="a test", formats=(("float32", "float32", "float32"),))
    asked = Settings(backends=("numpy",), minutes=1.0, formats=("bfloat16",))
    with pytest.raises(UsageError, match="they accept float32"):
        units(asked, (stated,))


def test_outputs_that_nobody_offers_are_refused() -> None:
    asked = Settings(backends=("numpy",), minutes=1.0, outputs=("dx",))
    with pytest.raises(UsageError, match="they offer y"):
        check_outputs(asked, (Conventions(source="a test", outputs=("y",)),))
