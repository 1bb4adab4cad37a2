"""Evaluators in process: planted kernels judged by the real judge, and verdicts made up from the values alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from bnfuzz.backends.pool import Reply
from bnfuzz.case import Array, Case, Inputs, Outputs, Spec, batch_norm_spec, check_inputs, expected_arrays
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS, Conventions
from bnfuzz.evaluation import CALL
from bnfuzz.formats import named
from bnfuzz.judge.compare import judge
from bnfuzz.judge.verdict import Verdict
from bnfuzz.numerics.reference import reference
from bnfuzz.shrink.block import can_be_laid_out

BACKEND = "planted"
CONVENTIONS = Conventions(source="tests", formats=ALL_FORMATS + MIXED_FORMATS, ranks=(1, 8), empty="value")

Kernel = Callable[[Spec, Inputs], Outputs]
Verdicts = tuple[Verdict, ...]


def one_pass(spec: Spec, inputs: Inputs) -> Outputs:
    """y with the variance as E[x²] - E[x]², all in the data's format."""
    x = inputs.x
    axes = tuple(1 + axis for axis in spec.reduced_axes)
    mean = x.mean(axes, keepdims=True)
    variance = (x * x).mean(axes, keepdims=True) - mean * mean
    eps = x.dtype.type(CONVENTIONS.eps_given(spec))
    with np.errstate(invalid="ignore", divide="ignore"):
        y = (x - mean) / np.sqrt(np.maximum(variance, 0) + eps)
    shape = (-1, *(size if axis in spec.affine_axes else 1 for axis, size in enumerate(spec.shape)))
    if inputs.gamma is not None:
        y = y * inputs.gamma.reshape(shape)
    if inputs.beta is not None:
        y = y + inputs.beta.reshape(shape)
    return Outputs(y=y.astype(x.dtype))


@dataclass
class Judged:
    """An evaluator of a kernel, by the real reference and judge; `calls` are the Specs and numbers of trials."""

    kernel: Kernel = one_pass
    calls: list[tuple[Spec, int]] = field(default_factory=list)

    def __call__(self, spec: Spec, inputs: Inputs) -> Sequence[Verdicts]:
        check_inputs(spec, inputs)
        self.calls.append((spec, inputs.trials))
        if CONVENTIONS.unsupported(spec) is not None or len(spec.steps) > 1:
            return [(Verdict(output=CALL, kind="unsupported"),)] * inputs.trials
        judgement = judge(reference(spec, inputs, CONVENTIONS), self.kernel(spec, inputs))
        return [judgement.verdicts(k) for k in range(inputs.trials)]


@dataclass
class Told:
    """An evaluator that calls a trial wrong in y where `fails` says so, and its call crashed where `crashes` does."""

    fails: Callable[[Case], bool] = lambda case: False
    crashes: Callable[[Case], bool] = lambda case: False
    severity: float = 1e6
    calls: list[tuple[Spec, int]] = field(default_factory=list)

    def __call__(self, spec: Spec, inputs: Inputs) -> Sequence[Verdicts]:
        self.calls.append((spec, inputs.trials))
        cases = [Case(spec=spec, inputs=inputs.trial(k)) for k in range(inputs.trials)]
        assert all(can_be_laid_out(case) for case in cases)
        if any(self.crashes(case) for case in cases):
            return [(Verdict(output=CALL, kind="crash"),)] * inputs.trials
        return [self._verdicts(case) for case in cases]

    def _verdicts(self, case: Case) -> Verdicts:
        if not self.fails(case):
            return (Verdict(output="y", kind="ok"),)
        return (Verdict(output="y", kind="wrong", severity=self.severity, index=(0,) * case.spec.rank, n=case.spec.n),)


class InProcessPool:
    """What shrinking uses of a Pool, around a kernel; a trial of which `poison` is true kills the whole block."""

    def __init__(self, kernel: Kernel = one_pass, poison: Callable[[Inputs], bool] = lambda inputs: False) -> None:
        self.kernel, self.poison, self.documented = kernel, poison, CONVENTIONS
        self.submissions: list[tuple[Spec, int]] = []

    def conventions(self, name: str) -> Conventions:
        del name
        return self.documented

    def submit(self, names: Sequence[str], spec: Spec, inputs: Inputs) -> Any:
        self.submissions.append((spec, inputs.trials))
        (name,) = names
        reason = self.documented.unsupported(spec)
        if reason is not None:
            reply = Reply(backend=name, status="unsupported", message=reason)
        elif any(self.poison(inputs.trial(k)) for k in range(inputs.trials)):
            reply = Reply(backend=name, status="crash", message="killed")
        else:
            reply = Reply(backend=name, status="ok", outputs=self.kernel(spec, inputs))
        return SimpleNamespace(collect=lambda: {name: reply})


def drawn_case(spec: Spec, seed: int = 0, *, offset: float = 0.0) -> Case:
    """Noise in every array (positive running variances), with `offset` added to x."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, Array] = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        values = rng.normal(size=(1, *shape))
        values = np.abs(values) if name == "running_var" else values + (offset if name == "x" else 0.0)
        arrays[name] = values.astype(named(format_name).dtype)
    return Case(spec=spec, inputs=Inputs(**arrays))


def adversarial_case() -> Case:
    """(8, 5, 4), channels at very different offsets: one of them breaks a one-pass variance in float32."""
    case = drawn_case(batch_norm_spec((8, 5, 4), eps=1e-3), seed=1)
    x = case.inputs.x + np.array([0, 1, 20000, 20, -5], np.float32).reshape(1, 1, 5, 1)
    return Case(spec=case.spec, inputs=Inputs(**{**dict(case.inputs.items()), "x": x}))
