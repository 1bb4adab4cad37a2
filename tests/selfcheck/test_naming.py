"""Every planted fault goes by one signature per regime; two faults that do not reach each other go by two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.fault import Fault
from bnfuzz.selfcheck import tables
from bnfuzz.selfcheck.naming import Named, named

PLANS = 3


@pytest.fixture(scope="module")
def whole() -> tuple[Named, ...]:
    return named(tuple(CATALOGUE.values()), plans=PLANS, seed=2, jobs=1)


def test_every_fault_has_one_signature_per_regime(whole):
    assert [one.fault for one in whole] == list(CATALOGUE)
    assert {one.fault: one.most for one in whole if one.most > 1} == {}


def test_enough_was_seen_to_say_so(whole):
    """Most faults fail in some of so few plans, and of their regimes many would have several by the first output."""
    assert sum(one.most == 1 for one in whole) > 0.75 * len(CATALOGUE)
    assert sum(one.several for one in whole) > 5
    assert all(0 < one.plans <= PLANS for one in whole)


def test_it_is_told(whole):
    text = tables.naming_summary(whole)
    assert f"of {len(CATALOGUE)} faults" in text
    assert "at most 1 signature in each" in text


def both(one: Fault, other: Fault, *steps: str) -> Fault:
    """`one` with steps of `other` beside its own."""
    kernel = replace(one.kernel, **{step: getattr(other.kernel, step) for step in steps})
    return replace(one, name="both", kernel=kernel, needs={**one.needs, **other.needs})


@pytest.mark.parametrize(
    ("name", "beside", "step"), [("dx_sign", "rv_std", "running_var"), ("eps_missing", "rv_std", "running_var")]
)
def test_faults_that_do_not_reach_each_other_are_two(name, beside, step):
    """The running variance is wrong beside right statistics of the batch: no gradient, and no y, explains it."""
    (found,) = named([both(CATALOGUE[name], CATALOGUE[beside], step)], plans=25, seed=1, jobs=1)
    assert found.most == 2
