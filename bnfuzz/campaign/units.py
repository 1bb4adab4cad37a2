"""The sequence of a campaign, in units: what is tried, in which order, whoever runs it.

A round's vocabulary is cut into units of a few Specs each; a Spec belongs to one unit alone, since compiling it is
what costs. An aimed round, whose plans share one draw, is one unit. The sequence is a function of the settings and
of what the backends accept; how many jobs work on it, and when it ends, changes nothing in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bnfuzz.campaign.draw import is_aimed, vocabulary
from bnfuzz.campaign.settings import Settings
from bnfuzz.case import OUTPUT_NAMES, Spec
from bnfuzz.conventions import Conventions, FormatTriple
from bnfuzz.errors import UsageError

UNIT_SPECS = 2
"""Specs of a unit: with their plans some seconds of work on several backends, so that little is lost with a unit."""

FRUITLESS_ROUNDS = 3
"""After so many rounds of which no backend took a trial, the filters leave nothing."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A part of a round.

    number   in the whole sequence, from 0
    first    position of its first Spec in the round's vocabulary
    """

    number: int
    round: int
    first: int
    specs: tuple[Spec, ...]

    @property
    def aimed(self) -> bool:
        return is_aimed(self.round)

    def __str__(self) -> str:
        return f"unit {self.number} (round {self.round}, Specs {self.first + 1} to {self.first + len(self.specs)})"


def units(asked: Settings, conventions: Collection[Conventions]) -> Iterator[Unit]:
    """The endless sequence; raises UsageError where no backend takes anything that the filters leave."""
    return _endless(asked, conventions, accepted_formats(asked, conventions))


def _endless(
    asked: Settings, conventions: Collection[Conventions], triples: tuple[FormatTriple, ...]
) -> Iterator[Unit]:
    number, round_number = 0, 0
    while True:
        drawn = vocabulary(asked, triples, round_number)
        specs = tuple(spec for spec in drawn if any(stated.unsupported(spec) is None for stated in conventions))
        size = len(specs) if is_aimed(round_number) else UNIT_SPECS
        for first in range(0, len(specs), max(size, 1)):
            yield Unit(number=number, round=round_number, first=first, specs=specs[first : first + size])
            number += 1
        round_number += 1
        if round_number >= FRUITLESS_ROUNDS and not number:
            raise nothing_left()


def nothing_left() -> UsageError:
    """What is raised where the filters leave nothing to try."""
    return UsageError("no backend takes any case that the filters leave; widen --format or --mode")


def accepted_formats(asked: Settings, conventions: Collection[Conventions]) -> tuple[FormatTriple, ...]:
    """Format triples that some backend accepts, in their order; raises UsageError where the filters leave none."""
    triples: dict[FormatTriple, None] = {}
    for stated in conventions:
        triples.update(dict.fromkeys(stated.formats))
    if asked.formats and not any(triple[0] in asked.formats for triple in triples):
        accepted = ", ".join(sorted({triple[0] for triple in triples}))
        raise UsageError(f"--format {', '.join(asked.formats)}: no backend accepts it; they accept {accepted}")
    return tuple(triples)


def check_outputs(asked: Settings, conventions: Collection[Conventions]) -> None:
    """Raises UsageError where no backend offers any of the outputs that are asked for."""
    offered = {output for stated in conventions for output in stated.outputs}
    if asked.outputs and not offered & set(asked.outputs):
        names = ", ".join(output for output in OUTPUT_NAMES if output in offered)
        raise UsageError(f"--output {', '.join(asked.outputs)}: no backend offers it; they offer {names}")
