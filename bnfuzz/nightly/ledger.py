"""The findings over the nights: what each event of tonight makes of their standing. No input or output here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from bnfuzz.judge.verdict import Verdict
from bnfuzz.night import STANDINGS, Tracked

Again = Literal["same", "flaky", "gone", "unseen"]
"""What running a stored case again can show of its signature."""

KEPT_GONE = 60
"""Nights after which a finding that is gone is forgotten."""


class Ledger:
    """Starts from what is stored, every open finding `unseen`; then hears of the night's events in any number.

    new_only   nothing is to be made of what is stored: see `due`
    """

    def __init__(self, number: int, tracked: Iterable[Tracked], *, new_only: bool = False) -> None:
        self.number = number
        self.new_only = new_only
        self._rows = {
            row.signature: replace(row, standing="unseen", note="") if row.open else row
            for row in tracked
            if row.open or number - row.gone_night <= KEPT_GONE
        }

    def __contains__(self, signature: object) -> bool:
        return signature in self._rows

    def __getitem__(self, signature: str) -> Tracked:
        return self._rows[signature]

    @property
    def open(self) -> tuple[Tracked, ...]:
        return tuple(row for row in self._rows.values() if row.open)

    @property
    def rows(self) -> tuple[Tracked, ...]:
        """All of them: what needs attention first, then what fails a run, then the most severe."""
        return tuple(
            sorted(
                self._rows.values(),
                key=lambda row: (STANDINGS.index(row.standing), not row.fails, -row.severity, row.signature),
            )
        )

    @property
    def due(self) -> tuple[Tracked, ...]:
        """Those whose cases and texts are tonight's to work on, in the order of `rows`."""
        return tuple(row for row in self.rows if not self.new_only or row.standing in ("new", "back"))

    def adopt(self, row: Tracked) -> None:
        """Takes in a finding of an earlier time as it is, where its signature is not tracked yet."""
        self._rows.setdefault(row.signature, row)

    def ran(self, signature: str, shown: Again, *, version: str, note: str = "", severity: float | None = None) -> None:
        """The stored case of an open finding was run again, and this is what it showed."""
        row = self._rows[signature]
        if shown == "unseen":
            self._rows[signature] = replace(row, note="; ".join(filter(None, (row.note, note))))
        elif shown == "gone":
            self._rows[signature] = replace(
                row, standing="gone", gone_night=self.number, fixed_in=version, note=_fixed(row, version)
            )
        else:
            # What nobody has been told of yet stays new, whatever running it again shows.
            standing = row.standing if row.standing == "new" else shown
            self._rows[signature] = replace(
                row,
                standing=standing,
                note=note or (row.note if standing == "new" else ""),
                last_night=self.number,
                version=version,
                severity=row.severity if severity is None else severity,
            )

    def turned(self, signature: str, into: str, verdict: Verdict, *, version: str) -> None:
        """The stored case of an open finding fails otherwise: its row goes on under the signature `into`.

        Where `into` is tracked already, the finding is gone and the other one remains.
        """
        row = self._rows[signature]
        if into in self._rows:
            self.ran(signature, "gone", version=version)
            self.learn(signature, note=f"fails as {into} now, which is tracked as well")
            self._rows[into] = self._failing(self._rows[into], version)
            return
        del self._rows[signature]
        self._rows[into] = replace(
            row,
            signature=into,
            output=verdict.output,
            kind=verdict.kind,
            severity=verdict.severity,
            standing="new" if row.standing == "new" else "changed",
            note=f"was {row.output} {row.kind}" + (f" in {row.version}" if row.version != version else ""),
            last_night=self.number,
            version=version,
        )

    def seen(self, signature: str, *, version: str) -> None:
        """A failing trial of a tracked signature came up elsewhere than in its stored case."""
        row = self._rows.get(signature)
        if row is not None:
            self._rows[signature] = self._failing(row, version)

    def found(self, row: Tracked) -> None:
        """A finding with a case of its own: new, or a tracked one in another guise."""
        known = self._rows.get(row.signature)
        if known is None:
            self._rows[row.signature] = replace(
                row, standing="new", first_night=self.number, last_night=self.number, gone_night=0, fixed_in=""
            )
            return
        again = self._failing(known, row.version)
        self._rows[row.signature] = replace(
            again,
            **{name: getattr(row, name) or getattr(again, name) for name in ("cause", "link", "case")},
            backend=row.backend,
            severity=row.severity,
            finished=row.finished,
            issue=known.issue,
            issue_ready=known.issue_ready,
        )

    def learn(self, signature: str, **facts: object) -> None:
        """Sets fields that are no matter of standing: cause, issue, case, finished, severity."""
        self._rows[signature] = replace(self._rows[signature], **facts)  # type: ignore[arg-type]  # fields by name

    def _failing(self, row: Tracked, version: str) -> Tracked:
        """The row after it was seen failing tonight on some case."""
        if row.standing == "gone" and row.gone_night == self.number:
            row = replace(row, standing="changed", note="its stored case passes, another case fails")
        elif row.standing == "gone":
            row = replace(row, standing="back", note=f"was gone in {row.fixed_in or 'an earlier version'}")
        elif row.standing == "unseen":
            row = replace(row, standing="same", note="")
        return replace(row, last_night=self.number, version=version or row.version, gone_night=0, fixed_in="")


def _fixed(row: Tracked, version: str) -> str:
    if row.version and row.version != version:
        return f"fixed in this version: {version} (last seen in {row.version})"
    return f"passes now, though {version} is what it failed in: the machine or bnfuzz has changed"
