"""Whole cases: small ones drawn value by value, so that they shrink well, larger ones from a plan."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import event
from hypothesis import strategies as st

from bnfuzz.case import Case
from bnfuzz.errors import UsageError
from bnfuzz.strategies.cotangents import CotangentName
from bnfuzz.strategies.drawn import ROOM, drawn_inputs
from bnfuzz.strategies.plan import label, spec_label
from bnfuzz.strategies.plans import Vocabulary, plans, vocabulary_strategy
from bnfuzz.strategies.value_recipes import ValueName

BY_VALUE_OF_FOUR = 3
"""How many of four small cases are drawn value by value: they shrink best, but know fewer families than plans do."""

_WAYS = st.integers(0, 3)


@st.composite
def cases(
    draw: st.DrawFn,
    vocabulary: Vocabulary | None = None,
    *,
    drawn_size: int = ROOM,
    values: Collection[ValueName] | None = None,
    cotangents: Collection[CotangentName] | None = None,
    allow_nonfinite: bool = False,
    allow_negative_variance: bool = False,
) -> Case:
    """A case, ready to be run and judged. Says by `event` what it is made of, see `label`.

    * ``vocabulary``: a Spec, a sequence of Specs to choose from, or a strategy; `specs()` by default.
    * ``drawn_size``: up to so many elements three of four cases are drawn value by value; 32 by default, 0 for none.
    * ``values``, ``cotangents``: families for the rest, see `plans`; all by default. With ``values`` or ``cotangents``
      given nothing is drawn value by value.
    * ``allow_nonfinite``, ``allow_negative_variance``: as in `plans`; off by default.

    Shrinks towards the first Spec, values drawn one by one: x and cotangent 0, gamma 1, beta 0.

    Drawn: ``Case(spec=Spec(shape=(2, 2), …), inputs=Inputs(x=[[[0., 0.], [0., 1.]]], gamma=[[1., 1.]], …))``,
    ``Case(spec=Spec(shape=(3, 4, 5), …), inputs=Inputs(x=[[[[1021.2, …]]]], gamma=[[-0.37, …]], …))``.
    """
    if drawn_size < 0:
        raise UsageError(f"drawn_size={drawn_size} must not be negative; 0 draws no case value by value")
    spec = draw(vocabulary_strategy(vocabulary))
    # With eps = 0 values drawn one by one would be constant, thus undefined, too often.
    by_value = spec.size * len(spec.steps) <= drawn_size and spec.eps != 0.0 and values is None and cotangents is None
    if by_value and draw(_WAYS) < BY_VALUE_OF_FOUR:
        labels: tuple[str, ...] = (*spec_label(spec), "values: one by one")
        inputs = draw(
            drawn_inputs(spec, allow_nonfinite=allow_nonfinite, allow_negative_variance=allow_negative_variance)
        )
    else:
        plan = draw(
            plans(
                spec,
                values=values,
                cotangents=cotangents,
                allow_nonfinite=allow_nonfinite,
                allow_negative_variance=allow_negative_variance,
            )
        )
        labels, inputs = label(plan), plan.expand(1)
    for text in labels:
        event(text)
    return Case(spec=spec, inputs=inputs)
