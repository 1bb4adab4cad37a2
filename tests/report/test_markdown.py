"""Markdown parts: what goes in comes out, whatever is in it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.report.markdown import cell, code, escaped, fenced, table

HOSTILE = st.text(alphabet="`|*_<>[]()#~@\\ ab\n\t&;!$", max_size=30)


def plain(text: str) -> str:
    return " ".join(text.split())


@given(HOSTILE)
def test_escaped_text_has_no_mark_up_left(text: str) -> None:
    shown = escaped(text)
    assert "\n" not in shown
    assert "@" not in shown
    undone = re.sub(r"\\([\\`*_\[\]<>#|~&])", r"\1", shown.replace("&#64;", "@"))
    assert undone == plain(text)
    bare = re.sub(r"\\.|&#64;", "", shown)
    assert not re.search(r"[`*_\[\]<>|~#@\\]", bare)


@given(HOSTILE)
def test_inline_code_is_closed_by_its_own_ticks_only(text: str) -> None:
    shown = code(text)
    if not plain(text):
        assert shown == ""
        return
    opening = re.match(r"`+", shown)
    assert opening is not None
    ticks = opening.group()
    inside = shown[len(ticks) : -len(ticks)]
    assert shown.endswith(ticks)
    assert ticks not in re.findall(r"`+", inside)
    assert inside.strip() == plain(text)


@given(HOSTILE)
def test_a_cell_ends_where_it_should(text: str) -> None:
    row = table(("a", "b"), [(cell(text), escaped(text))]).splitlines()
    assert len(row) == 3
    # GitHub takes a bar for an end unless a backslash stands right before it.
    assert len(re.findall(r"(?<!\\)\|", row[2])) == 3


@given(HOSTILE)
def test_a_fence_is_longer_than_what_it_holds(text: str) -> None:
    lines = fenced(text, "python").splitlines()
    fence = lines[-1]
    assert lines[0] == f"{fence}python"
    assert not any(line.strip().startswith(fence) for line in lines[1:-1])


def test_control_characters_do_not_reach_a_terminal() -> None:
    assert "\x1b" not in escaped("\x1b[31m") + code("\x1b[31m") + fenced("\x1b[31m")
