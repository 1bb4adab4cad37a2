"""Markdown from parts: cells, tables and code that stay what they are, whatever is in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bnfuzz.errors import printable

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~@&])")


def escaped(text: str) -> str:
    """Text that no Markdown dialect takes for mark-up, a mention or an entity; line ends become spaces."""
    line = " ".join(printable(text).split())
    # A backslash does not stop a mention; an entity does.
    return _SPECIAL.sub(r"\\\1", line).replace("\\@", "&#64;")


def code(text: str) -> str:
    """Inline code of one line."""
    line = " ".join(printable(text).split())
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else ""


def cell(text: str) -> str:
    """Inline code within a table, where a bar would end the cell even inside code."""
    return code(text).replace("|", "\\|")


def fenced(text: str, language: str = "") -> str:
    """A block of code, its fence longer than any run of backticks in it."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    body = printable(text).rstrip("\n")
    return f"{ticks}{language}\n{body}\n{ticks}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown already, line ends in them become spaces."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(' '.join(value.split()) for value in line)} |" for line in lines)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
