"""What a relation is: a second block of inputs, and what its outputs must have to do with those of the first."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bnfuzz.case import Array, Inputs, Spec
from bnfuzz.judge.verdict import Kind, Verdict
from bnfuzz.numerics.tracked import Flag

Draws = Sequence[np.random.Generator]
"""One source of chance per trial."""

Back = Callable[[str, Array], Array]
"""(name of an output, that output or its bound) -> the same in the terms of the first block."""


def unchanged(name: str, array: Array) -> Array:
    del name
    return array


@dataclass(frozen=True, kw_only=True, eq=False)
class Variant:
    """The second block.

    what       one clause per trial: what was done to it; empty where the relation says nothing of the trial
    reached    output -> (K, *shape of the output): elements that what was done may rightly change (exact relations)
    back       brings outputs into the terms of the first block (bounded relations)
    """

    spec: Spec
    inputs: Inputs
    what: tuple[str, ...]
    reached: dict[str, Flag] = field(default_factory=dict)
    back: Back = unchanged


@dataclass(frozen=True, kw_only=True)
class Relation:
    """One relation.

    name   in a few words: key of the results
    says   the relation itself
    kind   of a violation, where `exact`: bits are compared. Otherwise the results may differ by both their bounds
           together, and the kind is what the judge says of the worse of the two
    vary   (spec, inputs, draws) -> the second block, or why the relation does not apply to this Spec
    """

    name: str
    says: str
    exact: bool
    vary: Callable[[Spec, Inputs, Draws], Variant | str]
    kind: Literal["leak", "nondeterministic"] | None = None


def draws_of(inputs: Inputs, seed: int) -> list[np.random.Generator]:
    """Generators that depend on `seed` and on the trial's own bits alone: a trial taken out of its block, or read
    back from a file, is varied as it was there."""
    sums = []
    for k in range(inputs.trials):
        total = 0
        for _, array in inputs.items():
            total = zlib.crc32(np.ascontiguousarray(array[k]).tobytes(), total)
        sums.append(total)
    return [np.random.default_rng((seed, total)) for total in sums]


def lead(spec: Spec) -> int:
    """Axes of x and of outputs before one step's own: the trials, then the steps where there are several."""
    return 1 if len(spec.steps) == 1 else 2


def nothing(why: str, kind: Kind = "vacuous") -> Verdict:
    """The verdict where a relation says nothing of a trial."""
    return Verdict(output="y", kind=kind, why=why)
