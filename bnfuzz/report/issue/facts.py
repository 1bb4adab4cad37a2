"""What a report says beside its finding: the other implementations, stable algorithms, cause, machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.explanation import Explanation
from bnfuzz.evaluation import CALL, Result
from bnfuzz.faults import backend as kernels
from bnfuzz.faults.sound import SOUND
from bnfuzz.judge.compare import Judgement, judge
from bnfuzz.report.issue.plausibility import Plausibility
from bnfuzz.report.issue.subject import Subject

STABLE_KERNELS = ("pairwise", "sequential_autodiff", "scaled")
"""Sound kernels run on the input: the textbook, another order of everything, and one that guards against overflow."""


@dataclass(frozen=True)
class Row:
    """What one implementation gives at the element in question, and its largest error/bound in that output."""

    name: str
    observed: float
    severity: float
    kind: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """The facts; `others` and `explanation` may be missing for want of time."""

    backend: str
    call: str
    conventions: Conventions
    versions: Mapping[str, str]
    machine: Mapping[str, str]
    signature: str
    plausibility: Plausibility
    explanation: Explanation | None = None
    stable: tuple[Row, ...] = ()
    others: Mapping[str, Result] = field(default_factory=dict)
    other_versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def packages(self) -> str:
        """`flax 0.12.8, jax 0.10.2`: the framework's first, then what it stands on."""
        own = [name for name in self.versions if name not in ("numpy", "jaxlib")]
        return ", ".join(f"{name} {self.versions[name]}" for name in [*own[::-1], "numpy"] if name in self.versions)


def stable_rows(subject: Subject, conventions: Conventions) -> tuple[Row, ...]:
    """Sound kernels in the compute format on the subject's input, judged as it was."""
    first, judgement = subject.first, subject.judgement
    if first is None or judgement is None or not first.index or len(subject.case.spec.steps) > 1:
        return ()
    rows = []
    for name in STABLE_KERNELS:
        sound = SOUND[name]
        outputs = kernels.run(sound.kernel, subject.case.spec, subject.case.inputs, sound.conventions(conventions))
        row = row_of(sound.description, judge(judgement.reference, outputs), first.output, first.index)
        rows += [row] if row is not None else []
    return tuple(rows)


def row_of(name: str, judgement: Judgement, output: str, index: tuple[int, ...]) -> Row | None:
    """The row of one implementation; None where it does not give the output."""
    for judged in judgement.outputs:
        if judged.name == output and judged.observed is not None:
            at = (0, *index)
            ratio = float(judged.ratio[at])
            kind = str(judged.kinds[0])
            here = float(judged.severity[0]) if np.isnan(ratio) else ratio
            return Row(name, float(judged.observed[at]), here, kind)
    return None


def other_row(name: str, result: Result, subject: Subject) -> Row | str:
    """The row of another backend, or why it has none."""
    first = subject.first
    call = next((verdict for verdict in result.verdicts(0) if verdict.output == CALL), None)
    if call is not None and not result.judged:
        return f"{call.kind}: {call.why}" if call.kind != "unsupported" else f"cannot express it: {call.why}"
    if first is None or not result.judged or len(result.steps) <= subject.step:
        return "ran"
    if not first.index:
        kinds = [f"{verdict.output} {verdict.kind}" for verdict in result.verdicts(0) if verdict.is_finding]
        return ", ".join(kinds) or "ok"
    row = row_of(name, result.steps[subject.step], first.output, first.index)
    return row if row is not None else f"does not give {first.output}"
