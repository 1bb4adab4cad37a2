"""Plans: a Spec with recipes for its data, few draws that expand into many trials. What campaigns use."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.case import Array, Inputs, Spec
from bnfuzz.errors import UsageError
from bnfuzz.strategies.buffers import (
    MeanName,
    VarianceName,
    expand_running_mean,
    expand_running_var,
    mean_names,
    variance_names,
)
from bnfuzz.strategies.cotangents import CotangentFamily, CotangentName, cotangent_families, normalized
from bnfuzz.strategies.parameters import ParameterName, beta_names, expand_parameter, gamma_names
from bnfuzz.strategies.placement import by_channel, placed
from bnfuzz.strategies.rounding import Float64
from bnfuzz.strategies.shapes import shape_class
from bnfuzz.strategies.specs import specs
from bnfuzz.strategies.value_recipes import ValueFamily, ValueName
from bnfuzz.strategies.values import USUAL_EPS, value_families

MAX_FAMILIES = 3
"""Families per plan: enough for channels of different kinds side by side, few enough to draw quickly."""

Vocabulary = Spec | Sequence[Spec] | st.SearchStrategy[Spec]


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


_SPECS = specs()


def vocabulary_strategy(vocabulary: Vocabulary | None) -> st.SearchStrategy[Spec]:
    """A strategy of Specs from what callers may give: None, one Spec, several, or a strategy of their own."""
    if vocabulary is None:
        return _SPECS
    if isinstance(vocabulary, Spec):
        return st.just(vocabulary)
    if isinstance(vocabulary, st.SearchStrategy):
        return vocabulary
    if not vocabulary or not all(isinstance(spec, Spec) for spec in vocabulary):
        raise UsageError(f"vocabulary={vocabulary!r} must be a Spec, a sequence of at least one, or a strategy of them")
    return st.sampled_from(vocabulary)


@st.composite
def plans(
    draw: st.DrawFn,
    vocabulary: Vocabulary | None = None,
    *,
    values: Collection[ValueName] | None = None,
    cotangents: Collection[CotangentName] | None = None,
    allow_nonfinite: bool = False,
    allow_negative_variance: bool = False,
) -> Plan:
    """A plan for one Spec; `Plan.expand` makes any number of trials of it.

    * ``vocabulary``: a Spec, a sequence of Specs to choose from, or a strategy; `specs()` by default.
    * ``values``: families of the channels' values, see `value_families`; all by default.
    * ``cotangents``: families of cotangents, see `cotangent_families`; all by default.
    * ``allow_nonfinite``: also channels with a NaN or an infinity; off by default.
    * ``allow_negative_variance``: also negative running variances; off by default.

    Where eps is 0 no channel is constant on purpose and no running variance 0: nothing would be defined. About 15 draws
    besides those of the Spec. Shrinks towards the first Spec, one family of plain noise, gamma 1, beta 0, buffers 0
    and 1, seed 0.

    Drawn: ``Plan(spec=…, families=(ValueFamily('noise', 0, 0),), cotangent=CotangentFamily('noise', 0), gamma='one',
    beta='zero', running_mean='zero', running_var='one', seed=0)``,
    ``Plan(spec=…, families=(ValueFamily('offset', 17, 12), ValueFamily('wide', 0, 9)), cotangent=None, gamma='plain',
    beta='large', running_mean=None, running_var=None, seed=48213)``.
    """
    spec = draw(vocabulary_strategy(vocabulary))
    recipes = _recipes(
        spec,
        None if values is None else tuple(values),
        None if cotangents is None else tuple(cotangents),
        allow_nonfinite,
        allow_negative_variance,
    )
    explicit, running = spec.cotangent == "explicit", spec.has_running
    families = tuple(draw(recipes.family) for _ in range(draw(recipes.families)))
    # All are drawn, present or not: of two examples Hypothesis takes the one of fewer draws for the simpler one.
    cotangent, gamma, beta = draw(recipes.cotangent), draw(_GAMMA), draw(_BETA)
    running_mean, running_var = draw(_MEAN), draw(recipes.running_var)
    return Plan(
        spec=spec,
        families=families,
        cotangent=cotangent if explicit else None,
        gamma=gamma if spec.has_gamma else None,
        beta=beta if spec.has_beta else None,
        running_mean=running_mean if running else None,
        running_var=running_var if running else None,
        seed=draw(_SEED),
    )


_GAMMA, _BETA, _MEAN, _SEED = gamma_names(), beta_names(), mean_names(), st.integers(0, 2**32 - 1)


class _Recipes(NamedTuple):
    families: st.SearchStrategy[int]
    family: st.SearchStrategy[ValueFamily]
    cotangent: st.SearchStrategy[CotangentFamily]
    running_var: st.SearchStrategy[VarianceName]


@lru_cache(maxsize=256)
def _recipes(
    spec: Spec,
    values: tuple[ValueName, ...] | None,
    cotangents: tuple[CotangentName, ...] | None,
    *switches: bool,
) -> _Recipes:
    """The strategies that depend on the Spec: kept, since making them costs as much as drawing from them."""
    allow_nonfinite, allow_negative = switches
    defined = spec.eps != 0.0
    return _Recipes(
        st.integers(1, max(1, min(MAX_FAMILIES, math.prod(spec.statistics_shape)))),
        value_families(
            data_format=spec.data_format,
            eps=spec.eps,
            names=values,
            allow_nonfinite=allow_nonfinite,
            allow_constant=defined,
        ),
        cotangent_families(data_format=spec.data_format, n=spec.n, names=cotangents),
        variance_names(allow_negative=allow_negative, allow_zero=defined),
    )


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
