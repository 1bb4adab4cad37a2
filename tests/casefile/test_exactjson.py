"""Strict reading and readable writing of JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.casefile import exactjson
from bnfuzz.casefile.exactjson import PlaceError, below, parse, render
from bnfuzz.errors import printable

leaves = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=20)
trees = st.recursive(
    leaves | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)


@given(trees)
def test_what_is_written_reads_back(tree: object) -> None:
    text = render(tree)
    assert parse(text) == tree
    assert render(parse(text)) == text


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=60))
def test_long_lists_are_filled_lines(values: list[float]) -> None:
    text = render({"values": values})
    assert json.loads(text)["values"] == values
    assert all(len(line) <= exactjson.LINE for line in text.splitlines())


def test_negative_zero_keeps_its_sign_however_it_is_spelled() -> None:
    assert str(parse("[-0, -0.0, -0e5]")) == "[-0.0, -0.0, -0.0]"


def test_keys_are_sorted_and_small_things_stay_on_one_line() -> None:
    tree = {"b": {"z": [1, 2], "a": "x"}, "a": list(range(100))}
    lines = render(tree).splitlines()
    assert lines[0] == "{"
    assert lines[1] == '  "a": ['
    assert lines[-2] == '  "b": {"a": "x", "z": [1, 2]}'


REFUSED = {
    "empty": ("", "line 1 column 1", "one JSON object"),
    "cut short": ('{"a": [1, 2', "line 1 column 12", "one JSON object"),
    "two documents": ("{} {}", "line 1 column 4", "one JSON object"),
    "byte order mark": ("\ufeff{}", "line 1 column 1", "one JSON object"),
    "comment": ("{} // x", "line 1 column 4", "one JSON object"),
    "single quotes": ("{'a': 1}", "line 1 column 2", "one JSON object"),
    "NaN": ('{"a": [1, NaN]}', "$.a[1]", '"nan"'),
    "Infinity": ("[Infinity]", "$[0]", '"inf"'),
    "minus Infinity": ('{"a b": -Infinity}', "$['a b']", '"-inf"'),
    "overflowing number": ("[1e400]", "$[0]", '"inf"'),
    "huge integer": ("[" + "9" * 5000 + "]", "$[0]", "1e30"),
    "huge negative integer": ("[-" + "9" * 39 + "]", "$[0]", "1e30"),
    "endless fraction": ("[0." + "1" * 5000 + "]", "$[0]", "limit is 1100"),
    "key twice": ('{"a": {"k": 1, "k": 2}}', "$.a.k", "given twice"),
    "key three times": ('{"k": 1, "k": 2, "k": 3}', "$.k", "given twice"),
    "too deep": ("[" * 17 + "]" * 17, "$" + "[0]" * 16, "at most 16 levels"),
    "deep beyond the parser": ("[" * 400_000 + "]" * 400_000, "$", "at most 16 levels"),
    "deep objects": ('{"a":' * 100_000 + "1" + "}" * 100_000, "$", "at most 16 levels"),
    "too many items": ("[" + "1," * 1_000_001 + "1]", "$", "limit is 1000000"),
    "terminal escape": ('["\\u001b[31m"]', "$[0]", "control characters"),
    "half a surrogate pair": ('["\\ud800"]', "$[0]", "surrogate"),
    "bad key": ('{"\\u0007": 1}', "$ (a key)", "control characters"),
    "raw control character": ('["\x01"]', "line 1 column 3", "one JSON object"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_place_and_remedy(name: str) -> None:
    text, place, remedy = REFUSED[name]
    with pytest.raises(PlaceError) as caught:
        parse(text)
    assert caught.value.place == place
    assert remedy in caught.value.problem
    assert len(str(caught.value)) < 400


@given(st.text())
def test_printable_text_survives_a_file(text: str) -> None:
    once = printable(text)
    assert printable(once) == once
    assert parse(render([once])) == [once]
    assert once.encode("utf-8").decode("utf-8") == once


def test_printable_keeps_lines_and_letters() -> None:
    assert printable("γ·x̂\n\tβ\x1b[1m") == "γ·x̂\n\tβ�[1m"


def test_places_quote_odd_keys() -> None:
    assert below("$.a", 3) == "$.a[3]"
    assert below("$", "x") == "$.x"
    assert below("$", "a b") == "$['a b']"
    assert len(below("$", "k" * 10_000)) < 100
