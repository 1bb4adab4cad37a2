"""A bounded sample of what was judged: how error/bound lies over the condition number, and the worst by format.

Of every plan a few trials of each output are looked at. Per backend and output the sample keeps the largest ratio of
each decade of κ, by kind, and besides those SAMPLE trials that a hash of their plan picks. Neither depends on the order
of plans, so the sample of a campaign that was run in parts is that of the whole.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from bnfuzz.evaluation import Result
from bnfuzz.judge.compare import Judgement, OutputJudgement
from bnfuzz.judge.regime import group_index
from bnfuzz.judge.verdict import FINDINGS, Kind
from bnfuzz.numerics.values import Float
from bnfuzz.strategies.plan import Plan

SAMPLE = 48
"""Trials per backend and output that are kept beside the worst of each decade."""

LARGEST_KAPPA = 1e30
"""Condition numbers beyond this count as this: no format tells them apart."""

Key = tuple[str, str]
"""(backend, output)"""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One output of one trial.

    severity   its largest error/bound of the elements that gave the kind; kappa that element's channel's
    what       Spec and families in a few words
    seed       of the plan, and the number of the trial within it
    """

    backend: str
    output: str
    kind: Kind
    severity: float
    kappa: float
    format: str
    what: str
    seed: int
    trial: int

    @property
    def decade(self) -> int:
        return math.floor(math.log10(self.kappa))

    @property
    def priority(self) -> int:
        """A number that is as good as random, and the same for the same trial."""
        return zlib.crc32(f"{self.backend}/{self.output}/{self.what}/{self.seed}/{self.trial}".encode())

    @property
    def rank(self) -> tuple[float, int, float, str]:
        """The larger is kept."""
        return self.severity, self.priority, self.kappa, self.kind


@dataclass
class FormatTally:
    """Checks of one output in one data format: how many, how many fail, and the largest ratio that passed."""

    checks: int = 0
    findings: int = 0
    worst_passing: float = 0.0
    worst: float = 0.0

    def merge(self, other: FormatTally) -> None:
        self.checks += other.checks
        self.findings += other.findings
        self.worst_passing = max(self.worst_passing, other.worst_passing)
        self.worst = max(self.worst, other.worst)


@dataclass
class Scatter:
    """The sample. `formats`: (backend, output, data format) -> its counts."""

    formats: dict[tuple[str, str, str], FormatTally] = field(default_factory=dict)
    _peaks: dict[Key, dict[tuple[int, str], Point]] = field(default_factory=dict)
    _sample: dict[Key, dict[int, Point]] = field(default_factory=dict)

    def add(self, result: Result, plan: Plan, outputs: tuple[str, ...] = ()) -> None:
        """One block of trials of a plan; `outputs` restricts what is looked at (empty: all)."""
        for step in result.steps:
            for output in step.outputs:
                if output.observed is not None and (not outputs or output.name in outputs):
                    self._count(result.backend, output, plan.spec.data_format)
                    for trial in _telling(step, output, plan.seed):
                        point = _point(result.backend, plan, step, output, trial)
                        if point is not None:
                            self._keep(point)

    def merge(self, other: Scatter) -> None:
        """Takes in the sample of another part of the campaign."""
        for key, tally in other.formats.items():
            self.formats.setdefault(key, FormatTally()).merge(tally)
        for point in other:
            self._keep(point)

    def __iter__(self) -> Iterator[Point]:
        """All points, each once, by backend and output."""
        for key, peaks in self._peaks.items():
            kept = dict.fromkeys((*peaks.values(), *self._sample[key].values()))
            yield from sorted(kept, key=lambda point: (point.kappa, point.severity, point.priority))

    def _count(self, backend: str, output: OutputJudgement, data_format: str) -> None:
        tally = self.formats.setdefault((backend, output.name, data_format), FormatTally())
        passing = np.array([kind == "ok" for kind in output.kinds], dtype=bool)
        tally.merge(
            FormatTally(
                checks=len(output.kinds),
                findings=0 if passing.all() else sum(kind in FINDINGS for kind in output.kinds),
                worst_passing=float(np.max(output.severity[passing], initial=0.0)),
                worst=float(np.max(output.severity, initial=0.0)),
            )
        )

    def _keep(self, point: Point) -> None:
        key = (point.backend, point.output)
        peaks, sample = self._peaks.setdefault(key, {}), self._sample.setdefault(key, {})
        place = (point.decade, point.kind)
        known = peaks.get(place)
        if known is None or point.rank > known.rank:
            peaks[place] = point
        priority = point.priority
        same = sample.get(priority)
        if same is not None:
            # Another step of the same trial.
            sample[priority] = max(same, point, key=lambda one: one.rank)
        elif len(sample) < SAMPLE or priority < max(sample):
            sample[priority] = point
            if len(sample) > SAMPLE:
                del sample[max(sample)]


def _telling(step: Judgement, output: OutputJudgement, seed: int) -> set[int]:
    """Trials to look at: the worst, the worst conditioned, and one that the plan's seed picks."""
    trials = len(output.kinds)
    if not trials or not output.ratio[0].size or not step.reference.channels.kappa.size:
        return set()
    worst_channel = step.reference.channels.kappa.reshape(trials, -1).max(axis=1)
    return {int(np.argmax(output.severity)), int(np.argmax(worst_channel)), seed % trials}


def _point(backend: str, plan: Plan, step: Judgement, output: OutputJudgement, trial: int) -> Point | None:
    """The trial's point; None where nothing was compared (a vacuous output, an exact one)."""
    severity, kind = float(output.severity[trial]), output.kinds[trial]
    if kind == "vacuous" or severity <= 0 or math.isnan(severity):
        return None
    ratios: Float = output.ratio[trial]
    if kind in FINDINGS:
        ratios = np.where(output.element_kinds[trial] == kind, ratios, -1.0)
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(ratios), -1.0, ratios))), ratios.shape)
    group = group_index(step.reference, output.name, trial, tuple(int(i) for i in place))
    kappa = float(step.reference.channels.kappa[group])
    return Point(
        backend=backend,
        output=output.name,
        kind=kind,
        severity=severity,
        kappa=min(kappa, LARGEST_KAPPA) if kappa >= 1.0 else 1.0,
        format=plan.spec.data_format,
        what=_words(plan),
        seed=plan.seed,
        trial=trial,
    )


def _words(plan: Plan) -> str:
    spec = plan.spec
    families = ", ".join(sorted({family.name for family in plan.families}))
    return f"{'+'.join(spec.steps)} {list(spec.shape)} over {list(spec.reduced_axes)}, {families}"
