"""Shrinking a finding that a relation made: the same passes, with the relations in the reference's place."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Inputs, Spec
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.relating import relate_case, relate_trials
from bnfuzz.shrink.findings import descent_of
from bnfuzz.shrink.goal import Goal
from bnfuzz.shrink.minimise import shrink
from bnfuzz.signature import signature

SHRINKING_DRAWS = 4
"""Variants of a candidate that are tried: it must show the fault readily to be taken."""


def shrink_related(pool: Pool, finding: Finding, *, seconds: float) -> Finding:
    """The finding with a small case that violates the same relation, confirmed; or as it was, where that fails."""

    def evaluate(spec: Spec, inputs: Inputs) -> Sequence[tuple[Verdict, ...]]:
        return relate_trials(pool, finding.backend, spec, inputs, draws=SHRINKING_DRAWS)

    accept = Goal.of(finding)
    shrunk = shrink(finding.case, evaluate=evaluate, accept=accept, deadline=time.monotonic() + seconds)
    if not shrunk.steps:
        return replace(finding, descent=descent_of(finding, shrunk)) if shrunk.reproduced else finding
    verdicts = relate_case(pool, finding.backend, shrunk.case)
    named = signature(shrunk.case.spec, finding.backend, verdicts)
    if named is None or not accept(shrunk.case.spec, verdicts):
        return finding
    return replace(
        finding,
        case=shrunk.case,
        verdicts=verdicts,
        signature=named,
        confirmed=True,
        descent=descent_of(finding, shrunk),
    )
