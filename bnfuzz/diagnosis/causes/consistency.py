"""Does a hypothesis explain an observation? By the enclosures of its own kernel.

It is *contradicted* where one element of one output lies outside the enclosure of what its kernel computes, or where
its exact values are, at all failing elements of an output, within an eighth of the judge's bound of the true ones (it
says nothing is wrong there; an unstable evaluation of the right formula may). An element that the kernel leaves as the
truth has it may also lie within the judge's own bound (without hard limits): a sound implementation of the rest is free
in its order and its forms.

It is *supported* where all failing elements are inside, and that says something: the enclosure is narrower than the
distance to the truth; or running the kernel in the compute format gives the observed values far more closely than the
truth does (REPRODUCES); or, for an unstable evaluation, the kernel's own run errs by a like amount and the judge, where
it has a bound for that sort of evaluation, holds it to account for the output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bnfuzz.case import Array, Inputs, Outputs
from bnfuzz.diagnosis.causes.enclosure import EXTENDED, Enclosure
from bnfuzz.diagnosis.causes.hypothesis import Hypothesis
from bnfuzz.diagnosis.causes.observation import Answer, Observation, calling
from bnfuzz.diagnosis.causes.prediction import Predicted, predict
from bnfuzz.evaluation import CALL
from bnfuzz.faults import affine, sums
from bnfuzz.faults.backend import run
from bnfuzz.faults.kernel import Kernel, Pass
from bnfuzz.faults.sound import fused
from bnfuzz.formats import decimal
from bnfuzz.judge.compare import OutputJudgement
from bnfuzz.judge.unstable import REPRODUCES
from bnfuzz.judge.verdict import FINDINGS

ORDERS = (sums.pairwise, sums.sequential)
"""Orders of summation in which a kernel is run in the compute format."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Consistency:
    """contradiction: where it fails, in one line, empty where it does not; evidence: one line per failing output."""

    contradiction: str = ""
    supported: bool = False
    evidence: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.contradiction


def folded_and_fused(p: Pass) -> Array:
    """a·x + (β − a·mean) with the outer product and sum rounded once, as vectorised code has it."""
    scale = p.gamma * p.inverse_deviation
    shape = p.x.shape
    return fused(np.broadcast_to(scale, shape), p.x, np.broadcast_to(p.beta - scale * p.statistics[0], shape))


class Trial:
    """One hypothesis on one observation's input: what it predicts, whatever was observed."""

    def __init__(self, hypothesis: Hypothesis, observation: Observation) -> None:
        self.hypothesis = hypothesis
        self.observation = observation
        self.spec, self.conventions = hypothesis.rules(observation.spec, observation.conventions)

    @cached_property
    def predictions(self) -> list[Predicted] | None:
        """Enclosures per step; None where the kernel cannot be run on this input."""
        try:
            return predict(
                self.hypothesis.kernel,
                self.spec,
                self.observation.inputs,
                self.conventions,
                self.observation.answer.outputs,
            )
        except Exception:  # a kernel made for other inputs may raise anything
            return None

    @cached_property
    def answer(self) -> Answer:
        """What the kernel itself gives in the compute format."""
        return self.runs[0]

    @cached_property
    def runs(self) -> tuple[Answer, ...]:
        """Its answers in several orders of summation; a folded output also with fused multiply-adds."""
        kernels = [replace(self.hypothesis.kernel, total=order) for order in ORDERS]
        if kernels[0].affine is affine.folded:
            kernels += [replace(kernel, affine=folded_and_fused) for kernel in kernels]
        return tuple(map(self._run, kernels))

    @cached_property
    def ways(self) -> tuple[frozenset[tuple[str, str]], ...]:
        """Of each run, the (output, kind) of what fails in it by the judge's own verdict."""
        judged = [self.observation.answered(answer) for answer in self.runs]
        return tuple(frozenset((verdict.output, verdict.kind) for verdict in one.failing()) for one in judged)

    def _run(self, kernel: Kernel) -> Answer:

        def computed(spec: object, inputs: Inputs) -> Outputs:
            return run(kernel, self.spec, inputs, self.conventions)

        answer = calling(computed)(self.spec, self.observation.inputs)
        assert answer is not None
        return answer

    @property
    def raises(self) -> bool:
        return "error" in self.hypothesis.judged and bool(self.answer.raised)

    @property
    def mutates(self) -> tuple[str, ...]:
        return self.answer.mutated if "mutated" in self.hypothesis.judged else ()


def consistency(trial: Trial) -> Consistency:
    """Whether the observation bears the hypothesis out."""
    observation, answer = trial.observation, trial.observation.answer
    if answer.lost:
        return Consistency(f"the call ended: {answer.lost}")
    if bool(answer.raised) != trial.raises:
        return Consistency(f"raised {answer.raised}" if answer.raised else "an exception is due, and none came")
    if answer.raised:
        return Consistency(supported=True, evidence=(f"raises, as observed: {answer.raised}",))
    if set(answer.mutated) != set(trial.mutates):
        return Consistency(f"changed: {', '.join(answer.mutated) or 'nothing'}")
    if trial.predictions is None:
        return Consistency("does not apply to this input")
    evidence = [f"changes {', '.join(answer.mutated)} in place, as observed"] if answer.mutated else []
    found, supported = bool(answer.mutated), True
    for number, (step, predicted) in enumerate(zip(observation.steps, trial.predictions, strict=False)):
        for output in step.outputs:
            if output.observed is None:
                return Consistency(f"{output.name} has another shape or format")
            comparison = _compare(trial, number, output, predicted[output.name])
            if isinstance(comparison, str):
                return Consistency(comparison)
            if comparison is not None:
                found = True
                supported &= comparison[0]
                evidence.append(comparison[1])
    return Consistency(supported=found and supported, evidence=tuple(evidence))


def _compare(trial: Trial, step: int, output: OutputJudgement, enclosed: Enclosure) -> str | tuple[bool, str] | None:
    """A contradiction; or, of an output that fails, (supported, evidence)."""
    observation = trial.observation
    exact = observation.steps[step].reference.outputs[output.name]
    assert output.observed is not None
    name = output.observed.dtype.name
    seen = np.asarray(output.observed[0], dtype=np.float64).astype(EXTENDED)
    truth = exact.value[0].astype(EXTENDED) + exact.rest[0]
    judged = ~exact.undefined[0]
    if observation.known is not None:
        judged = judged & observation.known.get(output.name, np.zeros(judged.shape, dtype=bool))
    if not judged.any():
        return None
    failing = np.isin(output.element_kinds[0].astype(str), list(FINDINGS)) & judged
    with np.errstate(all="ignore"):
        error = np.abs(seen - truth)
        # What the kernel leaves as it is: the judge's own verdict on it stands.
        same = np.abs(enclosed.v - truth) <= exact.raw_bound[0] / REPRODUCES
        left = same & (error <= exact.raw_bound[0] + exact.rung_bound[0])
        allowed = inside(enclosed, seen) | left | (same & ~failing)
        wrong = judged & ~allowed
        if wrong.any():
            distance = np.where(wrong, np.abs(seen - enclosed.v) / _half(enclosed), -1.0)
            at = _worst(distance)
            return (
                f"{_place(observation, step, output.name, at)}: {_predicted(enclosed, at, name)}, "
                f"observed {decimal(seen[at], name)}"
            )
        if not failing.any():
            return None
        shift = np.abs(enclosed.v - truth)
        if trial.hypothesis.exact_elsewhere and np.all(REPRODUCES * shift[failing] <= exact.bound[0][failing]):
            return f"{output.name}: it leaves the failing elements as they should be"
        telling = np.where(np.isfinite(seen), _half(enclosed) < error, ~np.isfinite(enclosed.v)) & ~same
    supported = bool(telling[failing].all()) or _reproduced(trial, step, output, seen, truth, failing)
    at = _worst(np.where(failing, np.where(np.isnan(output.ratio[0]), 0.0, output.ratio[0]), -1.0))
    away = output.ratio[0][at]
    where = _place(observation, step, output.name, at)
    if same[at] or trial.hypothesis.kind == "algorithm":
        return supported, f"{where}: {_errs(trial, step, output, seen, truth, enclosed, at)}"
    line = (
        f"{where}: {_predicted(enclosed, at, name)}, observed {decimal(seen[at], name)}{_share(enclosed, seen, at)}; "
        f"the true value {decimal(truth[at], name)} is {away:.3g} of its bounds away"
    )
    return supported, line


def _errs(
    trial: Trial,
    step: int,
    output: OutputJudgement,
    seen: Array,
    truth: Array,
    enclosed: Enclosure,
    at: tuple[int, ...],
) -> str:
    """Of an unstable evaluation: what it gives when it is run, and how far it may be off."""
    compute = trial.conventions.compute_format(trial.spec.data_format).name
    name = "float32" if output.observed is None else output.observed.dtype.name
    given = ", ".join(dict.fromkeys(decimal(array[at], name) for array in _ran(trial, step, output.name)))
    half = float(_half(enclosed)[at])
    reach = "without limit" if not np.isfinite(half) else f"by up to {half:.2g}"
    return (
        f"observed {decimal(seen[at], name)} where {decimal(truth[at], name)} is exact; run in {compute} it gives "
        f"{given}, and may be off {reach} here, a sound kernel by {output_bound(trial, step, output.name, at):.2g}"
    )


def output_bound(trial: Trial, step: int, name: str, at: tuple[int, ...]) -> float:
    """The judge's bound of one element."""
    return float(trial.observation.steps[step].reference.outputs[name].bound[0][at])


def inside(enclosed: Enclosure, seen: Array) -> Mask:
    """Elements that an evaluation of the kernel may give."""
    within = (seen >= enclosed.lo) & (seen <= enclosed.hi)
    # What it means to compute is one evaluation, whatever the rounded ones are.
    mask: Mask = np.where(np.isnan(seen), enclosed.nan | np.isnan(enclosed.v), within | (seen == enclosed.v))
    return mask


def apart(first: Enclosure, second: Enclosure) -> Mask:
    """Elements at which neither a number nor NaN is inside both."""
    certain = np.isnan(first.lo) | np.isnan(second.lo)
    disjoint = (first.lo > second.hi) | (second.lo > first.hi)
    mask: Mask = (disjoint | certain) & ~(first.nan & second.nan)
    return mask


def _reproduced(trial: Trial, step: int, output: OutputJudgement, seen: Array, truth: Array, failing: Mask) -> bool:
    """The kernel, run in the compute format, gives what was observed; or errs by a like amount where the judge holds
    this sort of evaluation to account."""
    hypothesis = trial.hypothesis
    labelled = output.why[0] in hypothesis.labels or (hypothesis.kind == "algorithm" and not hypothesis.labels)
    with np.errstate(all="ignore"):
        error = np.abs(seen - truth)[failing]
        for run_again in _ran(trial, step, output.name):
            there = run_again[failing]
            if alike(seen[failing], there, truth[failing]).all():
                return True
            if labelled and np.any(REPRODUCES * np.abs(there - truth[failing]) >= error):
                return True
    return False


def alike(seen: Array, there: Array, truth: Array) -> Mask:
    """Elements of a run that are far nearer to what was seen than the truth is; of an infinity or NaN, the same."""
    error = np.abs(seen - truth)
    near = np.isfinite(seen) & np.isfinite(error) & (REPRODUCES * np.abs(seen - there) <= error)
    same = (seen == there) | (np.isnan(seen) & np.isnan(there))
    mask: Mask = near | same
    return mask


def _ran(trial: Trial, step: int, name: str) -> Iterator[Array]:
    for answer in trial.runs:
        array = None if answer.outputs is None else getattr(answer.outputs, name)
        if array is not None:
            one = array[0] if len(trial.spec.steps) == 1 else array[0, step]
            yield np.asarray(one, dtype=np.float64).astype(EXTENDED)


def affected(trial: Trial) -> frozenset[str]:
    """Outputs that the hypothesis changes beyond the judge's bound, on this input."""
    changed = {CALL} if trial.raises or trial.mutates else set()
    if trial.predictions is None:
        return frozenset(changed)
    for step, predicted in zip(trial.observation.steps, trial.predictions, strict=False):
        for output in step.outputs:
            exact = step.reference.outputs[output.name]
            with np.errstate(all="ignore"):
                distance = np.abs(predicted[output.name].v - exact.value[0])
                beyond = ~(distance <= exact.bound[0] / REPRODUCES) & ~exact.undefined[0]
            if beyond.any():
                changed.add(output.name)
    return frozenset(changed)


def _half(enclosed: Enclosure) -> Array:
    with np.errstate(invalid="ignore"):
        half: Array = np.maximum(enclosed.hi - enclosed.v, enclosed.v - enclosed.lo)
    return half


def _worst(values: Array) -> tuple[int, ...]:
    place = int(np.argmax(np.where(np.isnan(values), np.inf, values)))
    return tuple(int(i) for i in np.unravel_index(place, values.shape))


def _place(observation: Observation, step: int, name: str, at: tuple[int, ...]) -> str:
    where = f"{name}[{', '.join(map(str, at))}]" if at else name
    return where if len(observation.spec.steps) == 1 else f"step {step + 1}, {where}"


def _predicted(enclosed: Enclosure, at: tuple[int, ...], name: str) -> str:
    value, half = enclosed.v[at], _half(enclosed)[at]
    if not np.isfinite(value):
        return f"its exact value is {decimal(value, name)}"
    return f"its exact value is {decimal(value, name)}, bound {float(half):.2g}"


def _share(enclosed: Enclosure, seen: Array, at: tuple[int, ...]) -> str:
    half = float(_half(enclosed)[at])
    if not np.isfinite(seen[at]) or not np.isfinite(half) or half == 0:
        return ""
    return f" ({float(abs(seen[at] - enclosed.v[at])) / half:.2g} of the bound)"
