"""Does what a batch norm gave agree with given conventions? The judge's bounds decide, output by output."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from bnfuzz.case import Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.evaluation import References
from bnfuzz.judge.compare import Judgement, judge
from bnfuzz.judge.verdict import FAILING, Kind
from bnfuzz.numerics.values import Float

NORMALISED = ("batch_mean", "batch_var", "y", "dgamma", "dbeta", "dx")
RUNNING = ("new_running_mean", "new_running_var")


@dataclass(frozen=True, kw_only=True)
class Fit:
    """ratios: output -> largest error/bound; failing: output -> kind, of those that fail."""

    ratios: dict[str, float]
    failing: dict[str, Kind]

    @property
    def agrees(self) -> bool:
        return not self.failing

    @property
    def worst(self) -> float:
        """The largest error/bound."""
        return max(self.ratios.values(), default=0.0)

    def of(self, names: Collection[str]) -> Fit:
        """The part about some outputs."""
        return Fit(
            ratios={name: ratio for name, ratio in self.ratios.items() if name in names},
            failing={name: kind for name, kind in self.failing.items() if name in names},
        )


class Answer:
    """What a batch norm gave for some trials of a one-step Spec."""

    def __init__(self, spec: Spec, inputs: Inputs, outputs: Outputs) -> None:
        self.spec, self.inputs, self.outputs = spec, inputs, outputs
        self._references = References(inputs)

    def judged(self, conventions: Conventions, *, own_eps: bool = False, own_momentum: bool = False) -> Judgement:
        """Against these conventions; `own_…`: their default acts whatever was asked for."""
        spec = replace(
            self.spec,
            eps=None if own_eps else self.spec.eps,
            momentum=None if own_momentum else self.spec.momentum,
        )
        return judge(self._references.of(spec, conventions), self.outputs)

    def fit(self, conventions: Conventions, *, own_eps: bool = False, own_momentum: bool = False) -> Fit:
        return fit_of(self.judged(conventions, own_eps=own_eps, own_momentum=own_momentum))

    def eps_estimates(self, conventions: Conventions) -> Iterator[float]:
        """eps as y shows it: 1/r² − σ² with r = Σ(y − β)γd / Σ(γd)², of the channels of least variance in each trial.

        Rounded to one, two and three digits: authors write round numbers, and the judge says which of them fits.
        """
        reference = self._references.of(replace(self.spec, eps=None), conventions)
        problem, axes = reference.problem, reference.problem.reduced
        if self.outputs.y is None or self.outputs.y.shape != reference.problem.x.shape:
            return
        gamma = np.ones(()) if problem.gamma is None else problem.gamma
        beta = np.zeros(()) if problem.beta is None else problem.beta
        scaled = gamma * (problem.x - reference.channels.mean)
        with np.errstate(all="ignore"):
            seen = (np.asarray(self.outputs.y, dtype=np.float64) - beta) * scaled
            root = np.sum(seen, axis=axes, keepdims=True) / np.sum(scaled * scaled, axis=axes, keepdims=True)
            eps: Float = (1.0 / root**2 - reference.channels.variance).reshape(self.inputs.trials, -1)
        for trial in reversed(range(self.inputs.trials)):
            values = eps[trial][np.isfinite(eps[trial]) & (eps[trial] > 0)]
            if values.size:
                middle = float(np.median(values))
                yield from dict.fromkeys(float(f"{middle:.{digits}g}") for digits in (1, 2, 3))

    def new_weight(self) -> float | None:
        """The weight of the new statistic that the running means show: (new − old)/(μ − old), the median."""
        mean, old = self.outputs.new_running_mean, self.inputs.running_mean
        if mean is None or old is None or mean.shape != old.shape:
            return None
        wide = np.asarray(self.inputs.x, dtype=np.float64)
        batch = wide.mean(axis=tuple(1 + axis for axis in self.spec.reduced_axes)).reshape(old.shape)
        before = np.asarray(old, dtype=np.float64)
        with np.errstate(all="ignore"):
            weights = (np.asarray(mean, dtype=np.float64) - before) / (batch - before)
        weights = weights[np.isfinite(weights)]
        return float(f"{np.median(weights):.3g}") if weights.size else None


def fit_of(judgement: Judgement) -> Fit:
    ratios, failing = {}, {}
    for output in judgement.outputs:
        ratios[output.name] = float(np.max(output.severity, initial=0.0))
        bad = [kind for kind in output.kinds if kind in FAILING]
        if bad:
            failing[output.name] = bad[0]
    return Fit(ratios=ratios, failing=failing)
