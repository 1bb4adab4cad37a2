"""The card of an implementation: which conventions it really follows, beside what it documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bnfuzz.backends.pool import Pool
from bnfuzz.diagnosis.probes import CANNOT_TELL, PROBES, Probe, Row
from bnfuzz.diagnosis.probes.subject import Subject

__all__ = ["CANNOT_TELL", "Card", "Row", "conventions_card"]


@dataclass(frozen=True, kw_only=True)
class Card:
    """All lines of one implementation.

    source    where its conventions are documented
    version   of its framework, as far as known
    """

    backend: str
    version: str
    source: str
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row:
        """The line of that name; KeyError where there is none."""
        return {row.name: row for row in self.rows}[name]

    @property
    def departures(self) -> tuple[Row, ...]:
        """Lines whose documentation is not kept."""
        return tuple(row for row in self.rows if row.departs)

    def to_json(self) -> dict[str, Any]:
        """What machines read: text throughout, `agrees` true, false or null."""
        return {
            "backend": self.backend,
            "version": self.version,
            "source": self.source,
            "departures": len(self.departures),
            "rows": [
                {
                    "name": row.name,
                    "documented": row.documented,
                    "observed": row.observed,
                    "agrees": row.agrees,
                    "evidence": row.evidence,
                }
                for row in self.rows
            ],
        }


def conventions_card(
    pool: Pool,
    backend: str,
    *,
    probes: Iterable[Probe] = PROBES,
    tick: Callable[[str], None] = lambda name: None,
) -> Card:
    """Probes one backend as a black box.

    tick   told the name of each line before it is looked for

    Raises UsageError where the backend is unknown or a target cannot be loaded, InfrastructureError where its framework
    cannot start.
    """
    subject = Subject(pool, backend)
    version = pool.version(backend) or ""
    rows = []
    for probe in probes:
        tick(probe.name)
        rows.append(probe.row(subject))
    return Card(backend=backend, version=version, source=subject.conventions.source, rows=tuple(rows))
