"""What a campaign is asked to do."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, get_args

from bnfuzz import formats
from bnfuzz.case import OUTPUT_NAMES, Mode
from bnfuzz.errors import UsageError
from bnfuzz.formats import FormatName
from bnfuzz.strategies.value_recipes import ValueName

DEFAULT_TRIALS = 64
"""Trials of one plan: costs of drawing, compiling and of the reference are shared by so many."""

MOST_TRIALS = 4096
"""All trials of a plan are in memory at once, in every worker and in the reference."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A budget (minutes, or judged trials), a seed, and filters; None or () leaves a filter open.

    trials    K: trials per plan and backend
    outputs   judged outputs; the others are neither counted nor reported
    nonfinite, empty   draw NaN and infinite values, and arrays without elements, too
    """

    backends: tuple[str, ...]
    seed: int = 0
    minutes: float | None = None
    cases: int | None = None
    trials: int = DEFAULT_TRIALS
    formats: tuple[FormatName, ...] = ()
    modes: tuple[Mode, ...] = ()
    outputs: tuple[str, ...] = ()
    families: tuple[ValueName, ...] = ()
    nonfinite: bool = False
    empty: bool = False
    shrink_share: float = 0.2

    @property
    def origin(self) -> str:
        """Where the findings of the campaign are said to come from."""
        return f"bnfuzz fuzz --seed {self.seed}"

    def __post_init__(self) -> None:
        if not self.backends:
            raise UsageError("no backend is given; name at least one, `bnfuzz backends` lists them")
        check_budget(self.minutes, self.cases)
        if not 1 <= self.trials <= MOST_TRIALS:
            raise UsageError(f"trials={self.trials} must be at least 1 and at most {MOST_TRIALS}")
        if self.seed < 0:
            raise UsageError(f"seed={self.seed} must not be negative")
        _known("format", self.formats, formats.FORMATS)
        _known("mode", self.modes, get_args(Mode))
        _known("output", self.outputs, OUTPUT_NAMES)
        _known("family", self.families, get_args(ValueName))


def check_budget(minutes: float | None, cases: int | None) -> None:
    """Raises UsageError unless just one of the two is given, and is positive."""
    if (minutes is None) == (cases is None):
        raise UsageError("give either minutes or cases as the budget, and not both")
    if minutes is not None and not (math.isfinite(minutes) and minutes > 0):
        raise UsageError(f"minutes={minutes} must be a positive number")
    if cases is not None and cases < 1:
        raise UsageError(f"cases={cases} must be at least 1")


def _known(what: str, given: tuple[str, ...], allowed: Collection[Any]) -> None:
    for value in given:
        if value not in allowed:
            raise UsageError(f"{what} {value!r} is not known; use one of {', '.join(map(str, allowed))}")
