"""What a soak counts: checks, how much they said, the largest error/bound, false alarms."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bnfuzz.case import Case
from bnfuzz.judge.information import apriori_ranges, information_of
from bnfuzz.judge.verdict import Verdict
from bnfuzz.numerics.reference import Reference

Told = Counter[str]
"""How many checks were `informative`, `limit only` or `vacuous`."""


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """A failing verdict on a sound kernel, with the case."""

    kernel: str
    pair: str
    verdict: Verdict
    signature: str
    case: Case


@dataclass
class OutputTally:
    """One output under one format pair.

    told      of all checks; told_short, of those with n·u <= 1/16
    ratios    decade of n (0: n < 10, 1: n < 100, …) -> largest error/bound of what passed
    """

    checks: int = 0
    uncertain: int = 0
    told: Told = field(default_factory=Counter)
    told_short: Told = field(default_factory=Counter)
    ratios: dict[int, float] = field(default_factory=dict)

    @property
    def worst(self) -> float:
        return max(self.ratios.values(), default=0.0)

    def ratio(self, n: int, value: float) -> None:
        decade = int(math.log10(n)) if n else 0
        self.ratios[decade] = max(self.ratios.get(decade, 0.0), value)


@dataclass
class PairTally:
    """One format pair. `judged`: trials of one kernel of which at least one output's check said something."""

    judged: int = 0
    vacuous: int = 0
    outputs: dict[str, OutputTally] = field(default_factory=dict)

    def output(self, name: str) -> OutputTally:
        return self.outputs.setdefault(name, OutputTally())


def told_by(reference: Reference) -> dict[str, NDArray[np.str_]]:
    """Output -> what its check says, per trial: it depends on the reference alone, not on the kernel."""
    apriori = apriori_ranges(reference)
    return {
        name: np.array(information_of(reference, name, exact, apriori[name], ~exact.undefined))
        for name, exact in reference.outputs.items()
    }


@dataclass(frozen=True, kw_only=True)
class Soaked:
    """What the soak of one format pair came to: its tally, alarms, alarms and strays per kernel."""

    pair: str
    tally: PairTally
    alarms: tuple[Alarm, ...]
    alarmed: dict[str, int]
    strayed: dict[str, int]
    seconds: float
