"""Findings of one cause stand together: one fault has a signature per mode, formats and regime in which it shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bnfuzz.diagnosis.explanation import UNKNOWN
from bnfuzz.night import Tracked


@dataclass(frozen=True, kw_only=True)
class OneCause:
    """Findings of one backend and standing of which the same is said; `first` stands for the others."""

    first: Tracked
    others: tuple[Tracked, ...]


def by_cause(rows: Iterable[Tracked]) -> tuple[OneCause, ...]:
    """The findings in their order, each with the later ones of its cause; where no cause is named, each alone."""
    groups: dict[tuple[str, ...], list[Tracked]] = {}
    for row in rows:
        named = row.cause not in ("", UNKNOWN)
        key = (row.backend, row.standing, row.note, row.cause) if named else (row.signature,)
        groups.setdefault(key, []).append(row)
    return tuple(OneCause(first=first, others=tuple(others)) for first, *others in groups.values())
