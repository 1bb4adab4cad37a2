"""Shrinking a Finding on the backend that it was made on, and confirming what remains."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Inputs, Spec
from bnfuzz.casefile.tree import case_id
from bnfuzz.evaluation import CALL, Result, evaluate_block, evaluate_case
from bnfuzz.finding import Descent, Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.goal import Goal
from bnfuzz.shrink.minimise import Shrunk, shrink
from bnfuzz.signature import first_failing, signature

MOST_HANGS = 8
"""Calls that are spent on shrinking a hang: each may last until its deadline."""


@dataclass(frozen=True)
class PoolEvaluator:
    """One backend of a pool as an evaluator. A block that fails as a whole is halved, to clear the sound trials."""

    pool: Pool
    backend: str

    def __call__(self, spec: Spec, inputs: Inputs) -> Sequence[tuple[Verdict, ...]]:
        result = evaluate_block(self.pool, (self.backend,), spec, inputs)[self.backend]
        if result.judged or inputs.trials == 1 or result.reply.status in ("unsupported", "hang"):
            return _Verdicts(result, inputs.trials)
        half = inputs.trials // 2
        first, second = (self(spec, inputs.select(part)) for part in (slice(0, half), slice(half, None)))
        return [*first, *second]


class _Verdicts(Sequence[tuple[Verdict, ...]]):
    """The verdicts of a Result's failing trials, written out when they are asked for; none for the others."""

    def __init__(self, result: Result, trials: int) -> None:
        self._result, self._trials = result, trials
        self._failing = {int(trial) for trial in result.failing()} if result.judged else set(range(trials))

    def __len__(self) -> int:
        return self._trials

    @overload
    def __getitem__(self, trial: int) -> tuple[Verdict, ...]: ...
    @overload
    def __getitem__(self, trial: slice) -> Sequence[tuple[Verdict, ...]]: ...
    def __getitem__(self, trial: int | slice) -> tuple[Verdict, ...] | Sequence[tuple[Verdict, ...]]:
        if isinstance(trial, slice):
            return [self[k] for k in range(*trial.indices(self._trials))]
        if not -self._trials <= trial < self._trials:
            raise IndexError(trial)
        number = trial % self._trials
        return self._result.verdicts(number) if number in self._failing else ()


def shrink_case(pool: Pool, finding: Finding, *, seconds: float, goal: Goal | None = None) -> Shrunk:
    """The finding's case made smaller, unconfirmed. `goal` (by default the finding's) holds on over several calls."""
    first = first_failing(finding.verdicts)
    on_call = first is not None and first.output == CALL
    return shrink(
        finding.case,
        evaluate=PoolEvaluator(pool, finding.backend),
        accept=goal or Goal.of(finding),
        deadline=time.monotonic() + seconds,
        verdicts=finding.verdicts if on_call else None,
        alone=on_call,
        most_evaluations=MOST_HANGS if first is not None and first.kind == "hang" else None,
    )


def shrink_finding(pool: Pool, finding: Finding, *, seconds: float, goal: Goal | None = None) -> Finding:
    """The finding with a small, round case of the same fault, judged again with mpmath as the reference.

    Stops after `seconds` or a single call beyond them; the result can be shrunk further. `confirmed` says that
    mpmath gave the same signature. What it does not confirm is not kept: then the finding comes back with its
    own case. A fault of a sequence of steps may come back with fewer steps, and its signature with them.
    """
    shrunk = shrink_case(pool, finding, seconds=seconds, goal=goal)
    accept = goal or Goal.of(finding)
    descent = descent_of(finding, shrunk)
    if shrunk.steps:
        verdicts = evaluate_case(pool, finding.backend, shrunk.case, rung="mpmath")
        named = signature(shrunk.case.spec, finding.backend, verdicts)
        if named is not None and accept(shrunk.case.spec, verdicts):
            return replace(
                finding, case=shrunk.case, verdicts=verdicts, signature=named, confirmed=True, descent=descent
            )
    elif shrunk.reproduced:
        return confirm(pool, replace(finding, descent=descent))
    return confirm(pool, finding)


def descent_of(finding: Finding, shrunk: Shrunk) -> Descent:
    """How what is left came from the case that was found, by what was done now and before."""
    before, first = finding.descent, first_failing(finding.verdicts)
    if before is None:
        severity = 0.0 if first is None else first.severity
        return Descent(origin=case_id(finding.case), severity=severity, steps=shrunk.steps, finished=shrunk.finished)
    return replace(before, steps=before.steps + shrunk.steps, finished=shrunk.finished)


def confirm(pool: Pool, finding: Finding) -> Finding:
    """The finding judged again with mpmath: with its new verdicts and confirmed, where the signature is the same."""
    verdicts = evaluate_case(pool, finding.backend, finding.case, rung="mpmath")
    same = signature(finding.case.spec, finding.backend, verdicts) == finding.signature
    return replace(finding, verdicts=verdicts, confirmed=True) if same else replace(finding, confirmed=False)
