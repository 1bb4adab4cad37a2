"""The account of a night: its parts put together into the report, and into the state for the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bnfuzz.campaign.run import Report
from bnfuzz.corpus import Corpus
from bnfuzz.night import (
    BackendNight,
    Counts,
    Dot,
    FormatWorst,
    KnownEntry,
    Night,
    NightReport,
    Planted,
    Replayed,
    Tracked,
    Unreadable,
)
from bnfuzz.nightly.asked import Asked
from bnfuzz.nightly.known import known_tonight
from bnfuzz.nightly.ledger import Ledger
from bnfuzz.nightly.replaying import CorpusReplay
from bnfuzz.nightly.store import KEPT_NIGHTS, LastSeen, State


@dataclass(frozen=True, kw_only=True, eq=False)
class Account:
    """The parts of a night that is over. `backends`: name -> version in words; `releases`: its framework's."""

    asked: Asked
    number: int
    seed: int
    started: str
    seconds: float
    backends: Mapping[str, str]
    releases: Mapping[str, str | None]
    corpus: Corpus
    state: State
    ledger: Ledger
    replayed: CorpusReplay
    planted: Planted
    search: Report
    troubles: tuple[str, ...]
    remarks: tuple[str, ...]

    def report(self) -> NightReport:
        """All that the night has to say."""
        problems = self.corpus.problems
        return NightReport(
            night=self._night(),
            findings=self._findings(),
            replayed=tuple(self._told(row) for row in self.replayed.rows),
            unreadable=tuple(Unreadable(case=problem.path.name, problem=problem.message) for problem in problems),
            known=self._known(),
            dots=tuple(Dot(**vars(point)) for point in self.search.scatter),
            formats=tuple(
                FormatWorst(backend=backend, output=output, format=name, **vars(tally))
                for (backend, output, name), tally in sorted(self.search.scatter.formats.items())
            ),
            history=self.state.nights,
        )

    def next_state(self, report: NightReport) -> State:
        """What the next night starts from."""
        return State(
            nights=(*self.state.nights, report.night)[-KEPT_NIGHTS:],
            findings=self.ledger.rows,
            known_seen=tuple(
                LastSeen(signature=entry.signature, night=entry.last_night)
                for entry in report.known
                if entry.last_night
            ),
            replay_from=self.replayed.resume_at,
        )

    def _night(self) -> Night:
        search = self.search
        return Night(
            number=self.number,
            started=self.started,
            seed=self.seed,
            budget=self.asked.budget,
            seconds=self.seconds,
            search_seconds=search.elapsed,
            judged=search.tally.judged,
            plans=search.tally.plans,
            backends=tuple(self._backend(name) for name in self.backends),
            counts=self._counts(),
            drawn=tuple(sorted(search.tally.drawn.items())),
            planted=self.planted,
            troubles=self.troubles,
            remarks=self.remarks,
            complete=not search.interrupted,
            new_only=self.asked.new_only,
        )

    def _backend(self, name: str) -> BackendNight:
        tally = self.search.tally.backends[name]
        output, worst = tally.worst
        return BackendNight(
            name=name,
            version=self.backends[name],
            judged=tally.judged,
            refused=tally.refused,
            failed_calls=tally.failed_calls,
            vacuous=tally.vacuous,
            seconds=tally.seconds + tally.compile_seconds,
            hung=tally.hung,
            worst_output=output,
            worst=worst,
        )

    def _findings(self) -> tuple[Tracked, ...]:
        """Of those that are gone, tonight's; with `new_only`, what nobody has been told of."""
        rows = [row for row in self.ledger.rows if row.open or row.gone_night == self.number]
        return tuple(row for row in rows if not self.asked.new_only or row.standing in ("new", "back"))

    def _counts(self) -> Counts:
        standings = Counter[str](row.standing for row in self._findings())
        stored = Counter(self._told(row).standing for row in self.replayed.rows)
        return Counts(
            **standings,
            replayed=len(self.replayed.rows),
            replay_failed=stored["failed"],
            replay_fixed=stored["fixed"],
            replay_left=self.replayed.left,
        )

    def _told(self, row: Replayed) -> Replayed:
        """A failure that an earlier night has told of is no failure of tonight's."""
        for failure in self.replayed.failures:
            path = failure.entry.path.relative_to(self.corpus.folder).as_posix()
            if row.standing == "failed" and (path, failure.outcome.backend) == (row.case, row.backend):
                since = self.ledger[failure.signature].first_night
                if since < self.number:
                    return replace(row, standing="open", reason=f"a finding since night {since}")
        return row

    def _known(self) -> tuple[KnownEntry, ...]:
        found, rows = self.search.discoveries, self.ledger.rows
        return known_tonight(
            self.corpus.known_list,
            number=self.number,
            versions=self.releases,
            trials={signature: found.counts[signature] for signature in found.known},
            replayed=self.replayed.signatures | {row.signature for row in rows if row.last_night == self.number},
            mended=self.replayed.mended | {row.signature for row in rows if row.gone_night == self.number},
            last_seen={seen.signature: seen.night for seen in self.state.known_seen},
        )
