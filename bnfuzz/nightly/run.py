"""A night: the corpus again, a planted fault, a campaign, the open findings again, and what is to be said of it all.

What is found is saved at once, by the campaign; the state is put in place at the very end. A night that is killed
leaves the state of the night before, and its findings are the next night's news.
"""

from __future__ import annotations

import datetime
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.progress import Watched
from bnfuzz.campaign.run import Campaign, Report
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.shards import run_campaign
from bnfuzz.casefile import CaseFile
from bnfuzz.corpus import Corpus
from bnfuzz.errors import BnfuzzError
from bnfuzz.night import NightReport, Planted, Tracked
from bnfuzz.nightly import planted
from bnfuzz.nightly.account import Account
from bnfuzz.nightly.asked import AGAIN_END, ISSUES_END, REPLAY_END, SHRINK_END, Asked, Schedule, seed_of_night
from bnfuzz.nightly.findings import adopt, from_discovery, from_failure, keep_turned, live, restore, retire
from bnfuzz.nightly.issues import write_issues
from bnfuzz.nightly.ledger import Ledger
from bnfuzz.nightly.publish import publish
from bnfuzz.nightly.replaying import CorpusReplay, Pair, replay_corpus, run_again
from bnfuzz.nightly.store import Flight, Store
from bnfuzz.nightly.unfinished import explain_rest, shrink_rest
from bnfuzz.nightly.version import version_of
from bnfuzz.replay import roster, started
from bnfuzz.report.night.page import check_ready
from bnfuzz.signature import backend_of, portable

Tell = Callable[[str], None]
Announce = Callable[[Discovery], None]
Tick = Callable[[Watched], None]


def run_night(
    asked: Asked,
    *,
    tell: Tell,
    announce: Announce = lambda _: None,
    tick: Tick = lambda _: None,
    limits: Limits | None = None,
) -> NightReport:
    """Runs one night to its end, writes its outputs and the state; `tell` hears what is going on, line by line."""
    check_ready()
    store = Store(asked.output)
    with store.alone(), Pool(limits) as pool:
        return _Night(asked, store, pool, tell=tell, announce=announce, tick=tick, limits=limits).run()


class _Night:
    """One night on its way, and what it has gathered so far."""

    def __init__(
        self,
        asked: Asked,
        store: Store,
        pool: Pool,
        *,
        tell: Tell,
        announce: Announce,
        tick: Tick,
        limits: Limits | None,
    ) -> None:
        self.asked, self.store, self.pool, self.limits = asked, store, pool, limits
        self.tell, self.announce, self.tick = tell, announce, tick
        self.schedule = Schedule(asked)
        self.state = store.load()
        now = datetime.datetime.now(datetime.UTC)
        self.started = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        self.number = self.state.next_number
        self.seed = seed_of_night(now.date(), self.number) if asked.seed is None else asked.seed
        self.ledger = Ledger(self.number, self.state.findings, new_only=asked.new_only)
        self.corpus = Corpus(asked.corpus)
        self.corpus.check_ready()
        self.troubles: list[str] = []
        self.remarks: list[str] = []

    def run(self) -> NightReport:
        strict = bool(self.asked.backends)
        taking_part = started(self.pool, roster(self.asked.backends), strict=strict)
        self.backends = taking_part.names
        self.remarks += [f"without {line}" for line in taking_part.absence_lines()]
        self.versions = {name: version_of(self.pool, name) for name in self.backends}
        named = ", ".join(f"{name} ({version})" for name, version in self.versions.items())
        self.tell(f"night {self.number}, seed {self.seed}, {self.asked.budget}, backends {named or 'none'}")
        self._prepare()
        without = set() if self.asked.new_only else self._open_findings_again()
        replayed = self._replay(without)
        hunted = self._hunt()
        report = self._search()
        if not report.interrupted:
            self._finish_findings()
        account = Account(
            asked=self.asked,
            number=self.number,
            seed=self.seed,
            started=self.started,
            seconds=self.schedule.elapsed,
            backends=self.versions,
            releases={name: self.pool.version(name) for name in self.backends},
            corpus=self.corpus,
            state=self.state,
            ledger=self.ledger,
            replayed=replayed,
            planted=hunted,
            search=report,
            troubles=tuple(self.troubles),
            remarks=tuple(self.remarks),
        )
        whole = publish(account.report(), self.store)
        if not self.asked.new_only:
            self.store.save(account.next_state(whole))
            self.store.tidy(self.ledger.rows)
        elif self.flies:
            self.store.end_flight()
        return whole

    def _prepare(self) -> None:
        flight = self.store.flight()
        if flight is not None:
            self.tell(f"night {flight.number} was interrupted; what it found is told now")
        restore(self.ledger, self.corpus, self.store)
        adopt(self.ledger, self.corpus, self.store, self.backends, flight.before if flight else None)
        before = tuple(sorted({s for entry in live(self.corpus) for s in entry.file.signatures}))
        if flight is not None:
            before = tuple(sorted(set(before) & set(flight.before)))
        # One that leaves the state as it is leaves the news of a killed night to the next night, too.
        self.flies = flight is None or not self.asked.new_only
        if self.flies:
            self.store.take_off(Flight(number=self.number, seed=self.seed, started=self.started, before=before))

    def _open_findings_again(self) -> set[Pair]:
        """Runs the stored case of each open finding; the pairs that the replay of the corpus can leave out."""
        ran: set[Pair] = set()
        over = self.schedule.over(AGAIN_END)
        # What was not seen for longest comes first, so that everything has its turn.
        for row in sorted(self.ledger.open, key=lambda row: row.last_night):
            file = self.store.case_of(row)
            if row.backend not in self.backends or file is None:
                why = "its case is lost" if file is None else "its backend did not take part"
                self.ledger.ran(row.signature, "unseen", version="", note=why)
                continue
            if over():
                self.ledger.ran(row.signature, "unseen", version="", note="time ran out before it")
                continue
            self._again(row, file)
            ran |= {(e.path, row.backend) for e in live(self.corpus) if e.file.id == file.id}
        return ran

    def _again(self, row: Tracked, file: CaseFile) -> None:
        """Runs the stored case of an open finding; the ledger hears what it shows."""
        shown = run_again(self.pool, file, row.backend)
        version = self.versions[row.backend]
        severity = shown.verdict.severity if shown.verdict else None
        if shown.again == "same" and shown.signature != row.signature and shown.verdict is not None:
            self.ledger.turned(row.signature, shown.signature, shown.verdict, version=version)
            retire(row, self.corpus)
            case = keep_turned(self.store, self.pool, row, file, shown)
            self.ledger.learn(shown.signature, case=case)
        else:
            self.ledger.ran(row.signature, shown.again, version=version, note=shown.note, severity=severity)
        if shown.again == "gone":
            retire(row, self.corpus)
            self.tell(f"gone {row.signature}: {self.ledger[row.signature].note}")

    def _replay(self, without: set[Pair]) -> CorpusReplay:
        done = replay_corpus(
            self.pool,
            self.corpus,
            self.backends,
            begin=self.state.replay_from,
            without=without,
            over=self.schedule.over(REPLAY_END),
        )
        for failure in done.failures:
            if failure.signature in self.ledger:
                self.ledger.seen(failure.signature, version=self.versions[failure.outcome.backend])
                continue
            version = self.versions[failure.outcome.backend]
            row = from_failure(failure, self.pool, self.store, number=self.number, version=version)
            self.ledger.found(row)
            self.tell(f"NEW {failure.signature}  {failure.entry.path.name}")
        self._seen(done.signatures)
        if not self.asked.new_only:
            self._mended(done.mended)
        counts = Counter(row.standing for row in done.rows)
        said = ", ".join(f"{count} {standing}" for standing, count in counts.most_common()) or "none"
        left = f"; {done.left} cases are left for the next night" if done.left else ""
        self.tell(f"stored cases: {said}{left}")
        return done

    def _mended(self, signatures: Collection[str]) -> None:
        """Open findings for which there was no time, and a case of which has just passed: are they gone?"""
        for row in self.ledger.open:
            if row.standing == "unseen" and row.signature in signatures and row.backend in self.backends:
                file = self.store.case_of(row)
                if file is not None:
                    self.ledger.learn(row.signature, note="")
                    self._again(row, file)

    def _hunt(self) -> Planted:
        """The planted fault; what goes wrong on the way is trouble, and no reason to lose the night."""
        fault = planted.choose(self.seed)
        try:
            hunted = planted.hunt(self.store.planted, fault, self.asked.corpus, self._campaign, seed=self.seed)
        except BnfuzzError as error:
            self.troubles.append(f"the search for the planted fault failed: {str(error).partition(chr(10))[0]}")
            return Planted(fault=fault.name, description=fault.description)
        if hunted.arrived:
            self.tell(f"planted fault {fault.name}: found after {hunted.trials:,} trials or less")
        else:
            self.troubles.append(
                f"the planted fault {fault.name} did not come out of the search in {hunted.trials:,} judged trials: "
                "known.toml may swallow everything, or the judge is blind"
            )
        return hunted

    def _campaign(self, asked: Settings, folder: Path) -> Report:
        """A campaign without an audience, on the way that tonight's takes."""
        report = self._searched(asked, Corpus(folder), lambda _: None, lambda _: None)
        if report.interrupted:
            raise KeyboardInterrupt
        return report

    def _searched(self, asked: Settings, corpus: Corpus, announce: Announce, tick: Tick) -> Report:
        if self.asked.jobs == 1 and self.asked.dask is None:
            return Campaign(asked, self.pool, corpus, announce=announce, tick=tick).run()
        # The campaign has workers of its own; these come up again when they are asked for.
        self.pool.close()
        return run_campaign(
            asked,
            corpus.folder,
            jobs=self.asked.jobs,
            dask=self.asked.dask,
            limits=self.limits,
            announce=announce,
            tick=tick,
        )

    def _search(self) -> Report:
        asked = Settings(
            backends=self.backends, seed=self.seed, minutes=self.schedule.search_minutes(), cases=self.asked.cases
        )
        report = self._searched(asked, self.corpus, self.announce, self.tick)
        self.corpus.reload()
        self._seen(report.discoveries.known)
        for discovery in report.discoveries.distinct:
            version = self.versions[discovery.finding.backend]
            self.ledger.found(from_discovery(discovery, self.store, number=self.number, version=version))
        self.remarks += report.lost
        self.remarks += [
            f"{name}: not one trial was judged, so nothing is said of it; give a larger budget"
            for name in report.unjudged
        ]
        if not report.tally.tried and not report.interrupted:
            self.troubles.append("the campaign judged nothing: the budget is too short for these backends")
        return report

    def _seen(self, signatures: Iterable[str]) -> None:
        versions = {portable(name): version for name, version in self.versions.items()}
        for signature in signatures:
            self.ledger.seen(signature, version=versions.get(backend_of(signature), ""))

    def _finish_findings(self) -> None:
        """Shrinks, explains and writes down what is not yet.

        What breaks one of these is trouble, whatever it is, and costs neither the others nor what the night has found.
        """
        with self._trouble("shrinking what was left"):
            shrink_rest(self.ledger, self.corpus, self.store, self.pool, self.backends, self.schedule.part(SHRINK_END))
        with self._trouble("looking for causes"):
            explain_rest(self.ledger, self.store, self.pool, self.backends, self.schedule.over(SHRINK_END))
        with self._trouble("writing the issue texts"):
            seconds = self.schedule.part(ISSUES_END)
            self.remarks += write_issues(self.ledger, self.store, self.pool, self.backends, seconds)

    @contextmanager
    def _trouble(self, doing: str) -> Iterator[None]:
        """Any exception is told whole, and becomes a line of the night's troubles."""
        try:
            yield
        except Exception as error:
            self.tell("".join(traceback.format_exception(error)).rstrip())
            self.troubles.append(f"{doing} failed: {type(error).__name__}: {str(error).partition(chr(10))[0]}")
