"""One block of trials through several backends, judged: what campaigns, shrinking, replay and pytest share.

While the workers compute, the reference is evaluated here, once per distinct set of rules. A call that ends in
an exception, a dead or a hung worker becomes a verdict of its own on the output named `call`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bnfuzz import formats
from bnfuzz.backends.execution import is_absent
from bnfuzz.backends.pool import Pool, Reply, Status
from bnfuzz.case import Case, Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.judge.compare import Judgement, judge
from bnfuzz.judge.regime import regime_of_call
from bnfuzz.judge.verdict import Kind, Verdict, precedence
from bnfuzz.numerics.reference import Reference, Rung, evaluate
from bnfuzz.numerics.rules import Rules, rules_of
from bnfuzz.signature import first_failing

CALL = "call"
"""The output that a verdict on the call itself is given for (error, crash, hang, mutated inputs)."""

_CALL_KINDS: dict[Status, Kind] = {"error": "error", "crash": "crash", "hang": "hang", "unsupported": "unsupported"}


@dataclass(frozen=True, eq=False)
class Result:
    """What one backend made of a block: one Judgement per step, or none where the call itself failed."""

    backend: str
    reply: Reply
    spec: Spec
    steps: tuple[Judgement, ...] = ()

    @property
    def judged(self) -> bool:
        return bool(self.steps)

    def failing(self) -> NDArray[np.intp]:
        """Trials with a finding; all of them where the call itself is the finding."""
        if not self.steps:
            return np.zeros(0 if self.reply.status == "unsupported" else 1, dtype=np.intp)
        if self.reply.mutated:
            return np.arange(len(self.steps[0].reference.rungs))
        return np.unique(np.concatenate([step.failing() for step in self.steps]))

    def kinds(self, trial: int) -> dict[str, Kind]:
        """Output -> kind of a trial, over several steps the first by precedence: `verdicts` without the rest."""
        if not self.steps:
            return {CALL: _CALL_KINDS[self.reply.status]}
        kinds: dict[str, Kind] = {CALL: "mutated"} if self.reply.mutated else {}
        for step in self.steps:
            for output in step.outputs:
                kind = output.told(trial)
                kinds[output.name] = min(kinds.get(output.name, kind), kind, key=precedence)
        return kinds

    def headline(self, trial: int, outputs: tuple[str, ...] = ()) -> Verdict | None:
        """The verdict that names the trial's finding: what `first_failing(verdicts(trial))` gives, without the rest."""
        if len(self.steps) == 1 and not self.reply.mutated:
            return self.steps[0].headline(trial, outputs)
        wanted = (*outputs, CALL)
        return first_failing(tuple(v for v in self.verdicts(trial) if not outputs or v.output in wanted))

    def verdicts(self, trial: int) -> tuple[Verdict, ...]:
        """One verdict per output: over several steps the worst, which then says in which step it was."""
        if not self.steps:
            kind, regime = _CALL_KINDS[self.reply.status], regime_of_call(self.spec)
            return (Verdict(output=CALL, kind=kind, regime=regime, why=self.reply.message),)
        verdicts: dict[str, Verdict] = {}
        if self.reply.mutated:
            why = f"changed its {', '.join(self.reply.mutated)}"
            verdicts[CALL] = Verdict(output=CALL, kind="mutated", severity=np.inf, why=why)
        for number, step in enumerate(self.steps, start=1):
            for verdict in step.verdicts(trial):
                said = verdict
                if len(self.steps) > 1 and verdict.kind != "ok":
                    said = replace(verdict, why=f"step {number}: {verdict.why}".rstrip(": "))
                known = verdicts.get(verdict.output)
                if known is None or _rank(said) < _rank(known):
                    verdicts[verdict.output] = said
        return tuple(verdicts.values())


def _rank(verdict: Verdict) -> tuple[int, float]:
    return precedence(verdict.kind), -verdict.severity


def evaluate_block(
    pool: Pool, backends: Iterable[str], spec: Spec, inputs: Inputs, *, rung: Rung | None = None
) -> dict[str, Result]:
    """Runs all trials on all backends and judges them; `rung` forces the reference's rung ("mpmath" confirms)."""
    return Block(pool, backends, spec, inputs, rung=rung).results()


class Block:
    """A block of trials on its way: the workers have it as soon as it is made; `results` waits, and judges.

    `refer` evaluates the references, which is best done while the workers compute.
    """

    def __init__(
        self, pool: Pool, backends: Iterable[str], spec: Spec, inputs: Inputs, *, rung: Rung | None = None
    ) -> None:
        self.spec = spec
        self.inputs = inputs
        self._names = tuple(backends)
        self._pool = pool
        self._references = References(inputs, rung)
        self._pending = pool.submit(self._names, spec, inputs)

    def refer(self) -> None:
        """Evaluates the reference under the rules of every backend that takes the Spec."""
        if len(self.spec.steps) == 1:
            for name in self._names:
                if self._pool.conventions(name).unsupported(self.spec) is None:
                    self._references.of(self.spec, self._pool.conventions(name))

    def results(self) -> dict[str, Result]:
        """What every backend made of it, in the order of the names."""
        self.refer()
        return {
            name: _result(name, reply, self.spec, self.inputs, self._pool.conventions(name), self._references)
            for name, reply in self._pending.collect().items()
        }


def evaluate_case(pool: Pool, backend: str, case: Case, *, rung: Rung | None = None) -> tuple[Verdict, ...]:
    """The verdicts of one backend on one Case."""
    return evaluate_block(pool, (backend,), case.spec, case.inputs, rung=rung)[backend].verdicts(0)


class References:
    """References of one block of inputs, evaluated once per set of rules."""

    def __init__(self, inputs: Inputs, rung: Rung | None = None) -> None:
        self.inputs = inputs
        self.rung: Rung | None = rung
        self._known: dict[Rules, Reference] = {}

    def of(self, spec: Spec, conventions: Conventions) -> Reference:
        """The Reference of a one-step Spec under these conventions."""
        rules = rules_of(spec, conventions)
        if rules not in self._known:
            self._known[rules] = evaluate(spec, self.inputs, rules, rung=self.rung)
        return self._known[rules]


def _result(
    name: str, reply: Reply, spec: Spec, inputs: Inputs, conventions: Conventions, references: References
) -> Result:
    if reply.status != "ok" or reply.outputs is None:
        return Result(name, reply, spec)
    if len(spec.steps) == 1:
        return Result(name, reply, spec, (judge(references.of(spec, conventions), reply.outputs),))
    return Result(name, reply, spec, tuple(judged_steps(reply.outputs, spec, inputs, conventions, references.rung)))


def judged_steps(
    outputs: Outputs, spec: Spec, inputs: Inputs, conventions: Conventions, rung: Rung | None
) -> Iterable[Judgement]:
    """Each step of a sequence, judged from the state that the backend itself left after the one before."""
    mean, variance = inputs.running_mean, inputs.running_var
    for number, mode in enumerate(spec.steps):
        step = replace(spec, steps=(mode,))
        given = inputs.at_step(number, running_mean=mean, running_var=variance)
        given_back = {name: array[:, number] for name, array in outputs.items()}
        seen = Outputs(**{name: array for name, array in given_back.items() if not is_absent(array)})
        if mode == "inference":
            seen = replace(seen, batch_mean=None, batch_var=None)
        yield judge(evaluate(step, given, rules_of(step, conventions), rung=rung), seen)
        if spec.has_running and seen.new_running_mean is not None and seen.new_running_var is not None:
            mean, variance = seen.new_running_mean, seen.new_running_var
            due = (inputs.trials, *spec.statistics_shape), formats.named(spec.statistics_format).dtype
            if any((state.shape, state.dtype) != due for state in (mean, variance)):
                # A state of the wrong shape or format is a finding of this step; nothing can be judged from it.
                return
