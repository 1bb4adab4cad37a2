"""How ordinary an input is: each rule at and beyond its limits."""

from __future__ import annotations

import numpy as np
import pytest

from bnfuzz.case import Case
from bnfuzz.conventions import ALL_FORMATS, Conventions
from bnfuzz.numerics.reference import reference
from bnfuzz.report.issue.plausibility import COTANGENT, GRADES, Plausibility, offset_rule, plausibility
from tests.report.faulty import case_of

STATED = Conventions(source="a test", formats=ALL_FORMATS)


def of(case: Case) -> Plausibility:
    return plausibility(case, reference(case.spec, case.inputs, STATED))


def grade_of(case: Case, name: str) -> str:
    return next(rule.grade for rule in of(case).rules if rule.name == name)


@pytest.mark.parametrize(("largest", "grade"), [(10.0, 0), (11.0, 1), (65504.0, 1), (65536.0, 2), (1e30, 2)])
def test_magnitude(largest: float, grade: int) -> None:
    assert grade_of(case_of([[largest], [-largest], [0.0]]), "largest |x|") == GRADES[grade]


@pytest.mark.parametrize(("mean", "grade"), [(9.0, 0), (11.0, 1), (900.0, 1), (1100.0, 2)])
def test_offset_in_standard_deviations(mean: float, grade: int) -> None:
    spread_one = [[mean - 1], [mean + 1]]
    assert grade_of(case_of(spread_one), "largest |mean|/σ of a channel") == GRADES[grade]
    assert offset_rule(mean).grade == GRADES[grade]


@pytest.mark.parametrize(("spread", "grade"), [(2e-3, 0), (5e-4, 1), (5e-7, 2)])
def test_spread(spread: float, grade: int) -> None:
    assert grade_of(case_of([[-spread], [spread]]), "smallest σ of a channel") == GRADES[grade]


def test_a_constant_channel_occurs_and_has_no_offset() -> None:
    found = of(case_of([[3.0], [3.0], [3.0]]))
    assert found.grade == "would occur"
    assert "constant channels" in {rule.name for rule in found.rules}
    assert "largest |mean|/σ of a channel" not in {rule.name for rule in found.rules}


def test_the_worst_rule_decides_and_is_named() -> None:
    assert of(case_of([[1.0], [-1.0]])).sentence == "would occur: every number below is an ordinary one"
    found = of(case_of([[1e6], [1e6 + 1]]))
    assert found.grade == "artificial"
    assert found.sentence.startswith("artificial: largest |x| 1e+06 (ordinary to 10, unusual to 65504); ")


def test_what_is_never_meant() -> None:
    assert of(case_of([[np.nan], [1.0]])).grade == "artificial"
    assert of(case_of([[1.0]])).grade == "unusual"


def test_a_loss_scale_is_no_artifice() -> None:
    assert COTANGENT[1] == 65536
