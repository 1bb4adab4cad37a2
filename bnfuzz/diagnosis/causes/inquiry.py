"""One inquiry into the cause of a failing case: every hypothesis on the case, further inputs until few are left, then
pairs.

1. Each hypothesis is held against the case's outputs; what one element contradicts is out.
2. The implementation is run on two inputs that every survivor must pass, then on inputs for which two supported
   survivors predict disjoint intervals, until one is left, nothing tells the rest apart, or ASKED inputs were run.
3. Where no single hypothesis is left, two that replace different steps are tried together.

A hypothesis is a cause when nothing contradicts it and at least one input supports it (consistency.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bnfuzz.case import Case, Inputs, Spec, expected_outputs
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.causes.consistency import Consistency, Trial, affected, apart, consistency
from bnfuzz.diagnosis.causes.experiment import Experiment, deciding, opening, poisoned
from bnfuzz.diagnosis.causes.hypothesis import SOUND, Hypothesis, single_hypotheses, together
from bnfuzz.diagnosis.causes.observation import (
    OWN,
    STORED,
    Answer,
    Ask,
    Observation,
    observed,
)
from bnfuzz.diagnosis.explanation import Cause, Explanation
from bnfuzz.formats import decimal
from bnfuzz.judge.unstable import REPRODUCES
from bnfuzz.judge.verdict import Verdict

ASKED = 14
"""Inputs that an implementation is run on at most, the opening ones included."""

GRADIENTS = ("dgamma", "dbeta", "dx")

LARGE = 4096
"""Above so many elements a hypothesis must come near the worst elements before its enclosures are evaluated."""


@dataclass(eq=False)
class Suspect:
    """A hypothesis that nothing contradicts so far, and where it was supported."""

    hypothesis: Hypothesis
    evidence: tuple[str, ...] = ()
    supported: int = 0
    shown: str = ""


@dataclass(eq=False)
class Inquiry:
    """One inquiry under way."""

    case: Case
    conventions: Conventions
    answer: Answer
    ask: Ask | None
    known: Observation | None = None
    seen: list[Observation] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    note: str = ""

    def explanation(self) -> Explanation:
        case = self.case
        first = self.known or observed(case.spec, case.inputs, self.conventions, self.answer)
        self.seen = [first]
        if not first.failing() and self.ask is not None:
            first = self._leaking() or first
            self.seen = [first]
        verdicts = first.failing()
        where = "" if first.title in (OWN, STORED) else f"{first.title}: "
        failing = tuple(f"{where}{told(first.spec, verdict)}" for verdict in verdicts)
        if not verdicts:
            return Explanation(note="all outputs are within their bounds")
        if all(verdict.kind == "range" for verdict in verdicts):
            return Explanation(causes=(_overflow(case, self.conventions),), failing=failing)
        alive = self._left(list(map(Suspect, single_hypotheses(case.spec, self.conventions))), first)
        if self.ask is not None and not self.answer.lost:
            alive = self._opened(alive)
            alive = self._likeliest(self._decided(alive))
        causes = self._causes(alive)
        if not causes and not self.answer.lost:
            pairs = self._pairs()
            if self.ask is not None:
                pairs = self._decided(pairs)
            causes = self._causes(pairs)
        if not causes and (found := self._by_forward()) is not None:
            return replace(found, failing=failing)
        if len(causes) > 1:
            self.note = self._why_tied()
        return Explanation(
            causes=tuple(causes),
            failing=failing,
            excluded=tuple(self.excluded),
            asked=tuple(f"{one.title}: {_summary(one)}" for one in self.seen[1:]),
            note=self.note,
        )

    def _leaking(self) -> Observation | None:
        """A case that fails by a relation between calls only: the same with a NaN in one channel, if that fails."""
        experiment = poisoned(self.case)
        if experiment is None or self.conventions.unsupported(experiment.case.spec) is not None:
            return None
        observation = self._run(experiment)
        return observation if observation is not None and observation.failing() else None

    # -- eliminating ------------------------------------------------------------------------------------------------

    def _left(self, suspects: Sequence[Suspect], observation: Observation) -> list[Suspect]:
        """Those that the observation does not contradict."""
        left = []
        for suspect in suspects:
            trial = Trial(suspect.hypothesis, observation)
            if observation.spec.size > LARGE and not _near(trial):
                continue
            verdict = consistency(trial)
            if verdict.holds:
                self._credit(suspect, verdict, observation)
                left.append(suspect)
            elif suspect.evidence or (suspect.supported and observation is not self.seen[0]):
                self.excluded.append(f"{suspect.hypothesis.name}: {observation.title}: {verdict.contradiction}")
        return left

    def _credit(self, suspect: Suspect, verdict: Consistency, observation: Observation) -> None:
        if verdict.supported:
            suspect.supported += 1
            if not suspect.evidence:
                where = "" if observation is self.seen[0] else f"{observation.title}: "
                suspect.evidence = tuple(f"{where}{line}" for line in verdict.evidence)

    def _opened(self, alive: list[Suspect]) -> list[Suspect]:
        for experiment in opening(self.case, self.conventions, raised=bool(self.answer.raised)):
            observation = self._run(experiment)
            if observation is not None:
                alive = self._left(alive, observation)
        return alive

    def _decided(self, alive: list[Suspect]) -> list[Suspect]:
        """Asks as long as an input makes two supported survivors predict what no run can give at once; where nothing
        has any support, as long as an input may give it."""
        asked = {experiment.title for experiment in self.seen}
        for experiment in deciding(self.case, self.conventions, [suspect.hypothesis for suspect in alive]):
            if not alive or sum(suspect.supported > 0 for suspect in alive) == 1:
                break
            if len(self.seen) > ASKED:
                break
            if experiment.title in asked or not self._separates(experiment, alive):
                continue
            asked.add(experiment.title)
            observation = self._run(experiment)
            if observation is not None:
                alive = self._left(alive, observation)
        return alive

    def _run(self, experiment: Experiment) -> Observation | None:
        assert self.ask is not None
        spec, inputs = experiment.case.spec, experiment.case.inputs
        answer = self.ask(spec, inputs)
        if answer is None:
            return None
        observation = observed(spec, inputs, self.conventions, answer, title=experiment.title)
        self.seen.append(observation)
        return observation

    def _separates(self, experiment: Experiment, alive: list[Suspect]) -> bool:
        """Whether the experiment is worth its while."""
        blank = Observation(
            spec=experiment.case.spec,
            inputs=experiment.case.inputs,
            conventions=self.conventions,
            answer=Answer(),
        )
        trials = [Trial(suspect.hypothesis, blank) for suspect in alive if suspect.supported]
        if not trials:
            sound = Trial(SOUND, blank)
            left = [Trial(suspect.hypothesis, blank) for suspect in alive]
            # The enclosure of an unstable evaluation reaches to the truth, though its own run is far from it.
            return any(self._differ(trial, sound) or any(trial.ways) for trial in left)
        return any(self._differ(first, second) for place, first in enumerate(trials) for second in trials[place + 1 :])

    def _differ(self, first: Trial, second: Trial) -> bool:
        algorithms = {first.hypothesis.kind, second.hypothesis.kind} == {"algorithm"}
        if algorithms and not set(first.ways) & set(second.ways):
            return True
        if first.raises != second.raises or set(first.mutates) != set(second.mutates):
            return True
        if first.raises or first.predictions is None or second.predictions is None:
            return False
        with np.errstate(all="ignore"):
            return any(
                name in self.conventions.outputs and bool(apart(one[name], other[name]).any())
                for one, other in zip(first.predictions, second.predictions, strict=False)
                for name in one
            )

    def _likeliest(self, alive: list[Suspect]) -> list[Suspect]:
        """Of several unstable evaluations, whose enclosures may be too wide to contradict anything, those whose own
        runs fail most like what was seen: in the same outputs, with the same kinds of verdict, over all inputs."""
        rivals = [suspect for suspect in alive if suspect.supported and suspect.hypothesis.kind == "algorithm"]
        if len(rivals) < 2:
            return alive
        unlike = {id(suspect): self._unlikeness(suspect.hypothesis) for suspect in rivals}
        least = min(count for count, _ in unlike.values())
        for suspect in rivals:
            count, where = unlike[id(suspect)]
            if count > least:
                self.excluded.append(f"{suspect.hypothesis.name}: {where}")
                alive = [other for other in alive if other is not suspect]
        return alive

    def _unlikeness(self, hypothesis: Hypothesis) -> tuple[int, str]:
        """How many verdicts of its own runs differ from those seen, and where first."""
        count, where = 0, ""
        for observation in self.seen:
            seen = {(verdict.output, verdict.kind) for verdict in observation.failing()}
            ways = Trial(hypothesis, observation).ways
            nearest = min(ways, key=lambda way: len(way ^ seen))
            count += len(nearest ^ seen)
            if nearest ^ seen and not where:
                own = ", ".join(f"{output} {kind}" for output, kind in sorted(nearest)) or "nothing"
                where = f"{observation.title}: its own run fails in {own}"
        return count, where

    # -- pairs --------------------------------------------------------------------------------------------------------

    def _pairs(self) -> list[Suspect]:
        """Two hypotheses together that no observation contradicts: both change only outputs that fail, and together
        all of those."""
        telling = max(self.seen, key=lambda one: len(one.failing_outputs()))
        failing = telling.failing_outputs()
        allowed = failing | telling.undecided_outputs()
        parts: list[tuple[Hypothesis, frozenset[str]]] = []
        for hypothesis in single_hypotheses(self.case.spec, self.conventions):
            changes = affected(Trial(hypothesis, telling))
            if changes & failing and changes <= allowed:
                parts.append((hypothesis, changes))
        found: list[Suspect] = []
        for place, (first, changed) in enumerate(parts):
            for second, also in parts[place + 1 :]:
                both = together(first, second) if failing <= changed | also else None
                if both is not None and _near(Trial(both, telling)):
                    suspect = Suspect(both)
                    if all(self._left([suspect], observation) for observation in self.seen):
                        found.append(suspect)
        return sorted(found, key=lambda suspect: suspect.hypothesis.simplicity)

    # -- the forward outputs alone ------------------------------------------------------------------------------------

    def _by_forward(self) -> Explanation | None:
        """What explains the forward outputs, where nothing explains all.

        A framework that differentiates a deviating forward gives that forward's gradients; the catalogue's kernels keep
        the textbook's.
        """
        ask, outputs = self.ask, self.answer.outputs
        if ask is None or outputs is None or all(getattr(outputs, name) is None for name in GRADIENTS):
            return None

        def forward(spec: Spec, inputs: Inputs) -> Answer | None:
            answer = ask(spec, inputs)
            return None if answer is None else _without_gradients(answer)

        found = Inquiry(self.case, self.conventions, _without_gradients(self.answer), forward).explanation()
        if not found.causes:
            return None
        note = "by the forward outputs alone: the gradients are not the textbook's, but may be those of this forward"
        return replace(found, note=f"{note}; {found.note}" if found.note else note)

    # -- concluding -------------------------------------------------------------------------------------------------

    def _causes(self, alive: list[Suspect]) -> list[Cause]:
        return [
            Cause(
                name=suspect.hypothesis.name,
                sentence=suspect.hypothesis.sentence,
                kind=suspect.hypothesis.kind,
                evidence=suspect.evidence,
            )
            for suspect in sorted(alive, key=lambda suspect: suspect.hypothesis.simplicity)
            if suspect.supported
        ]

    def _why_tied(self) -> str:
        if self.ask is None:
            return "the backend was not asked; further inputs may tell these apart"
        if len(self.seen) > ASKED:
            return f"not told apart by {ASKED} inputs"
        return "they predict the same on all inputs that the backend can be asked, within their bounds"


def _without_gradients(answer: Answer) -> Answer:
    if answer.outputs is None:
        return answer
    return replace(answer, outputs=replace(answer.outputs, **dict.fromkeys(GRADIENTS)))


def _near(trial: Trial) -> bool:
    """Whether the kernel, run in the compute format, comes nearer to the worst failing elements than the truth is."""
    if trial.raises or trial.answer.outputs is None:
        return bool(trial.observation.answer.raised)
    for number, step in enumerate(trial.observation.steps):
        for output, verdict in zip(step.outputs, step.verdicts(0), strict=True):
            array = getattr(trial.answer.outputs, output.name)
            if not verdict.is_finding or output.observed is None or array is None:
                continue
            computed = array[0] if len(trial.spec.steps) == 1 else array[0, number]
            seen, there = float(verdict.observed), float(computed[verdict.index])
            with np.errstate(all="ignore"):
                if not abs(seen - there) <= abs(seen - verdict.exact) / REPRODUCES + 4 * verdict.bound:
                    both_lost = not np.isfinite(seen) and not np.isfinite(there)
                    if not both_lost:
                        return False
    return True


def _overflow(case: Case, conventions: Conventions) -> Cause:
    compute = conventions.compute_format(case.spec.data_format).name
    return Cause(
        name="range",
        sentence=f"an intermediate result of a sound kernel over- or underflows in {compute} on this input",
        kind="algorithm",
    )


def told(spec: Spec, verdict: Verdict) -> str:
    """One finding in a line."""
    if not verdict.index and verdict.n == 0:
        return f"{verdict.output} {verdict.kind}: {verdict.why}"
    at = f"[{', '.join(map(str, verdict.index))}]" if verdict.index else ""
    why = f" ({verdict.why})" if verdict.why else ""
    due = expected_outputs(replace(spec, steps=("training",)))
    name = due[verdict.output][1] if verdict.output in due else spec.data_format
    return (
        f"{verdict.output}{at} {verdict.kind}: observed {decimal(verdict.observed, name)}, "
        f"exact {decimal(verdict.exact, name)}, error/bound {verdict.severity:.3g}{why}"
    )


def _summary(observation: Observation) -> str:
    failing = sorted(observation.failing_outputs())
    return f"{', '.join(failing)} fail" if failing else "all within bounds"
