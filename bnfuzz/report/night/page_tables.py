"""The page's tables: the worst ratio by format, what was drawn, and what became of the stored cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from bnfuzz.formats import FORMATS
from bnfuzz.night import FormatWorst, Night, Replayed

STANDINGS = ("ok", "known", "open", "failed", "fixed", "undecided", "unsupported")

MOST_BARS = 14


def formats(tallies: Iterable[FormatWorst]) -> dict[str, Any]:
    """Backends over data formats: the largest ratio that passed, its output, and how many checks failed."""
    groups: dict[tuple[str, str], list[FormatWorst]] = {}
    for tally in tallies:
        groups.setdefault((tally.backend, tally.format), []).append(tally)
    names = [name for name in FORMATS if any(format_name == name for _, format_name in groups)]
    backends = dict.fromkeys(backend for backend, _ in groups)
    rows = [
        {"backend": backend, "cells": [_cell(groups.get((backend, name), [])) for name in names]}
        for backend in backends
    ]
    return {"names": names, "rows": rows}


def _cell(tallies: list[FormatWorst]) -> dict[str, Any] | None:
    if not tallies:
        return None
    worst = max(tallies, key=lambda tally: tally.worst_passing)
    checks, findings = sum(tally.checks for tally in tallies), sum(tally.findings for tally in tallies)
    return {
        "worst": worst.worst_passing,
        "output": worst.output,
        "checks": checks,
        "findings": findings,
        "share": f"{100 * findings / checks:.2g} %",
        "heat": round(100 * min(worst.worst_passing, 1.0)),
    }


def drawn(night: Night) -> list[tuple[str, list[tuple[str, int, int]]]]:
    """Kind of label -> (name, per cent of the plans, plans), most frequent first."""
    groups: dict[str, list[tuple[str, int, int]]] = {}
    for label, count in sorted(night.drawn, key=lambda pair: (-pair[1], pair[0])):
        kind, _, name = label.partition(": ")
        groups.setdefault(kind, []).append((name or kind, round(100 * count / max(night.plans, 1)), count))
    return [(kind, bars[:MOST_BARS]) for kind, bars in sorted(groups.items())]


def stored(rows: Iterable[Replayed]) -> dict[str, Any]:
    """Backends over standings: how many stored cases."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row.backend, Counter())[row.standing] += 1
    names = [name for name in STANDINGS if any(count[name] for count in counts.values())]
    return {"names": names, "rows": [(backend, [count[name] for name in names]) for backend, count in counts.items()]}
