"""A campaign on a crew gives what one job gives, in whatever order the crew works and whoever is lost."""

from __future__ import annotations

import queue
import random
import threading
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import BrokenExecutor, Future
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bnfuzz.backends.pool import Limits
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.parallel.crew import CrewLostError
from bnfuzz.campaign.parallel.frames import Described, Searched
from bnfuzz.campaign.parallel.ordered import MOST_LOST, ParallelCampaign, shard
from bnfuzz.campaign.parallel.posting import ATTEMPTS
from bnfuzz.campaign.parallel.shard import Shard
from bnfuzz.campaign.progress import Watched
from bnfuzz.campaign.run import Report
from bnfuzz.campaign.settings import Settings
from bnfuzz.casefile import read
from bnfuzz.casefile.tree import case_id
from bnfuzz.corpus import Corpus
from bnfuzz.corpus.folder import case_paths
from bnfuzz.errors import UsageError

Run = Callable[..., Report]
Targets = Callable[[str], str]

PLAIN: dict[str, Any] = {"modes": ("training",), "formats": ("float32",)}
"""What a function without state and of unstated formats can be asked for."""


class ScriptedCrew:
    """Works on one thread, which takes any of what it has been given.

    losing    unit -> how often its worker dies
    held      unit -> the unit that has to be back before it is begun; None: it never comes back
    searched  unit -> how often it was begun
    results   unit -> what it came to, the last time
    """

    def __init__(
        self,
        size: int,
        seed: int = 0,
        losing: dict[int, int] | None = None,
        held: dict[int, int | None] | None = None,
    ) -> None:
        self._size = size
        self._held = dict(held or {})
        self._holding: dict[int | None, Any] = {}
        self.results: dict[int, Searched] = {}
        self.gone = False
        self.losing = dict(losing or {})
        self.searched: Counter[int] = Counter()
        self.hurries = 0
        self._chance = random.Random(seed)
        self._given: queue.Queue[tuple[Future[Any], Any, tuple[Any, ...]] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    @property
    def size(self) -> int:
        if self.gone:
            raise CrewLostError("nobody can be reached")
        return self._size

    def describe(self, backends: tuple[str, ...], limits: Limits) -> Collection[dict[str, Described]]:
        return [self.submit(shard.describe, backends, limits).result()]

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        given = (future, function, arguments)
        number = arguments[0].unit.number if function.__name__ == "search" else None
        if number in self._held:
            self._holding[self._held.pop(number)] = given
        else:
            self._given.put(given)
        return future

    def was_lost(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def hurry(self) -> None:
        self.hurries += 1

    def close(self) -> None:
        self._given.put(None)
        self._thread.join()

    def _work(self) -> None:
        here, waiting, more = Shard(), [], True
        while more or waiting:
            while more and (not waiting or not self._given.empty()):
                given = self._given.get()
                more = given is not None
                waiting += [] if given is None else [given]
            if waiting:
                future, function, arguments = waiting.pop(self._chance.randrange(len(waiting)))
                if future.set_running_or_notify_cancel():
                    try:
                        future.set_result(self._do(here, function.__name__, *arguments))
                    except Exception as error:
                        future.set_exception(error)
                    if function.__name__ == "search" and arguments[0].unit.number in self._holding:
                        self._given.put(self._holding.pop(arguments[0].unit.number))
        here.close()

    def _do(self, here: Shard, name: str, *arguments: Any) -> Any:
        if name == "search":
            number = arguments[0].unit.number
            self.searched[number] += 1
            if self.losing.get(number, 0) > 0:
                self.losing[number] -= 1
                raise BrokenExecutor(f"unit {number} took its worker with it")
            self.results[number] = here.search(*arguments)
            return self.results[number]
        return getattr(here, name)(*arguments)


@pytest.fixture
def on_crew(limits: Limits) -> Callable[..., Report]:
    """Runs a campaign on a crew to its end."""
    usual = limits

    def run(crew: ScriptedCrew, corpus: Corpus | None, *, limits: Limits = usual, **asked: Any) -> Report:
        try:
            heard: list[Discovery] = []
            campaign = ParallelCampaign(
                Settings(**asked), crew, corpus, limits=limits, announce=heard.append, tick=lambda _: None
            )
            report = campaign.run()
            assert {id(d) for d in heard} == {id(d) for d in report.discoveries.distinct}
            return report
        finally:
            crew.close()

    return run


def counted(report: Report) -> dict[str, Any]:
    """All counts but those of seconds."""
    counts = asdict(report.tally)
    for backend in counts["backends"].values():
        del backend["seconds"], backend["compile_seconds"]
    return counts


def found(report: Report) -> list[tuple[Any, ...]]:
    """The findings in their order, to the bits of their cases, and how often each was seen."""
    return [
        (
            discovery.finding.signature,
            case_id(discovery.finding.case),
            repr(discovery.finding.verdicts),
            discovery.outputs,
            None if discovery.clearer is None else case_id(discovery.clearer.case),
            report.discoveries.counts[discovery.finding.signature],
        )
        for discovery in report.discoveries.distinct
    ]


def files(corpus: Corpus) -> dict[str, str]:
    return {str(path.relative_to(corpus.folder)): path.read_text() for path in case_paths(corpus.folder)}


# Nothing is shrunk: how far that gets is a matter of time.
PLANTED: dict[str, Any] = {"cases": 1000, "seed": 3, "trials": 8, "shrink_share": 0.0}


@pytest.mark.parametrize(("size", "seed"), [(1, 0), (2, 1), (5, 2)])
def test_findings_counts_and_files_are_those_of_one_job(
    campaign: Run, on_crew: Run, targets: Targets, tmp_path: Path, size: int, seed: int
) -> None:
    asked = PLANTED | {"backends": ("numpy", targets("one_pass"), targets("unbiased"))}
    alone, together = Corpus(tmp_path / "alone"), Corpus(tmp_path / "together")
    expected = campaign(corpus=alone, **asked)
    report = on_crew(ScriptedCrew(size, seed), together, **asked)
    assert len(expected.discoveries.failing) >= 3
    assert found(report) == found(expected)
    assert counted(report) == counted(expected)
    assert list(report.scatter) == list(expected.scatter)
    assert report.discoveries.unconfirmed.keys() == expected.discoveries.unconfirmed.keys()
    assert files(together) == files(alone)
    signatures = [signature for entry in together.entries for signature in entry.file.signatures]
    assert len(signatures) == len(set(signatures))


@pytest.mark.parametrize("cases", [1, 100, 777])
def test_a_budget_of_cases_ends_at_the_same_trial(campaign: Run, on_crew: Run, cases: int) -> None:
    asked = {"backends": ("numpy",), "cases": cases, "seed": 2, "trials": 16}
    assert counted(on_crew(ScriptedCrew(3, 1), None, **asked)) == counted(campaign(corpus=None, **asked))


def test_a_second_campaign_knows_what_the_first_found(on_crew: Run, corpus: Corpus, targets: Targets) -> None:
    asked = PLANTED | {"backends": (targets("unbiased"),), "cases": 300}
    first = on_crew(ScriptedCrew(2), corpus, **asked)
    assert first.failed
    corpus.reload()
    second = on_crew(ScriptedCrew(2), corpus, **asked)
    assert not second.failed
    assert set(second.discoveries.known) >= {d.finding.signature for d in first.discoveries.failing}


def test_findings_are_shrunk_by_the_crew(on_crew: Run, corpus: Corpus, targets: Targets) -> None:
    asked = PLAIN | {"cases": 600, "seed": 2, "families": ("offset",), "shrink_share": 20.0}
    report = on_crew(ScriptedCrew(2), corpus, backends=(targets("one_pass"),), **asked)
    shrunk = [discovery for discovery in report.discoveries.failing if discovery.shrunk]
    assert shrunk
    for discovery in shrunk:
        assert discovery.finding.confirmed
        assert discovery.path is not None
        assert case_id(read(discovery.path).case) == case_id(discovery.finding.case)
    assert min(discovery.finding.case.inputs.x.size for discovery in shrunk) <= 4


def test_a_unit_whose_worker_is_lost_is_searched_again(campaign: Run, on_crew: Run, targets: Targets) -> None:
    asked = PLANTED | {"backends": ("numpy", targets("unbiased")), "cases": 800}
    crew = ScriptedCrew(3, losing={0: 1, 2: ATTEMPTS - 1})
    report = on_crew(crew, None, **asked)
    expected = campaign(corpus=None, **asked)
    assert report.lost == ()
    assert crew.searched[2] >= ATTEMPTS
    assert (found(report), counted(report)) == (found(expected), counted(expected))


def test_a_unit_that_is_lost_again_and_again_is_named_and_the_rest_goes_on(on_crew: Run) -> None:
    crew = ScriptedCrew(2, losing={1: ATTEMPTS})
    report = on_crew(crew, None, backends=("numpy",), cases=800, trials=8)
    (line,) = report.lost
    assert line.startswith("unit 1 (round 0, Specs 3 to 4)")
    assert "took its worker with it" in line
    assert crew.searched[1] == ATTEMPTS
    assert report.tally.tried >= 800


def test_a_campaign_ends_where_worker_after_worker_is_lost(on_crew: Run) -> None:
    crew = ScriptedCrew(2, losing=dict.fromkeys(range(100), ATTEMPTS))
    report = on_crew(crew, None, backends=("numpy",), cases=10**6, trials=16)
    assert len(report.lost) >= MOST_LOST
    assert report.tally.tried == 0


def test_what_the_filters_leave_empty_is_refused(on_crew: Run, targets: Targets) -> None:
    with pytest.raises(UsageError, match="widen"):
        on_crew(ScriptedCrew(2), None, backends=(targets("unbiased"),), cases=300, modes=("inference",))


def test_a_backend_that_hung_is_left_out_of_what_comes_after(on_crew: Run, targets: Targets) -> None:
    asked = {"backends": (targets("hangs"), "numpy"), "cases": 300, "trials": 8, **PLAIN}
    report = on_crew(ScriptedCrew(2), None, limits=Limits(call_seconds=1.0, compile_seconds=2.0), **asked)
    (hang,) = report.discoveries.failing
    assert hang.first.kind == "hang"
    assert report.discoveries.counts[hang.finding.signature] == 1
    assert report.tally.backends[targets("hangs")].hung
    assert report.tally.backends["numpy"].judged >= 250


def test_what_was_found_stands_where_the_crew_is_lost(limits: Limits) -> None:
    crew = ScriptedCrew(2)

    def tick(campaign: Watched) -> None:
        if campaign.tally.judged:
            crew.gone = True

    asked = Settings(backends=("numpy",), minutes=10.0, trials=8)
    try:
        report = ParallelCampaign(asked, crew, None, limits=limits, announce=lambda _: None, tick=tick).run()
    finally:
        crew.close()
    assert report.lost == ("nobody can be reached",)
    assert not report.interrupted
    assert report.tally.judged > 0


class Hands:
    """A clock that stands still until it is put forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def timed(crew: ScriptedCrew, limits: Limits, clock: Hands, tick: Callable[[Watched], None], **asked: Any) -> Report:
    """A campaign of ten minutes of that clock."""
    settings = Settings(minutes=10.0, trials=8, **asked)
    try:
        return ParallelCampaign(
            settings, crew, None, limits=limits, announce=lambda _: None, tick=tick, clock=clock
        ).run()
    finally:
        crew.close()


def test_what_is_back_counts_though_an_earlier_unit_never_comes(limits: Limits, targets: Targets) -> None:
    crew, clock, back = ScriptedCrew(3, held={0: None}), Hands(), 0

    def tick(campaign: Watched) -> None:
        nonlocal back
        outputs = [output for backend in campaign.tally.backends.values() for output in backend.outputs.values()]
        if any(output.findings for output in outputs):
            back, clock.now = campaign.tally.tried, 10_000.0

    report = timed(crew, limits, clock, tick, backends=(targets("unbiased"),), **PLAIN)
    assert report.lost[0].startswith("unit 0 ")
    assert report.lost[0].endswith("did not come back in time")
    assert report.failed
    assert report.tally.tried == back > 0


@pytest.mark.parametrize("dies", [False, True])
def test_a_unit_that_was_to_be_run_again_counts_as_it_was(targets: Targets, dies: bool) -> None:
    """Time ends, or its worker dies, before the second run is over."""
    hangs, clock, ticks = targets("hangs"), Hands(), 0
    crew = ScriptedCrew(2, held={0: 1, 2: None, 3: None})

    def tick(campaign: Watched) -> None:
        nonlocal ticks
        if 0 not in crew.results or not campaign.tally.backends[hangs].hung:
            return
        if dies:
            crew.losing.setdefault(1, ATTEMPTS)
            ticks += crew.losing[1] == 0
        if not dies or ticks > 3:
            clock.now = 10_000.0

    limits = Limits(call_seconds=1.0, compile_seconds=2.0)
    report = timed(crew, limits, clock, tick, backends=(hangs, "numpy"), **PLAIN)
    assert crew.searched[1] == (1 + ATTEMPTS if dies else 1)
    apart = [crew.results[number].tally.backends["numpy"].judged for number in (0, 1)]
    assert all(apart)
    assert report.tally.backends["numpy"].judged == sum(apart)


def test_an_interrupt_brings_home_what_is_there(limits: Limits) -> None:
    crew, ticks = ScriptedCrew(2), []

    def tick(_: object) -> None:
        ticks.append(None)
        if len(ticks) == 3:
            raise KeyboardInterrupt

    asked = Settings(backends=("numpy",), minutes=10.0, trials=16)
    try:
        report = ParallelCampaign(asked, crew, None, limits=limits, announce=lambda _: None, tick=tick).run()
    finally:
        crew.close()
    assert report.interrupted
    assert crew.hurries == 1
    assert report.tally.judged > 0
