"""The campaign: rounds of plans through all backends until the budget is spent.

While the workers compute one plan, the one before it is judged here, all trials at once, and the reference of this one
is evaluated. In aimed rounds log10 of the largest severity per backend and output goes to `hypothesis.target`.
Backends that are slow by nature (op-by-op JAX) get a small share of the plans and trials.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hypothesis import target

from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.budget import Budget
from bnfuzz.campaign.discover import Discoveries, Discovery
from bnfuzz.campaign.draw import each_plan, is_aimed, vocabulary
from bnfuzz.campaign.scatter import Scatter
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.tally import BackendTally, Tally
from bnfuzz.case import OUTPUT_NAMES, Inputs, Spec
from bnfuzz.conventions import FormatTriple
from bnfuzz.corpus import Corpus
from bnfuzz.errors import UsageError
from bnfuzz.evaluation import Block, Result, evaluate_block
from bnfuzz.judge.relations import EXACT
from bnfuzz.relating import relate_block
from bnfuzz.strategies import Plan, label

SLOW_PLANS = 24
"""A slow backend sees every so many plans …"""

SLOW_TRIALS = 8
"""… and at most this many of its trials."""

RELATED_PLANS = 16
"""Every sixteenth plan is run again, as it is and varied, for the relations that hold bit for bit …"""

RELATED_TRIALS = 6
"""… with this many of its trials."""

TARGET_RANGE = 12.0
"""log10 of a severity is clipped to ±12 for `target`, which wants finite numbers."""

FRUITLESS_ROUNDS = 3
"""After so many rounds of which no backend took a trial, the filters leave nothing."""

SMALL = 512
"""n·C up to which a trial counts as small in the closing table."""


@dataclass(frozen=True, eq=False)
class Report:
    """What a campaign came to. `interrupted`: ended by the user before its budget."""

    asked: Settings
    tally: Tally
    discoveries: Discoveries
    elapsed: float
    shrink_seconds: float
    interrupted: bool
    versions: dict[str, dict[str, str]]
    scatter: Scatter = field(default_factory=Scatter)

    @property
    def failed(self) -> bool:
        return bool(self.discoveries.failing)


class Campaign:
    """One budgeted search. `announce` is called for every new finding, `tick` after every plan."""

    def __init__(
        self,
        asked: Settings,
        pool: Pool,
        corpus: Corpus | None,
        *,
        announce: Callable[[Discovery], None],
        tick: Callable[[Campaign], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.asked = asked
        self.tally = Tally()
        self.scatter = Scatter()
        self._flying: tuple[Plan, Block] | None = None
        self._pool = pool
        self._tick = tick
        # Asked before the clock starts: it brings every worker up.
        self._versions = {name: pool.versions(name) for name in asked.backends}
        self._triples = self._accepted_formats()
        self._refuse_outputs_that_nobody_offers()
        for name in asked.backends:
            self.tally.backends[name] = BackendTally(slow=pool.backend(name).slow)
        self.budget = Budget(asked, clock)
        self.discoveries = Discoveries(
            pool, corpus, self.budget, origin=f"bnfuzz fuzz --seed {asked.seed}", announce=announce
        )

    def run(self) -> Report:
        """Searches until the budget is spent or the user interrupts."""
        interrupted = False
        try:
            while not self._over():
                self._round(self.tally.rounds)
                self.tally.rounds += 1
                if self.tally.rounds >= FRUITLESS_ROUNDS and not self.tally.tried:
                    raise UsageError("no backend takes any case that the filters leave; widen --format or --mode")
            self.discoveries.settle()
        except KeyboardInterrupt:
            interrupted = True
        return Report(
            asked=self.asked,
            tally=self.tally,
            discoveries=self.discoveries,
            elapsed=self.budget.elapsed,
            shrink_seconds=self.budget.shrink_seconds,
            interrupted=interrupted,
            versions=self._versions,
            scatter=self.scatter,
        )

    def _over(self) -> bool:
        """Nothing is left of the budget, or nothing to spend it on: every backend has hung."""
        hung = all(tally.hung for tally in self.tally.backends.values())
        return hung or self.budget.spent(self.tally.tried, self.discoveries.waiting)

    def _round(self, number: int) -> None:
        conventions = [self._pool.conventions(name) for name in self.asked.backends]
        specs = tuple(
            spec
            for spec in vocabulary(self.asked, self._triples, number)
            if any(stated.unsupported(spec) is None for stated in conventions)
        )
        seen: set[Spec] = set()

        def try_plan(plan: Plan) -> None:
            # Hypothesis wants its examples used up; after the end they cost nothing.
            if self._over():
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
            if is_aimed(number) or self.asked.cases is not None:
                self._finish(aimed=True)
            self._tick(self)

        each_plan(self.asked, specs, number, try_plan)
        self._finish()

    def _launched(self, plan: Plan) -> Block:
        inputs = plan.expand(self.asked.trials).select(slice(0, self._wanted()))
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
        self.tally.plans += 1
        self.tally.drawn.update(label(plan))
        self.tally.sizes[plan.spec.size <= SMALL] += inputs.trials
        results = block.results()
        usual, slow = tuple(results), self._running(slow=True)
        few = inputs.select(slice(0, SLOW_TRIALS))
        # The plan that was on its way at the end is judged, but nothing more is asked of anybody.
        more = not self._over()
        if slow and more and self.tally.plans % SLOW_PLANS == 1:
            results |= evaluate_block(self._pool, slow, plan.spec, few)
        for name, result in results.items():
            given = few if name in slow else inputs
            self.tally.backends[name].add(result, given.trials, self.asked.outputs)
            self.scatter.add(result, plan, self.asked.outputs)
            if aimed:
                self._aim(result)
            if len(result.failing()):
                self.discoveries.look(result, plan.spec, given, self.asked.outputs)
        self._count_rungs(results)
        if more and self.tally.plans % RELATED_PLANS == 1:
            self._relate(plan.spec, inputs, [results[name] for name in usual])

    def _relate(self, spec: Spec, inputs: Inputs, results: list[Result]) -> None:
        """Channel independence and determinism, on the backends that gave results."""
        replies = {result.backend: result.reply for result in results if result.judged}
        few = inputs.select(slice(0, RELATED_TRIALS))
        related = relate_block(self._pool, replies, spec, few, names=EXACT, first=replies, seed=self.asked.seed)
        for name, found in related.items():
            self.discoveries.look_related(found, spec, few, self.asked.outputs, seed=self.asked.seed)
            for variant, reply in found.lost:
                if reply.status in ("crash", "hang"):
                    self.tally.backends[name].hung |= reply.status == "hang"
                    self.discoveries.look(Result(name, reply), variant.spec, variant.inputs, self.asked.outputs)

    def _wanted(self) -> int:
        """Trials of the next plan: fewer than K where a budget of cases is nearly spent."""
        if self.asked.cases is None:
            return self.asked.trials
        left = self.asked.cases - self.tally.tried
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

    def _count_rungs(self, results: dict[str, Result]) -> None:
        for result in results.values():
            for step in result.steps:
                self.tally.rungs.update(step.reference.rungs)

    def _refuse_outputs_that_nobody_offers(self) -> None:
        offered = {output for name in self.asked.backends for output in self._pool.conventions(name).outputs}
        if self.asked.outputs and not offered & set(self.asked.outputs):
            names = ", ".join(output for output in OUTPUT_NAMES if output in offered)
            raise UsageError(f"--output {', '.join(self.asked.outputs)}: no backend offers it; they offer {names}")

    def _accepted_formats(self) -> tuple[FormatTriple, ...]:
        """Format triples that at least one backend accepts, in their order; refuses filters that leave none."""
        triples: dict[FormatTriple, None] = {}
        for name in self.asked.backends:
            triples.update(dict.fromkeys(self._pool.conventions(name).formats))
        if self.asked.formats and not any(triple[0] in self.asked.formats for triple in triples):
            accepted = ", ".join(sorted({triple[0] for triple in triples}))
            raise UsageError(f"--format {', '.join(self.asked.formats)}: no backend accepts it; they accept {accepted}")
        return tuple(triples)
