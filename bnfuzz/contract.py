"""What counts as a failure where a caller states a looser contract than the bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bnfuzz.case import expected_outputs
from bnfuzz.errors import UsageError
from bnfuzz.evaluation import Result
from bnfuzz.judge.compare import Judgement, spacing
from bnfuzz.judge.verdict import FAILING, FINDINGS, KINDS, Verdict


@dataclass(frozen=True, kw_only=True)
class Contract:
    """ulps: so many units in the last place of the exact value pass as well; accept: kinds that do not fail.

    Raises UsageError for a number or a kind that is none.
    """

    ulps: float | None = None
    accept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ulps = self.ulps
        if ulps is not None and not (isinstance(ulps, (int, float)) and math.isfinite(ulps) and ulps >= 0):
            raise UsageError(f"ulps={ulps!r} must be a number of units in the last place, 0 or more")
        for kind in self.accept:
            if kind not in FINDINGS:
                known = ", ".join(kind for kind in KINDS if kind in FINDINGS)
                raise UsageError(f"accept holds {kind!r}, which is no kind of finding; use some of {known}")

    @property
    def words(self) -> str:
        """The looser terms; empty where there are none."""
        terms = [] if self.ulps is None else [f"errors of up to {self.ulps:.10g} ULPs of the exact value pass"]
        if self.accept:
            terms.append(f"accepted: {', '.join(self.accept)}")
        return "; ".join(terms)

    def fails(self, verdict: Verdict) -> bool:
        """Whether a verdict, as `verdicts` gives it, fails a run."""
        return verdict.kind in FAILING and verdict.kind not in self.accept

    def verdicts(self, result: Result, trial: int) -> tuple[Verdict, ...]:
        """The trial's verdicts; `ok` where an output is within the ULPs."""
        verdicts = result.verdicts(trial)
        if self.ulps is None or len(result.steps) != 1:
            return verdicts
        return tuple(self._loosened(result.steps[0], verdict, trial) for verdict in verdicts)

    def _loosened(self, judged: Judgement, verdict: Verdict, trial: int) -> Verdict:
        if not verdict.is_finding or verdict.output not in judged.reference.outputs or not verdict.index:
            return verdict
        if all(distance <= (self.ulps or 0.0) for distance in _distances(judged, verdict.output, trial)):
            return replace(verdict, kind="ok", why=f"within {self.ulps:g} ULPs")
        return verdict


def _distances(judged: Judgement, name: str, trial: int) -> Iterator[float]:
    """ULPs of the output's elements that are findings."""
    output = next(output for output in judged.outputs if output.name == name)
    exact = judged.reference.outputs[name]
    if output.observed is None:
        yield math.inf
        return
    _, format_name = expected_outputs(judged.reference.spec)[name]
    errors = exact.select(slice(trial, trial + 1)).error(output.observed[trial : trial + 1])[0]
    kinds = output.element_kinds[trial]
    for place in np.ndindex(kinds.shape):
        if kinds[place] in FINDINGS:
            distance = float(errors[place]) / spacing(float(exact.value[(trial, *place)]), format_name)
            yield math.inf if math.isnan(distance) else distance
