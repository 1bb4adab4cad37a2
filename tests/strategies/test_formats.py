from __future__ import annotations

import pytest

from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS
from bnfuzz.errors import UsageError
from bnfuzz.formats import FORMATS
from bnfuzz.strategies import format_names, format_triples


def test_can_produce_every_triple(draw_many):
    assert set(draw_many(format_triples(), 300)) == {*ALL_FORMATS, *MIXED_FORMATS}


def test_can_produce_every_name(draw_many):
    assert set(draw_many(format_names(), 100)) == set(FORMATS)


def test_only_what_is_allowed(assert_all_examples):
    assert_all_examples(format_triples(allowed=MIXED_FORMATS), lambda triple: triple in MIXED_FORMATS, 30)
    assert_all_examples(format_names(allowed=("bfloat16",)), lambda name: name == "bfloat16", 10)


def test_shrinks_to_float32(minimal):
    assert minimal(format_triples()) == ("float32", "float32", "float32")
    assert minimal(format_names()) == "float32"


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        pytest.param(format_triples(allowed=()), "allowed=.* is empty", id="empty"),
        pytest.param(format_triples(allowed="float32"), "must be a collection", id="string"),
        pytest.param(format_names(allowed=("float8",)), "'float8', which is not known", id="unknown"),
    ],
)
def test_arguments_are_checked_when_drawn_from(minimal, strategy, message):
    with pytest.raises(UsageError, match=message):
        minimal(strategy)
