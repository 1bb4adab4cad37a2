"""The numbers that two batch norms gave for one case, where they are farthest apart, beside what is exact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bnfuzz.case import OUTPUT_NAMES, Case
from bnfuzz.diagnosis.contrast.reading import Reading
from bnfuzz.judge.compare import Judgement
from bnfuzz.numerics.tracked import Flag
from bnfuzz.numerics.values import Float
from bnfuzz.report.words import ZERO_SHARE


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side's number in a row: what it gave, what is exact by its own conventions, and how far off may be.

    largest   its largest error/bound anywhere in the output
    """

    observed: float
    exact: float
    bound: float
    largest: float
    zero: bool

    @property
    def error(self) -> float:
        return abs(self.observed - self.exact)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One output that both offer.

    index       of the element where they are farthest apart, measured in bounds
    equal_bits  all of the output is bit for bit the same
    equal       all of the output is the same numbers; the sign of a zero may differ
    ratios      the smallest and largest finite ratio A/B over the output; None where there is none
    typical     the size of noise to be expected: the bound over √n
    """

    output: str
    index: tuple[int, ...]
    a: Side
    b: Side
    equal_bits: bool
    equal: bool
    ratios: tuple[float, float] | None
    typical: float

    @property
    def both_zero(self) -> bool:
        return self.a.zero and self.b.zero

    @property
    def same_exact(self) -> bool:
        """The exact values that the two follow are no further apart than rounding may take either."""
        return self.both_zero or abs(self.a.exact - self.b.exact) <= min(self.a.bound, self.b.bound)

    @property
    def ratio(self) -> float:
        """A's number over B's; NaN for 0/0 and what else has none."""
        with np.errstate(all="ignore"):
            return float(np.float64(self.a.observed) / np.float64(self.b.observed))


def rows(case: Case, a: Reading, b: Reading) -> Iterator[Row]:
    """A row for every output of the case that both offer in one shape, in data-flow order."""
    if "case" not in a.answers or "case" not in b.answers:
        return
    judged = [reading.answers["case"].judged(reading.followed, own_eps=True, own_momentum=True) for reading in (a, b)]
    given = [dict(reading.answers["case"].outputs.items()) for reading in (a, b)]
    for name in OUTPUT_NAMES:
        if not all(name in side.reference.outputs for side in judged) or not all(name in outputs for outputs in given):
            continue
        first, second = (np.asarray(outputs[name], dtype=np.float64) for outputs in given)
        if (
            first.shape != second.shape
            or first.shape != judged[0].reference.outputs[name].bound.shape
            or not first.size
        ):
            continue
        at = _farthest(first, second, judged, name)
        sides = [_side(side, name, values, at) for side, values in zip(judged, (first, second), strict=True)]
        bound = max(side.bound for side in sides)
        yield Row(
            output=name,
            index=at[1:],
            a=sides[0],
            b=sides[1],
            equal_bits=given[0][name].tobytes() == given[1][name].tobytes(),
            equal=bool(np.array_equal(first, second, equal_nan=True)),
            ratios=_ratios(first, second),
            typical=bound / math.sqrt(max(case.spec.n, 1)),
        )


def _farthest(first: Float, second: Float, judged: list[Judgement], name: str) -> tuple[int, ...]:
    with np.errstate(all="ignore"):
        allowed = sum(side.reference.outputs[name].bound for side in judged)
        apart = np.where(first == second, 0.0, np.abs(first - second) / allowed)
    apart = np.where(np.isnan(apart), np.where(np.isnan(first) & np.isnan(second), 0.0, np.inf), apart)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(apart)), apart.shape))


def _ratios(first: Float, second: Float) -> tuple[float, float] | None:
    with np.errstate(all="ignore"):
        found = first / second
    found = found[np.isfinite(found)]
    return (float(found.min()), float(found.max())) if found.size else None


def _side(judged: Judgement, name: str, values: Float, at: tuple[int, ...]) -> Side:
    exact = judged.reference.outputs[name]
    output = next(output for output in judged.outputs if output.name == name)
    return Side(
        observed=float(values[at]),
        exact=float(exact.value[at]),
        bound=float(exact.bound[at]),
        largest=float(np.max(output.severity)),
        zero=bool(_zeros(judged, name)[at]),
    )


def _zeros(judged: Judgement, name: str) -> Flag:
    """Elements whose exact value is zero, as far as the reference can tell."""
    exact = judged.reference.outputs[name]
    return np.abs(exact.value) <= np.maximum(exact.rung_bound, ZERO_SHARE * exact.bound)
