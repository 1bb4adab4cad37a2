"""Fault hunting: every planted fault on the same stream of plans until it is found or the budget is over.

The plans know nothing of the faults. One drawing of plans and one evaluation of the reference per set of rules
serves all faults that are still at large; a found one leaves the hunt. As in a campaign every sixteenth plan is also
checked for the relations that hold bit for bit; what fails on any plan is, too, since a leak that brings a NaN into
another channel is a leak, and only then a NaN.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bnfuzz.case import Spec
from bnfuzz.conventions import Conventions
from bnfuzz.evaluation import CALL, References
from bnfuzz.faults.backend import CONVENTIONS
from bnfuzz.faults.fault import Fault
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.judge.verdict import Verdict, precedence
from bnfuzz.selfcheck.attempt import Attempt, attempt
from bnfuzz.selfcheck.related import violations
from bnfuzz.selfcheck.vocabulary import every_plan, rounds
from bnfuzz.signature import first_failing, signature
from bnfuzz.strategies.plan import Plan

TRIALS = 4
"""Trials per plan: few, since nothing is compiled here and another plan tells more than another trial of the same."""

RELATED_PLANS = 16
"""Every sixteenth plan is varied once, for the relations, on all faults at large."""

CONFIRMING_DRAWS = 4
"""Ways in which a trial that fails is varied."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A fault as it was found.

    trials, seconds   how many trials had been run on it, and the time since the hunt began
    families          of the values: of the failing channel, where one can be named, else of all
    """

    verdict: Verdict
    spec: Spec
    trials: int
    seconds: float
    families: tuple[str, ...]
    signature: str


class Hunt:
    """A hunt for `faults`; `found` and `trials` (tried so far) are by name."""

    def __init__(self, faults: Iterable[Fault], *, seed: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.faults = {fault.name: fault for fault in faults}
        self.found: dict[str, Found] = {}
        self.trials = dict.fromkeys(self.faults, 0)
        self.plans = 0
        self.seed = seed
        self._clock = clock
        self._started = clock()

    @property
    def elapsed(self) -> float:
        return self._clock() - self._started

    @property
    def at_large(self) -> list[Fault]:
        return [fault for name, fault in self.faults.items() if name not in self.found]

    def run(self, *, seconds: float, plans: int | None = None) -> None:
        """Until all are found, the seconds are over, or so many plans were tried."""

        for plan in rounds(every_plan(), self.seed):
            if not self.at_large or self.elapsed >= seconds or (plans is not None and self.plans >= plans):
                return
            self.try_plan(plan)

    def try_plan(self, plan: Plan) -> None:
        """One plan for all faults at large."""
        self.plans += 1
        references = References(plan.expand(TRIALS))
        clean: dict[Conventions, Attempt] = {}
        for fault in self.at_large:
            if fault.example.operation != plan.spec.operation:
                continue
            conventions = fault.conventions(CONVENTIONS)
            attempted = attempt(fault.kernel, plan.spec, references, conventions)
            for trial in attempted.suspected():
                verdicts = attempted.failing(trial)
                if not verdicts:
                    continue
                if conventions not in clean:
                    clean[conventions] = attempt(CLEAN, plan.spec, references, conventions)
                usual = {(verdict.output, verdict.kind) for verdict in clean[conventions].failing(trial)}
                new = tuple(verdict for verdict in verdicts if (verdict.output, verdict.kind) not in usual)
                if new:
                    self._finds(fault, plan, trial, self._with_relations(fault, plan, references, trial, new))
                    break
            else:
                self.trials[fault.name] += TRIALS
                if self.plans % RELATED_PLANS == 1:
                    self._relate(fault, plan, references)

    def _relate(self, fault: Fault, plan: Plan, references: References) -> None:
        """The relations on all trials of a plan on which nothing else fails."""
        conventions = fault.conventions(CONVENTIONS)
        found = violations(fault.kernel, plan.spec, references.inputs, conventions, seed=self.seed, draws=1)
        for trial, verdicts in enumerate(found):
            if verdicts:
                self.trials[fault.name] -= TRIALS
                self._finds(fault, plan, trial, verdicts)
                return

    def _with_relations(
        self, fault: Fault, plan: Plan, references: References, trial: int, verdicts: tuple[Verdict, ...]
    ) -> tuple[Verdict, ...]:
        """What fails, and what the relations say of the same trial; one verdict per output, the first by precedence."""
        conventions, inputs = fault.conventions(CONVENTIONS), references.inputs.trial(trial)
        (related,) = violations(fault.kernel, plan.spec, inputs, conventions, seed=self.seed, draws=CONFIRMING_DRAWS)
        first = {verdict.output: verdict for verdict in verdicts}
        for verdict in related:
            known = first.get(verdict.output)
            if known is None or precedence(verdict.kind) < precedence(known.kind):
                first[verdict.output] = verdict
        return tuple(first.values())

    def _finds(self, fault: Fault, plan: Plan, trial: int, verdicts: tuple[Verdict, ...]) -> None:
        self.trials[fault.name] += trial + 1
        first = first_failing(verdicts)
        identity = signature(plan.spec, f"fault:{fault.name}", verdicts)
        assert first is not None
        assert identity is not None
        self.found[fault.name] = Found(
            verdict=first,
            spec=plan.spec,
            trials=self.trials[fault.name],
            seconds=self.elapsed,
            families=_families(plan, first),
            signature=identity,
        )


def _families(plan: Plan, verdict: Verdict) -> tuple[str, ...]:
    """Names of the families of the failing channel, or of all where the verdict names no channel."""
    spec = plan.spec
    channel = None
    if verdict.output != CALL and verdict.index and spec.operation == "batch_norm":
        channel = verdict.index[spec.kept_axes[0]] if verdict.output in ("y", "dx") else verdict.index[0]
    families = plan.families if channel is None else (plan.families[channel % len(plan.families)],)
    return tuple(sorted({family.name for family in families}))
