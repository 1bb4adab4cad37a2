"""Searching one unit: its plans through all backends, judged and counted.

While the workers compute one plan, the one before it is judged here, all trials at once, and the reference of this one
is evaluated. In aimed rounds log10 of the largest severity per backend and output goes to `hypothesis.target`.
Backends that are slow by nature (op-by-op JAX) get a small share of the plans and trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

import numpy as np
from hypothesis import target

from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.draw import PLANS_PER_SPEC, each_plan
from bnfuzz.campaign.findings.sightings import Sightings
from bnfuzz.campaign.scatter import Scatter
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.tally import BackendTally, Tally
from bnfuzz.campaign.units import Unit
from bnfuzz.case import Inputs, Spec
from bnfuzz.evaluation import Block, Result, evaluate_block
from bnfuzz.judge.relations import EXACT
from bnfuzz.relating import relate_block
from bnfuzz.strategies import Plan, label

SLOW_PLANS = 24
"""A slow backend sees every so many plans of a round …"""

SLOW_TRIALS = 8
"""… and at most this many of their trials."""

SEQUENCE_SHARE = 2
"""A sequence gets, step by step, one of so many of the trials of other plans."""

RELATED_PLANS = 16
"""Every sixteenth plan of a round is run again, as it is and varied, for the relations that hold bit for bit …"""

RELATED_TRIALS = 6
"""… with this many of its trials."""

TARGET_RANGE = 12.0
"""log10 of a severity is clipped to ±12 for `target`, which wants finite numbers."""

SMALL = 512
"""n·C up to which a trial counts as small in the closing table."""


class Search:
    """Runs units on the workers of `pool`, and counts into `tally` and `scatter`.

    cases  judged trials in the tally at which the search is over; None: no limit
    over   asked before every plan: whether the search has to end for another reason
    tick   called after every plan
    """

    def __init__(
        self,
        asked: Settings,
        pool: Pool,
        *,
        tally: Tally,
        scatter: Scatter,
        cases: int | None,
        over: Callable[[], bool],
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.asked = asked
        self.tally = tally
        self.scatter = scatter
        self._pool = pool
        self._cases = cases
        self._stop = over
        self._tick = tick
        self._flying: tuple[Plan, Block] | None = None

    def over(self) -> bool:
        """Nothing is left of the budget, or nothing to spend it on: every backend has hung."""
        hung = all(tally.hung for tally in self.tally.backends.values())
        return hung or (self._cases is not None and self.tally.tried >= self._cases) or self._stop()

    def run(self, unit: Unit, sightings: Sightings) -> None:
        """One unit to its end, or to the end of the search."""
        seen: set[Spec] = set()
        self._ordinal = unit.first * PLANS_PER_SPEC
        self._sightings = sightings
        self._flying = None
        self.tally.rounds = unit.round

        def try_plan(plan: Plan) -> None:
            # Hypothesis wants its examples used up; after the end they cost nothing.
            if self.over():
                return
            if plan.spec not in seen:
                seen.add(plan.spec)
                self.tally.specs += 1
            block = self._launched(plan)
            # While the workers have this plan, the one before it is judged. But Hypothesis must hear of a plan that
            # it follows before it draws the next, and a budget of cases must know what was judged.
            self._finish()
            self._flying = (plan, block)
            block.refer()
            if unit.aimed or self._cases is not None:
                self._finish(aimed=True)
            self._tick()

        each_plan(self.asked, unit.specs, unit.round, try_plan, first=unit.first)
        self._finish()

    def _launched(self, plan: Plan) -> Block:
        # Each step of a sequence is a trial of its own to the workers, and to the judge on every backend apart.
        several = SEQUENCE_SHARE * len(plan.spec.steps) if len(plan.spec.steps) > 1 else 1
        trials = max(1, self.asked.trials // several)
        inputs = plan.expand(trials).select(slice(0, self._wanted()))
        return Block(self._pool, self._running(slow=False), plan.spec, inputs)

    def _running(self, *, slow: bool) -> tuple[str, ...]:
        """Backends that have not hung, either the slow ones or the others."""
        tallies = self.tally.backends
        return tuple(name for name in self.asked.backends if not tallies[name].hung and tallies[name].slow == slow)

    def _finish(self, *, aimed: bool = False) -> None:
        """Judges the plan that is on its way, counts it, and looks at what fails."""
        if self._flying is None:
            return
        (plan, block), self._flying = self._flying, None
        inputs = block.inputs
        ordinal, self._ordinal = self._ordinal, self._ordinal + 1
        self.tally.plans += 1
        self.tally.drawn.update(label(plan))
        self.tally.sizes[plan.spec.size <= SMALL] += inputs.trials
        results = block.results()
        usual, slow = tuple(results), self._running(slow=True)
        few = inputs.select(slice(0, SLOW_TRIALS))
        # The plan that was on its way at the end is judged, but nothing more is asked of anybody.
        more = not self.over()
        if slow and more and ordinal % SLOW_PLANS == 0:
            results |= evaluate_block(self._pool, slow, plan.spec, few)
        for name, result in results.items():
            given = few if name in slow else inputs
            self.tally.backends[name].add(result, given.trials, self.asked.outputs)
            self.scatter.add(result, plan, self.asked.outputs)
            if aimed:
                self._aim(result)
            if len(result.failing()):
                self._sightings.look(result, plan.spec, given, self.asked.outputs)
        for result in results.values():
            for step in result.steps:
                self.tally.rungs.update(step.reference.rungs)
        if more and ordinal % RELATED_PLANS == 0:
            self._relate(plan.spec, inputs, [results[name] for name in usual])

    def _relate(self, spec: Spec, inputs: Inputs, results: list[Result]) -> None:
        """Channel independence and determinism, on the backends that gave results."""
        replies = {result.backend: result.reply for result in results if result.judged}
        few = inputs.select(slice(0, RELATED_TRIALS))
        related = relate_block(self._pool, replies, spec, few, names=EXACT, first=replies, seed=self.asked.seed)
        for name, found in related.items():
            self._sightings.look_related(found, spec, few, self.asked.outputs, seed=self.asked.seed)
            for variant, reply in found.lost:
                if reply.status in ("crash", "hang"):
                    self.tally.backends[name].hung |= reply.status == "hang"
                    died = Result(name, reply, variant.spec)
                    self._sightings.look(died, variant.spec, variant.inputs, self.asked.outputs)

    def _wanted(self) -> int:
        """Trials of the next plan: fewer than K where a budget of cases is nearly spent."""
        if self._cases is None:
            return self.asked.trials
        left = self._cases - self.tally.tried
        return min(self.asked.trials, max(1, -(-left // len(self.asked.backends))))

    def _aim(self, result: Result) -> None:
        """Tells Hypothesis how near to a finding the plan came, per output."""
        for step in result.steps[:1]:
            for output in step.outputs:
                finite = output.severity[np.isfinite(output.severity)]
                worst = float(np.max(finite, initial=0.0))
                score = math.log10(worst) if worst > 0 else -TARGET_RANGE
                score = min(max(score, -TARGET_RANGE), TARGET_RANGE)
                target(score, label=f"{result.backend} {output.name}")


def empty_tally(asked: Settings, pool: Pool, *, hung: Collection[str] = ()) -> Tally:
    """A tally that knows which backends are slow, and which are left out."""
    tally = Tally()
    for name in asked.backends:
        tally.backends[name] = BackendTally(slow=pool.backend(name).slow, hung=name in hung)
    return tally
