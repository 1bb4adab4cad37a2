"""How far an input is from what networks feed to batch norm: stated rules, each with its number.

A rule has two limits: up to the first the number is ordinary (`would occur`), up to the second `unusual`, beyond it
`artificial`. The input is the worst of its rules. The limits describe training of networks in general: normalised
activations stay within about ±10; raw pixels, unscaled features and sums of rectified units reach thousands. They serve
words in reports; nothing is judged by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bnfuzz.case import Array, Case
from bnfuzz.numerics.reference import Reference

Grade = Literal["would occur", "unusual", "artificial"]
GRADES: tuple[Grade, ...] = ("would occur", "unusual", "artificial")

MAGNITUDE = (10.0, 65504.0)
"""Largest |x|. The second limit is the largest float16: beyond it mixed precision would have failed already."""

OFFSET = (10.0, 1e3)
"""|mean|/standard deviation of a channel that is not constant."""

SMALL_SPREAD = (1e-3, 1e-6)
"""Standard deviation of a channel that is not constant: the smaller, the rarer."""

PARAMETER = (10.0, 1e3)
"""Largest |gamma|, |beta|."""

COTANGENT = (1e2, 2.0**16)
"""Largest |cotangent|; 65,536 is the usual start of a loss scale."""

EPS = (1e-8, 1e-12)
"""eps, from its usual values down."""

SINGLE = "one value per channel"


@dataclass(frozen=True)
class Rule:
    """One number, what it is, its limits in words, and the grade that follows."""

    name: str
    number: str
    limits: str
    grade: Grade


@dataclass(frozen=True)
class Plausibility:
    """All rules of one input, the worst of which is its grade."""

    rules: tuple[Rule, ...]

    @property
    def grade(self) -> Grade:
        return max((rule.grade for rule in self.rules), key=GRADES.index, default="would occur")

    @property
    def sentence(self) -> str:
        """The grade and the rules that led to it."""
        reasons = [f"{rule.name} {rule.number} ({rule.limits})" for rule in self.rules if rule.grade == self.grade]
        if self.grade == "would occur":
            return "would occur: every number below is an ordinary one"
        return f"{self.grade}: {'; '.join(reasons)}"


def plausibility(case: Case, reference: Reference | None) -> Plausibility:
    """The rules applied to a case; `reference` knows the mean and the variance of its channels."""
    inputs = case.inputs
    arrays = dict(inputs.items())
    rules = []
    if not all(np.isfinite(np.asarray(array, np.float64)).all() for array in arrays.values()):
        rules.append(Rule("NaN or infinite input", "yes", "never meant", "artificial"))
    if case.spec.size == 0:
        rules.append(Rule("empty input", "yes", "last batches and masks may be empty", "unusual"))
        return Plausibility(tuple(rules))
    rules.append(_upper("largest |x|", _largest(arrays["x"]), MAGNITUDE))
    if case.spec.n == 1 and "training" in case.spec.steps:
        rules.append(Rule(SINGLE, "n = 1", "a last batch of one", "unusual"))
    if reference is not None:
        rules += _channels(reference)
    for name in ("gamma", "beta"):
        if name in arrays:
            rules.append(_upper(f"largest |{name}|", _largest(arrays[name]), PARAMETER))
    if inputs.cotangent is not None:
        rules.append(_upper("largest |cotangent|", _largest(inputs.cotangent), COTANGENT))
    if case.spec.eps is not None:
        rules.append(_lower("eps", case.spec.eps, EPS))
    return Plausibility(tuple(rules))


def _channels(reference: Reference) -> list[Rule]:
    """Offset and spread of the channel that is furthest from ordinary; constant ones are dead units, blank images."""
    channels = reference.channels
    spread = np.sqrt(np.maximum(channels.variance, 0)).ravel()
    varied = (spread > 0) & ~channels.constant.ravel()
    rules = []
    if channels.constant.any() and reference.spec.n > 1:
        many = int(np.sum(channels.constant))
        rules.append(Rule("constant channels", str(many), "dead units and blank images are constant", "would occur"))
    if not varied.any():
        return rules
    with np.errstate(all="ignore"):
        offset = np.abs(channels.mean.ravel()[varied]) / spread[varied]
    rules.append(_upper("largest |mean|/σ of a channel", float(np.max(offset)), OFFSET))
    rules.append(_lower("smallest σ of a channel", float(np.min(spread[varied])), SMALL_SPREAD))
    return rules


def offset_rule(ratio: float) -> Rule:
    """The rule for |mean|/σ applied to one number."""
    return _upper("|mean|/σ", ratio, OFFSET)


def _largest(array: Array) -> float:
    values = np.abs(np.asarray(array, dtype=np.float64))
    return float(np.max(values[np.isfinite(values)], initial=0.0))


def _upper(name: str, value: float, limits: tuple[float, float]) -> Rule:
    words = f"ordinary to {limits[0]:g}, unusual to {limits[1]:g}"
    return Rule(name, f"{value:.3g}", words, GRADES[int(value > limits[0]) + int(value > limits[1])])


def _lower(name: str, value: float, limits: tuple[float, float]) -> Rule:
    words = f"ordinary from {limits[0]:g}, unusual from {limits[1]:g}"
    return Rule(name, f"{value:.3g}", words, GRADES[int(value < limits[0]) + int(value < limits[1])])
