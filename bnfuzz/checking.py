"""One check of a function, under way: what is drawn, what fails, and what becomes of a failure."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from bnfuzz import machine
from bnfuzz.backends.function_backend import FunctionBackend
from bnfuzz.backends.in_process import InProcess
from bnfuzz.backends.reply import Reply
from bnfuzz.campaign.draw import each_example, seed_of
from bnfuzz.case import Case, Inputs, Mode, Spec, batch_norm_spec
from bnfuzz.casefile import read
from bnfuzz.check_result import CheckResult
from bnfuzz.diagnosis.explain import explain
from bnfuzz.errors import UsageError
from bnfuzz.evaluation import References, Result
from bnfuzz.finding import Finding
from bnfuzz.judge.compare import judge
from bnfuzz.judge.relations import EXACT
from bnfuzz.judge.verdict import Verdict, precedence
from bnfuzz.numerics.reference import Rung
from bnfuzz.relating import relate_block, relate_case
from bnfuzz.report.check_text import failure_message, raised_message
from bnfuzz.shrink.goal import Goal
from bnfuzz.shrink.minimise import shrink
from bnfuzz.signature import first_failing, signature
from bnfuzz.strategies import Plan, label, plans, specs
from bnfuzz.strategies.value_recipes import ValueName

SPECS: Mapping[str, int] = MappingProxyType({"jax": 8})
"""Specs that a check draws where compiling one is what takes the time; elsewhere OTHER_SPECS."""

OTHER_SPECS = 32
TRIALS_PER_SPEC = 20
"""At least."""

PLANS_PER_SPEC = 3
SPARE_DRAWS = 4
RELATED_SPECS = 4
"""Specs whose first plan is run once more, varied, to see whether channels leak into each other …"""

RELATED_TRIALS = 4
"""… with this many of its trials."""

SHRINK_SECONDS = 3.0
"""What a failure may be made smaller for."""


class CheckFailure(AssertionError):
    """The function is not the batch norm that it is checked to be. `finding` is None where it raised.

    Its text has the case, what is exact, what was observed, the cause where one is known, and how to reproduce it.
    """

    def __init__(self, text: str, finding: Finding | None = None) -> None:
        super().__init__(text)
        self.finding = finding


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is drawn; an empty field leaves it open."""

    shapes: tuple[tuple[int, ...], ...]
    axis: int | None
    modes: tuple[Mode, ...]
    families: tuple[ValueName, ...]


class Check:
    """One check under way: what failed so far, the worst trial of each signature."""

    def __init__(self, backend: FunctionBackend, result: CheckResult) -> None:
        self.backend, self.runs, self.result = backend, InProcess(backend), result
        self.name, self.stated = backend.name, backend.conventions
        self.failing: dict[str, Finding] = {}
        self.counts: Counter[str] = Counter()
        self.refusal = ""
        self._raised: CheckFailure | None = None
        self._related = 0

    def look_at_file(self, path: str | Path) -> None:
        case = read(path).case
        self.look(case.spec, case.inputs)

    def look(self, spec: Spec, inputs: Inputs) -> None:
        """Runs, judges and counts one block."""
        if self._raised is not None:
            return
        judged = self._judged(spec, inputs)
        if judged.reply.status == "error":
            self._blame(spec, inputs, judged.reply)
            return
        if judged.reply.status == "unsupported":
            self.refusal = judged.reply.message
        self.result.tally.add(judged, inputs.trials, ())
        if judged.judged:
            self.result.shapes.add(spec.shape)
            for output in judged.steps[0].outputs:
                passed = [s for s, kind in zip(output.severity, output.kinds, strict=True) if kind == "ok"]
                self.result.worst[output.name] = max([self.result.worst.get(output.name, 0.0), *map(float, passed)])
        for trial in judged.failing():
            self._note(spec, inputs.trial(int(trial)), self.result.contract.verdicts(judged, int(trial)))

    def relate(self, spec: Spec, inputs: Inputs) -> None:
        """Do channels leak into each other? On a few trials of one step."""
        few = inputs.select(slice(0, RELATED_TRIALS))
        first = self.runs.run((self.name,), spec, few)
        seed = self.result.seed
        related = relate_block(self.runs, (self.name,), spec, few, names=EXACT, seed=seed, first=first)[self.name]
        called = [(spec, few, first[self.name])]
        called += [(variant.spec, variant.inputs, reply) for variant, reply in related.lost]
        for which, given, reply in called:
            if reply.status == "error" and self._raised is None:
                self._blame(which, given, reply)
        for verdicts in related.verdicts.values():
            for trial, verdict in enumerate(verdicts):
                if verdict.is_finding:
                    self._note(spec, few.trial(trial), (verdict,))

    def draw(self, asked: Asked, trials: int) -> None:
        """Looks at drawn plans until so many trials are judged."""
        vocabulary = self._vocabulary(asked, trials)
        each = max(1, -(-trials // (len(vocabulary) * PLANS_PER_SPEC)))
        left = trials

        def body(plan: Plan) -> None:
            nonlocal left
            inputs = plan.expand(each).select(slice(0, left))
            if left <= 0 or self._raised is not None:
                return
            left -= inputs.trials
            self.result.drawn.update(label(plan))
            self.look(plan.spec, inputs)
            if self._related < RELATED_SPECS and self._raised is None and not self.failing:
                self._related += 1
                self.relate(plan.spec, inputs)

        for position, spec in enumerate(vocabulary):
            strategy = plans(spec, values=asked.families or None)
            each_example(strategy, seed_of(self.result.seed, position, "check"), PLANS_PER_SPEC, body)

    def failure(self, folder: Path | None) -> CheckFailure | None:
        """The gravest finding that mpmath confirms, shrunk, explained and written down; None where nothing fails."""
        if self._raised is not None:
            return self._raised

        def gravity(finding: Finding) -> tuple[int, float]:
            first = self._first(finding.verdicts)
            return (0, 0.0) if first is None else (precedence(first.kind), -first.severity)

        for finding in sorted(self.failing.values(), key=gravity):
            settled = self._settled(finding)
            if self._raised is not None:
                return self._raised
            if settled is not None:
                return self._told(settled, folder)
            self._doubt(finding)
        return None

    # -- one finding ------------------------------------------------------------------------------------------------

    def _first(self, verdicts: tuple[Verdict, ...]) -> Verdict | None:
        return first_failing(tuple(verdict for verdict in verdicts if self.result.contract.fails(verdict)))

    def _note(self, spec: Spec, inputs: Inputs, verdicts: tuple[Verdict, ...]) -> None:
        first = self._first(verdicts)
        if first is None:
            self.result.below.update({verdict.kind for verdict in verdicts if verdict.is_finding})
            return
        identity = signature(spec, self.name, (first,))
        assert identity is not None
        self.counts[identity] += 1
        known = self.failing.get(identity)
        worst = None if known is None else self._first(known.verdicts)
        if worst is None or first.severity > worst.severity:
            self.failing[identity] = Finding(
                case=Case(spec=spec, inputs=inputs),
                backend=self.name,
                verdicts=verdicts,
                signature=identity,
                environment=machine.describe(self.backend.versions()),
                origin=f"bnfuzz.check, seed {self.result.seed}",
            )

    def _blame(self, spec: Spec, inputs: Inputs, reply: Reply) -> None:
        """The first trial that raises alone; where none does, the block's first, with what the block's call raised."""
        for trial in range(inputs.trials):
            one = inputs.trial(trial)
            again = self.runs.run((self.name,), spec, one)[self.name]
            if again.status == "error":
                self._raised = CheckFailure(raised_message(self.name, Case(spec=spec, inputs=one), again.details))
                return
        first = Case(spec=spec, inputs=inputs.trial(0))
        self._raised = CheckFailure(raised_message(self.name, first, reply.details, among=inputs.trials))

    def _doubt(self, finding: Finding) -> None:
        """Counts the trials of a signature that did not fail again."""
        first = self._first(finding.verdicts)
        assert first is not None
        self.result.below["unconfirmed"] += self.counts[finding.signature]
        what = f"{first.output} {first.kind}"
        self.result.unconfirmed[what] = max(first.severity, self.result.unconfirmed.get(what, 0.0))

    def _settled(self, finding: Finding) -> Finding | None:
        """Shrunk and confirmed with mpmath; None where the most exact reference does not confirm it."""
        case, first = finding.case, self._first(finding.verdicts)
        assert first is not None
        if first.kind == "leak":
            verdicts = relate_case(self.runs, self.name, case, seed=self.result.seed)
            return replace(finding, verdicts=verdicts, confirmed=True) if self._first(verdicts) else None

        def evaluate(spec: Spec, inputs: Inputs) -> list[tuple[Verdict, ...]]:
            judged = self._judged(spec, inputs)
            if not judged.judged:
                return [judged.verdicts(0)] * inputs.trials
            return [self._failing_of(judged, trial) for trial in range(inputs.trials)]

        goal = Goal.of(replace(finding, verdicts=(first,)))
        smaller = shrink(
            case, evaluate=evaluate, accept=goal, deadline=time.monotonic() + SHRINK_SECONDS, verdicts=(first,)
        ).case
        for candidate in (smaller, case):
            judged = self._judged(candidate.spec, candidate.inputs, rung="mpmath")
            if judged.reply.status == "error":
                self._blame(candidate.spec, candidate.inputs, judged.reply)
                return None
            verdicts = self.result.contract.verdicts(judged, 0)
            if self._first(verdicts) is not None:
                return replace(finding, case=candidate, verdicts=verdicts, confirmed=True)
        return None

    def _failing_of(self, judged: Result, trial: int) -> tuple[Verdict, ...]:
        verdicts = self.result.contract.verdicts(judged, trial)
        return tuple(verdict for verdict in verdicts if self.result.contract.fails(verdict))

    def _told(self, finding: Finding, folder: Path | None) -> CheckFailure:
        case = finding.case
        outputs = self.runs.run((self.name,), case.spec, case.inputs)[self.name]
        explanation = explain(case, outputs.outputs, self.stated, run=self.runs.outputs, mutated=outputs.mutated)
        finding = replace(finding, cause=explanation.sentence)
        return CheckFailure(
            failure_message(
                finding,
                self.result,
                explanation,
                call=self.backend.written_call(case.spec),
                others=len(self.failing) - 1,
                folder=folder,
            ),
            finding,
        )

    # -- running and drawing ----------------------------------------------------------------------------------------

    def _judged(self, spec: Spec, inputs: Inputs, rung: Rung | None = None) -> Result:
        if len(spec.steps) != 1:
            raise UsageError(f"check takes cases of one step, not {len(spec.steps)}; see bnfuzz replay")
        reply = self.runs.run((self.name,), spec, inputs)[self.name]
        if reply.status != "ok" or reply.outputs is None:
            return Result(self.name, reply, spec)
        reference = References(inputs, rung).of(spec, self.stated)
        return Result(self.name, reply, spec, (judge(reference, reply.outputs),))

    def _vocabulary(self, asked: Asked, trials: int) -> tuple[Spec, ...]:
        """The Specs, smallest first: few for few trials."""
        stated = self.stated
        drawn = specs(modes=asked.modes or None, formats=self.result.formats)
        if asked.shapes:
            drawn = st.builds(
                lambda spec, shape: self._at(spec, shape, asked.axis), drawn, st.sampled_from(asked.shapes)
            )
        elif asked.axis is not None or stated.channel_axes != "any":
            axis = asked.axis
            if axis is not None:
                drawn = drawn.filter(lambda spec: -spec.rank <= axis < spec.rank)
            drawn = drawn.map(lambda spec: self._at(spec, spec.shape, axis))
        strategy = drawn.map(self._expressible).filter(lambda spec: stated.unsupported(spec) is None)
        count = min(SPECS.get(self.backend.framework, OTHER_SPECS), -(-trials // TRIALS_PER_SPEC))
        found: dict[Spec, None] = {}
        try:
            each_example(strategy, seed_of(self.result.seed, 0, "specs"), SPARE_DRAWS * count, found.setdefault)
        except Unsatisfiable:
            raise UsageError(
                f"{self.name} takes nothing of what the arguments leave; widen shapes, channel_axis, modes or formats"
            ) from None
        return tuple(sorted(tuple(found)[-count:], key=lambda spec: spec.size))

    def _at(self, spec: Spec, shape: tuple[int, ...], axis: int | None) -> Spec:
        """The Spec on another shape, along the channel axis that is asked for, or that the function has."""
        stated = self.stated.channel_axes
        along = axis if axis is not None else stated if isinstance(stated, int) else min(1, len(shape) - 1)
        if not -len(shape) <= along < len(shape):
            along = len(shape) - 1
        one = batch_norm_spec(shape, along)
        eps = 1e-5 if spec.eps == 0.0 and one.n == 1 else spec.eps
        return replace(
            spec, shape=shape, reduced_axes=one.reduced_axes, parameter_axes=one.parameter_axes, eps=eps,
            layout_x="contiguous" if spec.layout_x == "zero_stride" else spec.layout_x,
            layout_cotangent="contiguous" if spec.layout_cotangent == "zero_stride" else spec.layout_cotangent,
        )  # fmt: skip

    def _expressible(self, spec: Spec) -> Spec:
        """The Spec with what the function cannot do without, and without what it cannot be given."""
        fixed = self.stated.fixed_scalars
        return replace(
            spec,
            eps=None if "eps" in fixed else spec.eps,
            momentum=None if "momentum" in fixed else spec.momentum,
            has_gamma=True,
            has_beta=True,
            has_running=spec.has_running or self.stated.running == "needed",
        )
