"""Determinism: the same call twice gives the same bits."""

from __future__ import annotations

from bnfuzz.case import Inputs, Spec
from bnfuzz.judge.relations.relation import Draws, Relation, Variant


def vary(spec: Spec, inputs: Inputs, draws: Draws) -> Variant | str:
    return Variant(spec=spec, inputs=inputs, what=("called again",) * len(draws))


REPETITION = Relation(
    name="determinism",
    says="the same call twice gives the same bits",
    exact=True,
    kind="nondeterministic",
    vary=vary,
)
