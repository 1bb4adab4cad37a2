"""Which failing trials show the same fault: what a campaign counts under one signature.

One fault rarely fails the same outputs in every trial: gamma = 0 hides it from y, a cotangent of 0 from the gradients,
and an overflow turns `wrong` into `nonfinite`. So two trials show one fault where the same backend, operation, mode,
formats and regime fail, in the same class of kinds, and the flow of data lets one deviation make both:

    batch_mean, batch_var   reach every other output
    y                       is what dgamma and dx read its normalized values from
    dgamma, dbeta, dx       read the same cotangent
    new_running_*           read the same momentum

or where some trial fails an output of both, or the mode is a sequence, in which the state takes a deviation from step
to step. A running statistic beside a wrong y or gradient is a fault of its own where the batch's statistics are right
in that very trial.

The signature that stands for all of them is the most telling one: the earliest output in data-flow order, then the
first kind by precedence. Faults of different classes never share one: wrong metadata, wrong values, a result that
does not repeat, an exception, a crash, a hang. What cannot be told apart is two faults in what one output is made of,
in one regime; there the earlier one is named, and the other shows as soon as that one is mended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import cast

from bnfuzz.case import OUTPUT_NAMES
from bnfuzz.judge.verdict import FAILING, FINDINGS, Kind, precedence
from bnfuzz.signature import Parts, parts_of

STATISTICS = frozenset({"batch_mean", "batch_var"})
GRADIENTS = frozenset({"dgamma", "dbeta", "dx"})
RUNNING = frozenset({"new_running_mean", "new_running_var"})
NORMALISED = frozenset({"y", "dgamma", "dx"})

CLASSES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("shape", "dtype"), "form"),
        **dict.fromkeys(("mutated", "leak", "nonfinite", "wrong", "unstable"), "values"),
    }
)
"""Kinds that one fault may show as; any other kind is a class of its own."""


@dataclass(frozen=True, kw_only=True)
class Symptoms:
    """A failing trial, or all that are counted as one: the signature, and the outputs that failed in any of them."""

    signature: str
    outputs: frozenset[str]

    @property
    def place(self) -> tuple[str, ...]:
        """All of the signature but output and kind, and the class of the kind."""
        p = self._parts
        return p.recipe, p.backend, p.operation, p.mode, p.formats, p.regime, class_of(p.kind)

    @property
    def telling(self) -> tuple[int, int]:
        """Smaller is more telling."""
        p = self._parts
        return _flow(p.output), precedence(cast(Kind, p.kind))

    @property
    def _parts(self) -> Parts:
        parts = parts_of(self.signature)
        assert parts is not None, self.signature
        return parts


def class_of(kind: str) -> str:
    return CLASSES.get(kind, kind)


def _flow(output: str) -> int:
    return OUTPUT_NAMES.index(output) if output in OUTPUT_NAMES else -1


def strand(kinds: Mapping[str, Kind]) -> tuple[str, ...]:
    """One trial's kinds by output -> the failing outputs of the fault that names the trial, that one first.

    Of two classes what fails a run counts, then the earlier output.
    """
    fails = [name for name, kind in kinds.items() if kind in FAILING]
    found = sorted(fails or [name for name, kind in kinds.items() if kind in FINDINGS], key=_flow)
    found = [name for name in found if class_of(kinds[name]) == class_of(kinds[found[0]])]
    if found and found[0] in NORMALISED | GRADIENTS and all(kinds.get(name) == "ok" for name in STATISTICS):
        found = [name for name in found if name not in RUNNING]
    return tuple(found)


def reaches(output: str, other: str) -> bool:
    """Whether what makes the one output may make the other one fail, whatever fails between them."""
    pair = {output, other}
    if len(pair) == 1 or any(pair <= branch for branch in (NORMALISED, GRADIENTS, RUNNING)):
        return True
    return bool(pair & STATISTICS) and pair <= set(OUTPUT_NAMES)


def same_fault(one: Symptoms, other: Symptoms) -> bool:
    """Whether one fault may have made both."""
    if one.place != other.place:
        return False
    _, _, _, mode, *_ = one.place
    if "+" in mode:
        return True
    return any(reaches(output, another) for output in one.outputs for another in other.outputs)


def joined(symptoms: Collection[Symptoms]) -> Symptoms:
    """What stands for all of them: the most telling signature, and all outputs."""
    first = min(symptoms, key=lambda some: some.telling)
    return replace(first, outputs=frozenset().union(*(some.outputs for some in symptoms)))


def folded(symptoms: Iterable[Symptoms]) -> tuple[Symptoms, ...]:
    """One per fault, in the order in which they were first seen, which decides nothing else."""
    faults: list[Symptoms] = []
    for some in symptoms:
        same = [fault for fault in faults if same_fault(fault, some)]
        if not same:
            faults.append(some)
            continue
        faults[faults.index(same[0])] = joined([*same, some])
        faults = [fault for fault in faults if fault not in same[1:]]
    return tuple(faults)


def covers(recorded: Symptoms, seen: Symptoms) -> bool:
    """Whether what is on record says all of what is seen: every output, no earlier one, and no worse kind."""
    if recorded.place != seen.place or not seen.outputs <= recorded.outputs:
        return False
    return all(ours <= theirs for ours, theirs in zip(recorded.telling, seen.telling, strict=True))
