"""What must stay while a case shrinks: the signature, and a severity that still convinces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from bnfuzz.case import Mode, Spec
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.signature import first_failing, signature

SHARE = 0.5
"""A smaller case keeps at least this share of the logarithm of the original severity."""

CONVINCING = 100.0
"""Nor does the severity fall below this many bounds, where the original was above."""


def severity_floor(severity: float) -> float:
    """The smallest severity that a smaller case may have."""
    if not severity > 1:
        return 0.0
    if math.isinf(severity):
        return CONVINCING
    return max(severity**SHARE, min(severity, CONVINCING))


@dataclass(frozen=True, kw_only=True)
class Goal:
    """Says of a candidate's verdicts whether it still shows the fault.

    The signature must be the same, but for the steps: a fault of a long sequence may turn out to need fewer of
    them, and is then named after the shorter sequence.

    floor    smallest severity of the verdict that names the fault
    """

    backend: str
    signature: str
    steps: tuple[Mode, ...]
    floor: float = 0.0

    @classmethod
    def of(cls, finding: Finding) -> Self:
        """The goal for shrinking this finding."""
        first = first_failing(finding.verdicts)
        now = 0.0 if first is None else first.severity
        # Shrunk before, it is measured by what was found first: it would sink lower every time otherwise.
        at_first = now if finding.descent is None else finding.descent.severity
        return cls(
            backend=finding.backend,
            signature=finding.signature,
            steps=finding.case.spec.steps,
            floor=min(severity_floor(at_first), now),
        )

    def __call__(self, spec: Spec, verdicts: tuple[Verdict, ...]) -> bool:
        first = first_failing(verdicts)
        if first is None or not first.severity >= self.floor or not _within(spec.steps, self.steps):
            return False
        # has_running, which inference steps need, is no part of a signature.
        return signature(replace(spec, steps=self.steps, has_running=True), self.backend, verdicts) == self.signature


def _within(shorter: tuple[Mode, ...], longer: tuple[Mode, ...]) -> bool:
    """Whether `shorter` is what remains of `longer` after leaving steps out."""
    rest: Iterator[Mode] = iter(longer)
    return all(step in rest for step in shorter)
