"""A plan: a Spec with recipes for its data, which expand into many trials at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Inputs, Spec
from bnfuzz.errors import UsageError
from bnfuzz.strategies.buffers import MeanName, VarianceName, expand_running_mean, expand_running_var
from bnfuzz.strategies.cotangents import CotangentFamily, normalized
from bnfuzz.strategies.parameters import ParameterName, expand_parameter
from bnfuzz.strategies.placement import by_channel, placed
from bnfuzz.strategies.rounding import Float64
from bnfuzz.strategies.shapes import shape_class
from bnfuzz.strategies.value_recipes import USUAL_EPS, ValueFamily


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A Spec and the recipes of its arrays: what is tried, before it is made.

    families   of the channels' values: channel c has families[c % len(families)]
    cotangent  None where a loss gives it
    gamma, beta, running_mean, running_var   names of recipes, None for arrays that the Spec does without
    seed       of NumPy's PCG64, the only source of chance
    """

    spec: Spec
    families: tuple[ValueFamily, ...]
    cotangent: CotangentFamily | None
    gamma: ParameterName | None
    beta: ParameterName | None
    running_mean: MeanName | None
    running_var: VarianceName | None
    seed: int

    def expand(self, trials: int) -> Inputs:
        """Arrays of so many trials, near the plan and no two alike; the same plan and number give the same bits."""
        if trials < 1:
            raise UsageError(f"trials={trials} must be at least 1")
        spec, rng = self.spec, np.random.Generator(np.random.PCG64(self.seed))
        rows = trials * len(spec.steps)
        values = self._values(rng, rows)
        x = placed(spec, values, trials, repeat=spec.layout_x == "zero_stride")
        if spec.layout_x == "zero_stride":
            values = by_channel(spec, x, rows)
        wide = values.astype(np.float64)
        eps = USUAL_EPS if spec.eps is None else spec.eps
        affine, statistics = (trials, *spec.parameter_shape), (trials, *spec.statistics_shape)
        parameter, buffer = formats.named(spec.parameter_format), formats.named(spec.statistics_format)
        first = wide.reshape(trials, len(spec.steps), *wide.shape[1:])[:, 0]
        mean = self.running_mean and expand_running_mean(self.running_mean, rng, first, buffer)
        variance = self.running_var and expand_running_var(self.running_var, rng, first, eps, buffer)
        return Inputs(
            x=x,
            gamma=self.gamma and expand_parameter(self.gamma, rng, affine, parameter),
            beta=self.beta and expand_parameter(self.beta, rng, affine, parameter),
            running_mean=mean if mean is None else mean.reshape(statistics),
            running_var=variance if variance is None else variance.reshape(statistics),
            cotangent=self._cotangent(rng, _normalized(spec, wide, eps, mean, variance), trials),
        )

    def _values(self, rng: np.random.Generator, rows: int) -> Array:
        """(rows, channels, n), family by family: the loop is as long as the families are many, not the channels."""
        format_ = formats.named(self.spec.data_format)
        channels, n = math.prod(self.spec.statistics_shape), self.spec.n
        values = np.empty((rows, channels, n), format_.dtype)
        for position, family in enumerate(self.families):
            count = len(range(position, channels, len(self.families)))
            if count:
                block = family.expand(rng, rows * count, n, format_)
                values[:, position :: len(self.families)] = block.reshape(rows, count, n)
        return values

    def _cotangent(self, rng: np.random.Generator, xhat: Float64, trials: int) -> Array | None:
        if self.cotangent is None:
            return None
        g = self.cotangent.expand(rng, xhat, formats.named(self.spec.data_format))
        return placed(self.spec, g, trials, repeat=self.spec.layout_cotangent == "zero_stride")


def _normalized(spec: Spec, x: Float64, eps: float, mean: Array | None, variance: Array | None) -> Float64:
    """The normalized data of (rows, channels, n): about the buffers where inference is the only step."""
    if spec.steps != ("inference",) or mean is None or variance is None:
        return normalized(x, eps)
    with np.errstate(all="ignore"):
        root = np.sqrt(variance.astype(np.float64) + eps)
        xhat = (x - mean.astype(np.float64)[..., None]) / root[..., None]
    return np.where(np.isfinite(xhat), xhat, 0.0)


def label(plan: Plan) -> tuple[str, ...]:
    """What `hypothesis.event` and campaigns count: formats, mode, shape class, families, each as "kind: name"."""
    return (
        *spec_label(plan.spec),
        *sorted({f"values: {family.name}" for family in plan.families}),
        f"cotangent: {plan.spec.cotangent if plan.cotangent is None else plan.cotangent.name}",
    )


def spec_label(spec: Spec) -> tuple[str, ...]:
    """The part of `label` that needs no data."""
    single = len(spec.kept_axes) == 1
    return (
        f"formats: {'/'.join(spec.formats)}",
        f"mode: {'+'.join(spec.steps)}",
        f"shape: {shape_class(spec.shape, spec.kept_axes[0]) if single else 'other axes'}",
        f"layout: {spec.layout_x}",
    )
