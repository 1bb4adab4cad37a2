"""The loop: passes propose smaller cases, the backend and the judge decide, the first that serves is taken."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bnfuzz.case import Case, Inputs, Spec
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.block import Block, can_be_laid_out, capacity, fingerprint, stacked
from bnfuzz.shrink.measure import Measure, measure
from bnfuzz.shrink.plain import plain_arrays, plain_features
from bnfuzz.shrink.smaller import fewer_axes, fewer_positions, fewer_steps, leaps
from bnfuzz.shrink.story import step_text
from bnfuzz.shrink.values import single_values, whole_arrays
from bnfuzz.signature import first_failing

Evaluate = Callable[[Spec, Inputs], Sequence[tuple[Verdict, ...]]]
"""Runs and judges all trials: the verdicts of each, in order."""

Accept = Callable[[Spec, tuple[Verdict, ...]], bool]
"""Whether verdicts still show the fault (see `goal.Goal`)."""

Pass = Callable[[Case, Verdict], Iterator[Block]]

PASSES: tuple[Pass, ...] = (
    leaps,
    fewer_steps,
    fewer_positions,
    fewer_axes,
    plain_features,
    plain_arrays,
    whole_arrays,
    single_values,
)
"""In the order in which they are tried, again and again until none of them achieves anything."""

MOST_ALONE = 6
"""Candidates of a block that are tried where each needs a call of its own."""

_UNKNOWN = Verdict(output="call", kind="error")


@dataclass(frozen=True, kw_only=True, eq=False)
class Shrunk:
    """What became of a case.

    verdicts     of `case`
    steps        what was done, one line each; empty where nothing could be made smaller
    evaluations  calls of the evaluator
    finished     nothing is left to try; False where time or calls ran out: shrinking `case` again goes on
    reproduced   the case as given still showed the fault
    """

    case: Case
    verdicts: tuple[Verdict, ...]
    steps: tuple[str, ...] = ()
    evaluations: int = 0
    finished: bool = True
    reproduced: bool = True


def shrink(
    case: Case,
    *,
    evaluate: Evaluate,
    accept: Accept,
    deadline: float,
    verdicts: tuple[Verdict, ...] | None = None,
    alone: bool = False,
    most_evaluations: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Shrunk:
    """A case that is as small and round as the passes can make it and that `accept` still accepts.

    deadline          in the time of `clock`, looked at before each call of the evaluator
    verdicts          of the case, where they are known; otherwise they are found first
    alone             evaluate one candidate at a time: a crash, a hang and an error belong to a whole call
    most_evaluations  stop after so many calls
    """

    def over(evaluations: int) -> bool:
        return clock() >= deadline or (most_evaluations is not None and evaluations >= most_evaluations)

    run = _Run(evaluate, accept, over, alone=alone)
    if verdicts is None:
        try:
            verdicts = run.call((case,))[0]
        except _OverError:
            return Shrunk(case=case, verdicts=(), finished=False)
        if not accept(case.spec, verdicts):
            return Shrunk(case=case, verdicts=verdicts, evaluations=run.evaluations, reproduced=False)
    run.take(case, verdicts)
    finished = run.to_the_end()
    return Shrunk(
        case=run.case,
        verdicts=run.verdicts,
        steps=tuple(run.steps),
        evaluations=run.evaluations,
        finished=finished,
    )


class _Run:
    """The state of one call of `shrink`."""

    case: Case
    verdicts: tuple[Verdict, ...]
    size: Measure

    def __init__(self, evaluate: Evaluate, accept: Accept, over: Callable[[int], bool], *, alone: bool) -> None:
        self._evaluate, self._accept, self._over, self._alone = evaluate, accept, over, alone
        self._tried: set[tuple[Spec, bytes]] = set()
        self.steps: list[str] = []
        self.evaluations = 0

    def take(self, case: Case, verdicts: tuple[Verdict, ...]) -> None:
        self.case, self.verdicts, self.size = case, verdicts, measure(case)
        self._tried.add(fingerprint(case))

    def call(self, cases: Sequence[Case]) -> Sequence[tuple[Verdict, ...]]:
        """Evaluates cases of one Spec; raises _OverError where time or calls have run out."""
        if self._over(self.evaluations):
            raise _OverError
        self.evaluations += 1
        return self._evaluate(cases[0].spec, stacked(cases))

    def to_the_end(self) -> bool:
        """Runs the passes until none helps (True), or until time or calls run out (False)."""
        try:
            while sum(self._repeat(propose) for propose in PASSES):
                pass
        except _OverError:
            return False
        return True

    def _repeat(self, propose: Pass) -> bool:
        """One pass until it achieves nothing more; whether it achieved anything.

        What did not help is not tried again after something else did: that is left to the next round.
        """
        before = len(self.steps)
        useless: set[str] = set()
        while self._improve(propose, useless):
            pass
        return len(self.steps) > before

    def _improve(self, propose: Pass, useless: set[str]) -> bool:
        for block in propose(self.case, first_failing(self.verdicts) or _UNKNOWN):
            if block.what in useless:
                continue
            useless.add(block.what)
            cases = self._worthwhile(block)
            together = 1 if self._alone else capacity(block.spec)
            for start in range(0, len(cases), together):
                part = cases[start : start + together]
                self._tried.update(map(fingerprint, part))
                for candidate, verdicts in zip(part, self.call(part), strict=True):
                    if self._accept(candidate.spec, verdicts):
                        self.steps.append(step_text(block.what, self.case, candidate))
                        self.take(candidate, verdicts)
                        useless.discard(block.what)
                        return True
        return False

    def _worthwhile(self, block: Block) -> list[Case]:
        """The candidates that are smaller than the case, new, and possible: the smallest first."""
        sized: dict[tuple[Spec, bytes], tuple[Measure, Case]] = {}
        for case in block.cases:
            key = fingerprint(case)
            if key not in self._tried and key not in sized:
                size = measure(case)
                if size < self.size and can_be_laid_out(case):
                    sized[key] = size, case
        ordered = sorted(sized.values(), key=lambda pair: pair[0])
        return [case for _, case in ordered][: MOST_ALONE if self._alone else None]


class _OverError(Exception):
    """Time or calls have run out."""
