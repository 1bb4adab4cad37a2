"""Drawing plans: few draws for many trials. What campaigns use."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from hypothesis import strategies as st

from bnfuzz.case import Spec
from bnfuzz.errors import UsageError
from bnfuzz.strategies.buffers import VarianceName, mean_names, variance_names
from bnfuzz.strategies.cotangents import CotangentFamily, CotangentName, cotangent_families
from bnfuzz.strategies.parameters import beta_names, gamma_names
from bnfuzz.strategies.plan import Plan
from bnfuzz.strategies.specs import specs
from bnfuzz.strategies.value_recipes import ValueFamily, ValueName
from bnfuzz.strategies.values import value_families

MAX_FAMILIES = 3
"""Families per plan: enough for channels of different kinds side by side, few enough to draw quickly."""

Vocabulary = Spec | Sequence[Spec] | st.SearchStrategy[Spec]

_SPECS = specs()
_GAMMA, _BETA, _MEAN, _SEED = gamma_names(), beta_names(), mean_names(), st.integers(0, 2**32 - 1)


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
