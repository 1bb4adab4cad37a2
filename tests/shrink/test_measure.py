from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.case import Case, batch_norm_spec
from bnfuzz.formats import FORMATS
from bnfuzz.shrink.measure import array_cost, measure, peculiarity, shortest, value_cost

from .planted import drawn_case


@pytest.mark.parametrize(
    ("simpler", "other"),
    [
        (0.0, 1.0),
        (1.0, -1.0),
        (1.0, 10.0),
        (10000.0, 10001.0),
        (10001.0, 9999.581),
        (0.5, 0.125),
        (0.125, 0.1),
        (0.1, 0.12345),
        (1e30, 1.2345e30),
        (1e30, math.inf),
        (math.inf, math.nan),
        (3.0, 3.0000002),
    ],
)
def test_what_reads_more_easily_costs_less(simpler: float, other: float) -> None:
    other = formats.round_to(other, "float32")
    assert value_cost("x", formats.round_to(simpler, "float32"), "float32") < value_cost("x", other, "float32")


@pytest.mark.parametrize(
    ("name", "plain"), [("x", 0.0), ("gamma", 1.0), ("beta", 0.0), ("running_var", 1.0), ("cotangent", 1.0)]
)
def test_the_plain_value_costs_nothing(name: str, plain: float) -> None:
    assert value_cost(name, plain, "float32") == 0
    assert value_cost(name, 1.0 - plain, "float32") > 0


@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(sorted(FORMATS)))
def test_every_value_of_every_format_has_a_cost(value: float, name: str) -> None:
    with np.errstate(over="ignore"):
        stored = formats.round_to(value, name)
    assert value_cost("x", stored, name) >= 0
    assert (value_cost("x", stored, name) == 0) == (stored == 0)


def test_distinct_values_count_once() -> None:
    few = np.array([3.5, 3.5, 7.25], np.float32)
    assert array_cost("x", few) == array_cost("x", few[1:])
    assert array_cost("x", few) > array_cost("x", few[:1])
    assert array_cost("x", np.array([np.nan, np.nan], np.float32)) == array_cost("x", np.array([np.nan], np.float32))


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(sorted(FORMATS)))
def test_the_shortest_decimal_reads_back(value: float, name: str) -> None:
    with np.errstate(over="ignore"):
        stored = formats.round_to(value, name)
    if math.isfinite(stored):
        assert formats.round_to(float(shortest(stored, name)), name) == stored


def test_the_shortest_decimal_is_short() -> None:
    assert float(shortest(float(np.float32(0.1)), "float32")) == 0.1
    assert float(shortest(formats.round_to(0.3, "bfloat16"), "bfloat16")) == 0.3


class TestOrder:
    case = drawn_case(batch_norm_spec((4, 3, 2)))

    def test_elements_come_before_everything_else_about_the_spec(self) -> None:
        smaller = drawn_case(batch_norm_spec((4, 3), -1, eps=1e-3, layout_x="flipped"), offset=1e6)
        assert measure(smaller) < measure(self.case)

    def test_the_spec_comes_before_the_values(self) -> None:
        plain = drawn_case(replace(self.case.spec, cotangent="sum"), offset=12345.678)
        assert measure(plain) < measure(self.case)

    def test_the_plainest_spec_has_no_peculiarity(self) -> None:
        bare = batch_norm_spec((4, 3), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
        assert peculiarity(bare) == 0
        assert peculiarity(replace(bare, eps=None, momentum=None)) == 0

    @pytest.mark.parametrize(
        "odd",
        [
            {"eps": 1e-3},
            {"momentum": 0.5},
            {"has_gamma": True},
            {"cotangent": "mean_square"},
            {"layout_x": "sliced"},
            {"layout_cotangent": "offset"},
            {"parameter_axes": (-1,)},
        ],
        ids=lambda odd: next(iter(odd)),
    )
    def test_each_peculiarity_counts(self, odd: dict[str, object]) -> None:
        bare = batch_norm_spec((4, 3), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
        assert peculiarity(replace(bare, **odd)) > 0  # type: ignore[arg-type]  # a table of fields

    def test_equal_cases_measure_the_same(self) -> None:
        assert measure(self.case) == measure(Case(spec=self.case.spec, inputs=self.case.inputs))
