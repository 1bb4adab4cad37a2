from __future__ import annotations

import math
from collections import Counter

import pytest

from bnfuzz import formats
from bnfuzz.errors import UsageError
from bnfuzz.strategies import ValueFamily, value_families
from bnfuzz.strategies.value_recipes import limits
from bnfuzz.strategies.values import VALUE_WEIGHTS


@pytest.mark.parametrize("format_name", formats.FORMATS)
def test_all_exponents_suit_the_format(assert_all_examples, format_name):
    def check(family):
        bounds = limits(family.name, formats.named(format_name))
        return bounds.scale[0] <= family.scale <= bounds.scale[1] and bounds.depth[0] <= family.depth <= bounds.depth[1]

    assert_all_examples(value_families(data_format=format_name), check, 150)


@pytest.mark.parametrize("name", VALUE_WEIGHTS)
def test_can_produce_every_family(find_any, name):
    find_any(value_families(allow_nonfinite=True), lambda family: family.name == name)


def test_few_channels_are_at_the_ends_of_the_range(draw_many):
    counts = Counter(family.name for family in draw_many(value_families(), 600))
    assert counts["near_overflow"] + counts["subnormal"] <= 0.15 * counts.total()
    assert counts["nonfinite"] == 0


def test_no_constant_channels_when_not_allowed(assert_all_examples):
    assert_all_examples(value_families(allow_constant=False), lambda family: "constant" not in family.name)


def test_spreads_about_the_root_of_eps_occur(find_any):
    root = round(math.log2(1e-12) / 2)
    find_any(value_families(eps=1e-12), lambda family: family.name == "noise" and abs(family.scale - root) <= 1)


def test_shrinks(minimal):
    assert minimal(value_families()) == ValueFamily("noise", 0, 0)
    assert minimal(value_families(), lambda family: family.depth >= 12) == ValueFamily("offset", 0, 12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"data_format": "float8"}, "format 'float8' is unknown", id="format"),
        pytest.param({"eps": -1.0}, "eps=-1.0 must not be negative", id="eps"),
        pytest.param({"eps": math.nan}, "eps=nan must not be negative", id="eps nan"),
        pytest.param({"names": ("nois",)}, "'nois', which is not known", id="name"),
        pytest.param({"names": ("nonfinite",)}, "set allow_nonfinite=True", id="nonfinite"),
        pytest.param({"names": ("constant",), "allow_constant": False}, "is empty", id="nothing left"),
    ],
)
def test_arguments_are_checked_when_drawn_from(minimal, arguments, message):
    strategy = value_families(**arguments)
    with pytest.raises(UsageError, match=message):
        minimal(strategy)
