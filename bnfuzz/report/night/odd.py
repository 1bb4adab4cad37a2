"""Stored cases that do not do what is recorded, those of one backend together: one fault can fail a hundred of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bnfuzz.night import Replayed

ODD = ("failed", "fixed")

FEW = 3
"""More cases than these of one backend stand in one row."""


@dataclass(frozen=True, kw_only=True)
class OddCases:
    """The cases of one backend with one standing, in the order of their replay."""

    standing: str
    backend: str
    rows: tuple[Replayed, ...]

    @property
    def many(self) -> bool:
        return len(self.rows) > FEW


def odd_cases(rows: Iterable[Replayed]) -> tuple[OddCases, ...]:
    """What fails first, then what is fixed."""
    groups: dict[tuple[str, str], list[Replayed]] = {}
    for row in rows:
        if row.standing in ODD:
            groups.setdefault((row.standing, row.backend), []).append(row)
    ordered = sorted(groups.items(), key=lambda item: ODD.index(item[0][0]))
    return tuple(
        OddCases(standing=standing, backend=backend, rows=tuple(found)) for (standing, backend), found in ordered
    )
