"""One kernel of the catalogue on one block of trials, in this process, judged as a campaign judges a backend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnfuzz.case import Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.evaluation import CALL, References, judged_steps
from bnfuzz.faults.backend import run
from bnfuzz.faults.kernel import Kernel
from bnfuzz.judge.compare import Judgement, judge
from bnfuzz.judge.verdict import FAILING, FINDINGS, Kind, Verdict, precedence
from bnfuzz.selfcheck.sieve import suspects


@dataclass(frozen=True, eq=False)
class Attempt:
    """What a kernel made of K trials.

    judgements   one per step; of the trials before the first that raised, none where that is the first or where
                 the sieve lets all outputs pass
    raised       message of the exception that ended the block, and `completed` the number of trials before it
    mutated      trial -> names of the inputs that the call had changed
    """

    judgements: tuple[Judgement, ...]
    completed: int
    raised: str
    mutated: dict[int, tuple[str, ...]]

    def failing(self, trial: int) -> tuple[Verdict, ...]:
        """The trial's verdicts of failing kinds."""
        if self.raised and trial == self.completed:
            return (Verdict(output=CALL, kind="error", why=self.raised),)
        named = [
            judged.headline(trial, (output.name,))
            for judged in self.judgements
            for output in judged.outputs
            if output.kinds[trial] in FAILING
        ]
        verdicts = [verdict for verdict in named if verdict is not None]
        if trial in self.mutated:
            why = f"changed its {', '.join(self.mutated[trial])}"
            verdicts.append(Verdict(output=CALL, kind="mutated", severity=np.inf, why=why))
        return tuple(verdicts)

    def passing(self, trial: int) -> dict[str, Kind]:
        """Output -> kind of the trial's outputs that are no finding in any step."""
        kinds: dict[str, Kind] = {}
        for judged in self.judgements if trial < self.completed else ():
            for output in judged.outputs:
                kind = output.told(trial)
                kinds[output.name] = min(kinds.get(output.name, kind), kind, key=precedence)
        return {name: kind for name, kind in kinds.items() if kind not in FINDINGS}

    def suspected(self) -> tuple[int, ...]:
        """Trials that may have a failing verdict, in order."""
        found = {int(trial) for judged in self.judgements for trial in judged.failing()} | set(self.mutated)
        return tuple(sorted(found | ({self.completed} if self.raised else set())))


def attempt(kernel: Kernel, spec: Spec, references: References, conventions: Conventions) -> Attempt:
    """Runs and judges all trials of `references.inputs`; an exception ends the block at its trial."""
    given = references.inputs
    handed = Inputs(**{name: array.copy() for name, array in given.items()})
    outputs: list[Outputs] = []
    raised = ""
    for k in range(given.trials):
        try:
            outputs.append(run(kernel, spec, handed.trial(k), conventions))
        except Exception as error:  # whatever a kernel raises is its result
            raised = f"{type(error).__name__}: {error}"
            break
    judgements: tuple[Judgement, ...] = ()
    if outputs:
        whole = Outputs(
            **{name: np.concatenate([getattr(one, name) for one in outputs]) for name, _ in outputs[0].items()}
        )
        judgements = _judged(spec, references, whole, len(outputs), conventions)
    return Attempt(judgements, len(outputs), raised, _mutated(given, handed))


def _judged(
    spec: Spec, references: References, outputs: Outputs, completed: int, conventions: Conventions
) -> tuple[Judgement, ...]:
    inputs = references.inputs
    if completed < inputs.trials:
        references = References(inputs.select(slice(0, completed)))
    if len(spec.steps) > 1:
        return tuple(judged_steps(outputs, spec, references.inputs, conventions, None))
    reference = references.of(spec, conventions)
    if not suspects(reference, outputs).any():
        return ()
    return (judge(reference, outputs),)


def _mutated(given: Inputs, handed: Inputs) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    after = dict(handed.items())
    for name, array in given.items():
        for k in range(given.trials):
            if array[k].tobytes() != after[name][k].tobytes():
                found[k] = (*found.get(k, ()), name)
    return found
