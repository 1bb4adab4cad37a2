"""The counts of a campaign, per backend and output; what the closing table shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from bnfuzz.evaluation import Result
from bnfuzz.judge.verdict import FINDINGS


@dataclass
class OutputTally:
    """Checks of one output on one backend: a check is one trial's output, judged."""

    cases: int = 0
    informative: int = 0
    limit_only: int = 0
    vacuous: int = 0
    uncertain: int = 0
    findings: int = 0
    worst: float = 0.0

    def merge(self, other: OutputTally) -> None:
        self.cases += other.cases
        self.informative += other.informative
        self.limit_only += other.limit_only
        self.vacuous += other.vacuous
        self.uncertain += other.uncertain
        self.findings += other.findings
        self.worst = max(self.worst, other.worst)


@dataclass
class BackendTally:
    """judged counts trials with all outputs compared; the others are trials that could not be.

    hung    a call passed its deadline: the backend is left out from then on, each further hang costing as much
    """

    judged: int = 0
    refused: int = 0
    failed_calls: int = 0
    vacuous: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    slow: bool = False
    hung: bool = False
    outputs: dict[str, OutputTally] = field(default_factory=dict)

    def add(self, result: Result, trials: int, outputs: tuple[str, ...]) -> None:
        """Counts one block of trials; `outputs` restricts what is looked at (empty: all)."""
        self.seconds += result.reply.seconds
        self.compile_seconds += result.reply.compile_seconds
        if not result.judged:
            if result.reply.status == "unsupported":
                self.refused += trials
            else:
                self.failed_calls += trials
                self.hung = result.reply.status == "hang"
            return
        informed = np.zeros(trials, dtype=bool)
        for step in result.steps:
            for output in step.outputs:
                if outputs and output.name not in outputs:
                    continue
                tally = self.outputs.setdefault(output.name, OutputTally())
                kinds = np.array(output.kinds)
                information = np.array(output.information)
                failing = np.isin(kinds, tuple(FINDINGS))
                tally.cases += trials
                tally.informative += int(np.sum(information == "informative"))
                tally.limit_only += int(np.sum(information == "limit only"))
                tally.vacuous += int(np.sum((information == "vacuous") | (kinds == "vacuous")))
                tally.uncertain += int(np.sum(kinds == "uncertain"))
                tally.findings += int(np.sum(failing))
                tally.worst = max(tally.worst, float(np.max(output.severity, initial=0.0)))
                informed |= kinds != "vacuous"
        self.judged += int(np.sum(informed))
        self.vacuous += int(np.sum(~informed))

    def merge(self, other: BackendTally) -> None:
        self.judged += other.judged
        self.refused += other.refused
        self.failed_calls += other.failed_calls
        self.vacuous += other.vacuous
        self.seconds += other.seconds
        self.compile_seconds += other.compile_seconds
        self.slow |= other.slow
        self.hung |= other.hung
        for name, output in other.outputs.items():
            self.outputs.setdefault(name, OutputTally()).merge(output)

    @property
    def worst(self) -> tuple[str, float]:
        """(output, ratio) of the largest error/bound so far."""
        name = max(self.outputs, key=lambda output: self.outputs[output].worst, default="")
        return name, self.outputs[name].worst if name else 0.0


@dataclass
class Tally:
    """The whole campaign. `drawn` counts labels of the plans: what was tried."""

    backends: dict[str, BackendTally] = field(default_factory=dict)
    drawn: Counter[str] = field(default_factory=Counter)
    rungs: Counter[str] = field(default_factory=Counter)
    sizes: Counter[bool] = field(default_factory=Counter)
    specs: int = 0
    plans: int = 0
    rounds: int = 0

    def merge(self, other: Tally) -> None:
        """Takes in the counts of another part of the campaign; `rounds` is the later of the two."""
        for name, backend in other.backends.items():
            self.backends.setdefault(name, BackendTally()).merge(backend)
        self.drawn += other.drawn
        self.rungs += other.rungs
        self.sizes += other.sizes
        self.specs += other.specs
        self.plans += other.plans
        self.rounds = max(self.rounds, other.rounds)

    @property
    def judged(self) -> int:
        """Judged trials over all backends."""
        return sum(backend.judged for backend in self.backends.values())

    @property
    def tried(self) -> int:
        """Judged trials, and those that failed or said nothing: what a budget of cases counts."""
        return sum(backend.judged + backend.failed_calls + backend.vacuous for backend in self.backends.values())
