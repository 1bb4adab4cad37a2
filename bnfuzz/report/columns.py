"""Aligned columns of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def columns(rows: Iterable[Sequence[str]], *, right: Iterable[int] = (), indent: str = "") -> list[str]:
    """The rows as lines, each column as wide as its widest cell; those numbered in `right` are aligned to the right."""
    table = [list(row) for row in rows]
    if not table:
        return []
    flush_right = set(right)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if i in flush_right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


def aligned(rows: Sequence[Sequence[str]], *, left: int = 2) -> str:
    """The rows as text: the first `left` columns (names) to the left, the others (counts) to the right."""
    return "\n".join(columns(rows, right=range(left, len(rows[0]) if rows else 0)))
