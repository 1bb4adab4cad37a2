"""Candidates that share a Spec: they go to the backend together, so that the Spec is compiled once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bnfuzz import layouts
from bnfuzz.case import Case, Inputs, Spec

MOST = 48
"""Candidates in one block at most."""

MOST_ELEMENTS = 1 << 16
"""Elements of x of one block's candidates together at most, unless one candidate alone has more."""


@dataclass(frozen=True, eq=False)
class Block:
    """`cases` of one Spec, in order of preference; `what` says in a few words what was done to them."""

    what: str
    cases: tuple[Case, ...]

    @property
    def spec(self) -> Spec:
        return self.cases[0].spec

    @property
    def inputs(self) -> Inputs:
        """All candidates along the trial axis."""
        return stacked(self.cases)


def stacked(cases: Iterable[Case]) -> Inputs:
    """The inputs of cases of one Spec along one trial axis."""
    parts = [dict(case.inputs.items()) for case in cases]
    return Inputs(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def capacity(spec: Spec) -> int:
    """How many candidates of this Spec one block holds."""
    return max(1, min(MOST, MOST_ELEMENTS // max(1, spec.size * len(spec.steps))))


def can_be_laid_out(case: Case) -> bool:
    """Whether these values have the memory layouts that the Spec asks for."""
    return layouts.unattainable(case.spec, case.inputs) is None


def fingerprint(case: Case) -> tuple[Spec, bytes]:
    """Equal for cases of the same Spec and bits."""
    return case.spec, b"".join(array.tobytes() for _, array in case.inputs.items())
