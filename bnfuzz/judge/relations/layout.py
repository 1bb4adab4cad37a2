"""Layouts: the same values in another arrangement of memory give the same result within bounds; bits may differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnfuzz.case import Inputs, Layout, Spec
from bnfuzz.judge.relations.relation import Draws, Relation, Variant

ALWAYS: tuple[Layout, ...] = ("contiguous", "permuted", "sliced", "flipped", "offset")
"""Layouts that every array of values can have (stride 0 needs equal values)."""


def vary(spec: Spec, inputs: Inputs, draws: Draws) -> Variant | str:
    if spec.size == 0:
        return "there are no values"
    rng = draws[0]
    x = _another(spec.layout_x, rng)
    cotangent = _another(spec.layout_cotangent, rng) if spec.cotangent == "explicit" else spec.layout_cotangent
    what = f"x {x}" if inputs.cotangent is None else f"x {x}, cotangent {cotangent}"
    return Variant(
        spec=replace(spec, layout_x=x, layout_cotangent=cotangent), inputs=inputs, what=(what,) * inputs.trials
    )


def _another(layout: Layout, rng: np.random.Generator) -> Layout:
    others = [other for other in ALWAYS if other != layout]
    return others[rng.integers(len(others))]


LAYOUT = Relation(
    name="layout",
    says="the same values in another memory layout give the same value within bounds",
    exact=False,
    vary=vary,
)
