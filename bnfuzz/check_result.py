"""What `bnfuzz.check` gives for a function that passed: what was tried, and how much that means."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bnfuzz.campaign.tally import BackendTally
from bnfuzz.contract import Contract
from bnfuzz.conventions import FormatTriple

SHOWN_FAMILIES = 24


@dataclass(kw_only=True)
class CheckResult:
    """What a passed check was about. Its text says how much it means.

    drawn         counts of what was tried, by label: "formats: …", "values: …"
    worst         largest error/bound of the outputs that passed
    below         trials with findings that do not fail, by kind: what the contract accepts, range, nondeterministic;
                  and "unconfirmed", trials that failed, and whose worst passed when judged again alone, against mpmath
    unconfirmed   what failed so ("y wrong") -> the largest error/bound
    forward_only  whether there are no gradients to judge: a NumPy function without a backward
    """

    name: str
    framework: str
    contract: Contract
    formats: tuple[FormatTriple, ...]
    seed: int
    forward_only: bool = False
    tally: BackendTally = field(default_factory=BackendTally)
    drawn: Counter[str] = field(default_factory=Counter)
    shapes: set[tuple[int, ...]] = field(default_factory=set)
    below: Counter[str] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    unconfirmed: dict[str, float] = field(default_factory=dict)

    @property
    def informative(self) -> int:
        """Checks (one output of one trial) whose bound was small enough to say something."""
        return sum(output.informative for output in self.tally.outputs.values())

    def __str__(self) -> str:
        """The checks that said something, and over what; then the looser terms."""
        tally = self.tally
        labels = _by_kind(self.drawn)
        outputs = ", ".join(f"{name} {worst:.4g}" for name, worst in self.worst.items())
        total = sum(output.cases for output in tally.outputs.values())
        vacuous = sum(output.vacuous for output in tally.outputs.values())
        uncertain = sum(output.uncertain for output in tally.outputs.values())
        unsure = f", {vacuous} vacuous" if vacuous else ""
        unsure += f"; {uncertain} uncertain (the reference cannot tell)" if uncertain else ""
        lines = [
            f"{self.name} ({self.framework}) passed: {tally.judged} trials, {self.informative} of {total} checks "
            f"informative{unsure}",
            f"  formats {', '.join(labels.get('formats', ())) or '(given cases only)'}; "
            f"modes {', '.join(labels.get('mode', ())) or '(given cases only)'}; {_shapes(self.shapes)}",
            f"  values: {', '.join(labels.get('values', ())[:SHOWN_FAMILIES]) or '(given cases only)'}",
            f"  largest error/bound: {outputs}; seed {self.seed}",
        ]
        if self.forward_only:
            lines.append("  gradients not judged: there is no backward, and NumPy has no gradients of its own")
        if self.contract.words:
            lines.append(f"  looser than the bounds: {self.contract.words}")
        if self.below:
            seen = ", ".join(f"{n} trial{'s' if n != 1 else ''} {kind}" for kind, n in self.below.items())
            lines.append(f"  seen, and no failure: {seen}")
        lines += [
            f"  unconfirmed: {what}, error/bound up to {worst:.3g}, and passed when run again alone, judged by mpmath"
            for what, worst in self.unconfirmed.items()
        ]
        return "\n".join(lines)


def _by_kind(drawn: Counter[str]) -> dict[str, tuple[str, ...]]:
    """ "kind: name" labels as kind -> names, the most frequent first."""
    found: dict[str, list[str]] = {}
    for label, _ in drawn.most_common():
        kind, _, name = label.partition(": ")
        found.setdefault(kind, []).append(name)
    return {kind: tuple(names) for kind, names in found.items()}


def _shapes(shapes: set[tuple[int, ...]]) -> str:
    ranks = sorted({len(shape) for shape in shapes})
    between = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks[0]} to {ranks[-1]}" if ranks else ""
    return f"{len(shapes)} shape{'s' if len(shapes) != 1 else ''} of {between}"
