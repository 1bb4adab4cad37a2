"""What an implementation gave for one input, and what the judge says of it: the evidence that hypotheses must meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bnfuzz import formats
from bnfuzz.backends.pool import Pool
from bnfuzz.case import Array, Inputs, Outputs, Spec, expected_outputs
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError
from bnfuzz.evaluation import CALL, judged_steps
from bnfuzz.judge.compare import Judgement, judge
from bnfuzz.judge.verdict import FINDINGS, Verdict
from bnfuzz.numerics.reference import Reference, evaluate
from bnfuzz.numerics.rules import rules_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """What came back from one call.

    outputs   None where the call ended otherwise
    raised    message of the exception
    lost      how the process ended, for a crash or a deadline passed
    mutated   names of the inputs that the call changed
    """

    outputs: Outputs | None = None
    raised: str = ""
    lost: str = ""
    mutated: tuple[str, ...] = ()


Ask = Callable[[Spec, Inputs], Answer | None]
"""Runs one trial; None where the Spec cannot be expressed."""

Run = Callable[[Spec, Inputs], Outputs | None]

OWN = "the case"
STORED = "the stored values"
"""Titles of observations of the case itself."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Observation:
    """One input and its answer, judged.

    steps   one Judgement per step; empty where the call gave no outputs
    known   output -> mask of the elements that are known, where not all are (a stored verdict tells the worst only)
    title   what sort of input it is, in a few words
    """

    spec: Spec
    inputs: Inputs
    conventions: Conventions
    answer: Answer
    steps: tuple[Judgement, ...] = ()
    known: Mapping[str, NDArray[np.bool_]] | None = None
    title: str = OWN

    @cached_property
    def reference(self) -> Reference:
        """Of a one-step Spec; evaluated once."""
        if self.steps:
            return self.steps[0].reference
        return evaluate(self.spec, self.inputs, rules_of(self.spec, self.conventions))

    def answered(self, answer: Answer) -> Observation:
        """The same input with another answer, judged."""
        steps: tuple[Judgement, ...] = ()
        if answer.outputs is not None:
            if len(self.spec.steps) > 1:
                steps = tuple(judged_steps(answer.outputs, self.spec, self.inputs, self.conventions, None))
            else:
                steps = (judge(self.reference, answer.outputs),)
        return replace(self, answer=answer, steps=steps)

    def failing(self) -> tuple[Verdict, ...]:
        """The findings, in data-flow order."""
        verdicts = []
        if self.answer.mutated:
            verdicts.append(_call("mutated", f"changed its {', '.join(self.answer.mutated)}"))
        if self.answer.raised:
            verdicts.append(_call("error", self.answer.raised))
        if self.answer.lost:
            verdicts.append(_call("crash", self.answer.lost))
        for step in self.steps:
            verdicts += [verdict for verdict in step.verdicts(0) if verdict.kind in FINDINGS]
        return tuple(verdicts)

    def failing_outputs(self) -> frozenset[str]:
        return frozenset(verdict.output for verdict in self.failing())

    def undecided_outputs(self) -> frozenset[str]:
        """Outputs that the judge could say nothing of."""
        verdicts = [verdict for step in self.steps for verdict in step.verdicts(0)]
        return frozenset(verdict.output for verdict in verdicts if verdict.kind in ("vacuous", "uncertain"))


def _call(kind: str, why: str) -> Verdict:
    return Verdict(output=CALL, kind=kind, severity=np.inf, why=why)  # type: ignore[arg-type]  # one of the kinds


def observed(
    spec: Spec,
    inputs: Inputs,
    conventions: Conventions,
    answer: Answer,
    *,
    title: str = OWN,
    known: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Observation:
    """The answer, judged step by step."""
    asked = Observation(spec=spec, inputs=inputs, conventions=conventions, answer=Answer(), known=known, title=title)
    return asked.answered(answer)


def asking(pool: Pool, backend: str) -> Ask:
    """A backend of the pool as something to ask."""

    def ask(spec: Spec, inputs: Inputs) -> Answer | None:
        reply = pool.run((backend,), spec, inputs)[backend]
        if reply.status == "unsupported":
            return None
        if reply.status == "error":
            return Answer(raised=reply.message, mutated=reply.mutated)
        if reply.status in ("crash", "hang"):
            return Answer(lost=f"{reply.status}: {reply.message}")
        return Answer(outputs=reply.outputs, mutated=reply.mutated)

    return ask


def calling(run: Run) -> Ask:
    """A function in this process as something to ask: it is handed copies, and what it changes in them shows."""

    def ask(spec: Spec, inputs: Inputs) -> Answer | None:
        handed = Inputs(**{name: array.copy() for name, array in inputs.items()})
        try:
            outputs = run(spec, handed)
        except UsageError:
            raise
        except Exception as error:  # whatever it raises is its answer
            return Answer(raised=f"{type(error).__name__}: {error}", mutated=_changed(inputs, handed))
        if outputs is None:
            return None
        return Answer(outputs=outputs, mutated=_changed(inputs, handed))

    return ask


def _changed(before: Inputs, after: Inputs) -> tuple[str, ...]:
    handed = dict(after.items())
    return tuple(name for name, array in before.items() if array.tobytes() != handed[name].tobytes())


def from_stored(
    spec: Spec, inputs: Inputs, conventions: Conventions, verdicts: tuple[Verdict, ...]
) -> Observation | None:
    """What stored verdicts still tell: the worst element of each failing output. None where they tell no value."""
    if len(spec.steps) != 1:
        return None
    exact = evaluate(spec, inputs, rules_of(spec, conventions))
    arrays: dict[str, Array] = {}
    known: dict[str, NDArray[np.bool_]] = {}
    for verdict in verdicts:
        if verdict.output not in exact.outputs or not verdict.is_finding or not _tells(verdict):
            continue
        reference = exact.outputs[verdict.output]
        dtype = formats.named(expected_outputs(spec)[verdict.output][1]).dtype
        with np.errstate(all="ignore"):
            arrays[verdict.output] = np.array(reference.value).astype(dtype)
        arrays[verdict.output][(0, *verdict.index)] = verdict.observed
        known[verdict.output] = np.zeros(reference.value.shape[1:], dtype=bool)
        known[verdict.output][verdict.index] = True
    if not arrays:
        return None
    answer = Answer(outputs=Outputs(**arrays))
    return observed(spec, inputs, conventions, answer, known=known, title=STORED)


def _tells(verdict: Verdict) -> bool:
    return verdict.kind not in ("shape", "dtype", "error", "crash", "hang", "mutated")
