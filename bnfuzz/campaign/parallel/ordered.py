"""A campaign on a crew: units are given out in the order of their sequence, and their results taken in that order.

A unit is given out before the ones ahead of it are back, so under conditions that may have changed by the time its turn
comes: a backend may have hung, the budget of cases may end within it. Where that made a difference it is run again
under the right ones. So the findings and the counts are those of one job, whatever the number of jobs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from bnfuzz.backends.pool import Limits
from bnfuzz.campaign.budget import Budget
from bnfuzz.campaign.findings.discover import Discoveries, Discovery
from bnfuzz.campaign.parallel import shard
from bnfuzz.campaign.parallel.crew import Crew, CrewLostError
from bnfuzz.campaign.parallel.frames import Searched, SearchOrder, SentFinding, ShrinkOrder, Terms
from bnfuzz.campaign.parallel.posting import Lost, Postings, Work
from bnfuzz.campaign.progress import Watched
from bnfuzz.campaign.run import Report
from bnfuzz.campaign.scatter import Scatter
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.tally import BackendTally, Tally
from bnfuzz.campaign.units import FRUITLESS_ROUNDS, Unit, check_outputs, nothing_left, units
from bnfuzz.corpus import Corpus

LOOK_SECONDS = 0.5
"""Between looks at the clock and at the crew while nothing comes back."""

HURRY_SECONDS = 10.0
"""After Ctrl-C: how long units at hand have to bring home what they found."""

OVERDUE_SECONDS = 30.0
"""How long after the end of the time, beside the deadline of a call, a unit is waited for."""

DESERTED_SECONDS = 60.0
"""How long a crew may be without anybody."""

MOST_LOST = 3
"""Units that may be lost for good before the campaign ends: the machine is in no state to go on."""


class ParallelCampaign:
    """One budgeted search, spread over a crew. `announce` is called for every new finding, `tick` now and then."""

    def __init__(
        self,
        asked: Settings,
        crew: Crew,
        corpus: Corpus | None,
        *,
        limits: Limits,
        announce: Callable[[Discovery], None],
        tick: Callable[[Watched], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.asked = asked
        self._crew = crew
        self._limits = limits
        self._tick = tick
        described, *others = crew.describe(asked.backends, limits)
        self._terms = Terms(
            asked=asked, limits=limits, versions={name: described[name].versions for name in asked.backends}
        )
        for other in others:
            self._terms.compare({name: other[name].versions for name in asked.backends})
        conventions = [described[name].conventions for name in asked.backends]
        check_outputs(asked, conventions)
        self._units = units(asked, conventions)
        self._merged = Tally(backends={name: BackendTally(slow=described[name].slow) for name in asked.backends})
        self.scatter = Scatter()
        self.budget = Budget(asked, clock)
        self.discoveries = Discoveries(
            corpus, versions={name: described[name].version for name in asked.backends}, announce=announce
        )
        self._postings = Postings(crew)
        self._back: dict[int, tuple[SearchOrder, Searched | Lost]] = {}
        self._again: list[Unit] = []
        self._outdated: dict[int, Searched] = {}
        self._next = 0
        self._clock = clock
        self._peopled = clock()
        self._lost: list[str] = []

    @property
    def tally(self) -> Tally:
        """All that is back, also from units whose turn has not come."""
        whole = Tally()
        whole.merge(self._merged)
        for _, result in self._back.values():
            if isinstance(result, Searched):
                whole.merge(result.tally)
        return whole

    def run(self) -> Report:
        """Searches until the budget is spent or the user interrupts."""
        interrupted = True
        try:
            self._search()
            self._settle()
            interrupted = False
        except CrewLostError as error:
            interrupted = False
            self._lost.append(str(error))
            self._take_the_rest()
        except KeyboardInterrupt:
            self._bring_home()
        return Report(
            asked=self.asked,
            tally=self._merged,
            discoveries=self.discoveries,
            elapsed=self.budget.elapsed,
            shrink_seconds=self.budget.shrink_seconds,
            interrupted=interrupted,
            versions={name: dict(versions) for name, versions in self._terms.versions.items()},
            scatter=self.scatter,
            lost=tuple(self._lost),
        )

    def _search(self) -> None:
        while not self._finished():
            self._give_out()
            self._collect(LOOK_SECONDS)
            self._merge()
            self._look_at_crew()
            self._tick(self)
        self._postings.leave()
        if self._at_the_end:
            # One job would have gone no further.
            self._back.clear()
        else:
            self._take_the_rest()
        self._crew.hurry()

    def _finished(self) -> bool:
        """Whether the end of the sequence is reached, and all that belongs to it is back."""
        if self._at_the_end or self._all_hung or len(self._lost) >= MOST_LOST:
            return True
        if not self._time_is_up:
            return False
        if self._postings and self._overdue:
            self._lost += [f"{name}: did not come back in time" for name in self._postings.names]
            return True
        return not self._postings

    @property
    def _at_the_end(self) -> bool:
        """Whether the sequence of a budget of cases is over: the end that it has with one job."""
        return self.asked.cases is not None and (self._all_hung or self._merged.tried >= self.asked.cases)

    @property
    def _all_hung(self) -> bool:
        return len(self._hung) == len(self.asked.backends)

    @property
    def _time_is_up(self) -> bool:
        return self.asked.cases is None and self.budget.spent(0, self._share(len(self.discoveries.waiting)))

    @property
    def _overdue(self) -> bool:
        """Whether what is still on its way is given up: the time ended long ago."""
        patience = self._limits.compile_seconds + OVERDUE_SECONDS
        return self.budget.seconds is not None and self.budget.elapsed > self.budget.seconds + patience

    @property
    def _hung(self) -> frozenset[str]:
        return frozenset(name for name, tally in self._merged.backends.items() if tally.hung)

    @property
    def _cases_left(self) -> int | None:
        return None if self.asked.cases is None else self.asked.cases - self._merged.tried

    def _give_out(self) -> None:
        while self._again and self._postings.room > 0 and not self._time_is_up:
            self._post(self._again.pop())
        while self._postings.room > 0 and not self._time_is_up and not self._may_be_enough():
            self._post(next(self._units))

    def _may_be_enough(self) -> bool:
        """Whether what is back already may fill the budget of cases."""
        return self.asked.cases is not None and self.tally.tried >= self.asked.cases

    def _post(self, unit: Unit) -> None:
        def order() -> SearchOrder:
            seconds = None
            if self.asked.cases is None:
                seconds = self.budget.search_seconds(self._share(len(self.discoveries.waiting)))
            return SearchOrder(
                terms=self._terms,
                unit=unit,
                settled=self.discoveries.settled(),
                hung=self._hung,
                cases=self._cases_left,
                seconds=seconds,
            )

        self._postings.post(Work(key=unit.number, name=str(unit), function=shard.search, order=order))

    def _collect(self, seconds: float) -> None:
        for work, order, result in self._postings.collect(seconds):
            self._back[work.key] = (order, result)

    def _merge(self) -> None:
        """Takes the units whose turn it is."""
        while self._next in self._back and (self._cases_left is None or self._cases_left > 0):
            order, result = self._back.pop(self._next)
            if isinstance(result, Searched) and not self._holds(order, result) and not self._time_is_up:
                self._outdated[self._next] = result
                self._again.append(order.unit)
                return
            if order.unit.round >= FRUITLESS_ROUNDS and not self._merged.tried and not self._lost:
                raise nothing_left()
            self._take(self._next, result)
            self._next += 1

    def _holds(self, order: SearchOrder, searched: Searched) -> bool:
        """Whether the unit went as it would have gone had it been given out only now."""
        left = self._cases_left
        if order.hung != self._hung:
            return False
        # A plan has fewer trials than usual only where less than a whole plan is left.
        plan = self.asked.trials * len(self.asked.backends)
        return left is None or order.cases == left or searched.tally.tried + plan <= left

    def _take(self, number: int, result: Searched | Lost) -> None:
        outdated = self._outdated.pop(number, None)
        if isinstance(result, Lost):
            self._lost.append(result.why)
            if outdated is None:
                return
            result = outdated
        self._merged.merge(result.tally)
        self.scatter.merge(result.scatter)
        for sent in result.sightings:
            self.discoveries.take(sent.sighting())
        clearest = {identity: sent.finding() for identity, sent in result.clearest.items()}
        self.discoveries.count(result.counts, result.backends, clearest, result.outputs)

    def _look_at_crew(self) -> None:
        if self._crew.size > 0:
            self._peopled = self._clock()
        elif self._clock() - self._peopled > DESERTED_SECONDS:
            raise CrewLostError(f"no worker has been there for {DESERTED_SECONDS:g} s")

    def _bring_home(self) -> None:
        """After an interrupt: what the units at hand have seen so far, if they bring it soon."""
        self._crew.hurry()
        end = self._clock() + HURRY_SECONDS
        try:
            while self._postings and self._clock() < end:
                self._collect(LOOK_SECONDS)
        except KeyboardInterrupt:
            self._postings.leave()
        self._take_the_rest()

    def _take_the_rest(self) -> None:
        """What is back, though something before it is not; and what was to be run again, as it was the first time."""
        there = {**self._outdated, **{number: result for number, (_, result) in self._back.items()}}
        self._back.clear()
        for number in sorted(there):
            self._take(number, there[number])

    def _settle(self) -> None:
        """Shrinks what waits, side by side, as long as the budget's share for it lasts."""
        waiting = self.discoveries.waiting
        todo, back, turn = list(enumerate(waiting)), dict[int, SentFinding | None](), 0
        try:
            while turn < len(waiting) and not self._overdue:
                while todo and self._postings.room > 0:
                    allowance = self.budget.shrink_allowance(self._share(len(todo)))
                    number, discovery = todo.pop(0)
                    if allowance > 0:
                        self._postings.post(self._shrinking(number, discovery, allowance))
                    else:
                        back[number] = None
                for work, order, result in self._postings.collect(LOOK_SECONDS):
                    self.budget.shrinking(order.seconds / max(self._crew.size, 1))
                    back[work.key] = None if isinstance(result, Lost) else result
                while turn in back:
                    smaller = back.pop(turn)
                    self.discoveries.replace(waiting[turn], None if smaller is None else smaller.finding())
                    turn += 1
                self._look_at_crew()
                self._tick(self)
        finally:
            # What was found is saved as it was; a smaller case that comes too late is no loss.
            self._postings.leave()

    def _shrinking(self, number: int, discovery: Discovery, seconds: float) -> Work:
        order = ShrinkOrder(
            terms=self._terms,
            finding=SentFinding.of(discovery.finding),
            clearer=None if discovery.clearer is None else SentFinding.of(discovery.clearer),
            judge=discovery.judge,
            seconds=seconds,
        )
        name = f"shrinking {discovery.finding.signature}"
        return Work(key=number, name=name, function=shard.shrink, order=lambda: order)

    def _share(self, count: int) -> int:
        """How many of `count` pieces of work fall to one worker."""
        return -(-count // max(self._crew.size, 1))
