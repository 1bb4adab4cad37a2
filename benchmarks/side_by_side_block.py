"""The trials of one plan, computed by a kernel and looked at by every judge of a side-by-side run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.closeness import JUDGES, Flag, compared, needed
from benchmarks.side_by_side_page import BNFUZZ
from bnfuzz.case import Array, Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.evaluation import References
from bnfuzz.faults import backend
from bnfuzz.faults.kernel import Kernel
from bnfuzz.faults.run import run_trial
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.judge.compare import judge
from bnfuzz.judge.verdict import FAILING
from bnfuzz.numerics.reference import Reference
from bnfuzz.selfcheck.sieve import suspects

OUTPUTS = ("y", "dgamma", "dbeta", "dx", "new_running_mean", "new_running_var")
"""What a call of a framework gives; everyone judges these and nothing else."""

CONVENTIONS = replace(backend.CONVENTIONS, outputs=OUTPUTS)

JUDGED_BY = (*(judge.name for judge in JUDGES), BNFUZZ)


class Seen(NamedTuple):
    """Per judge the trials that it calls wrong; and per trial the smallest rtol = atol that passes it."""

    flags: dict[str, Flag]
    needed: NDArray[np.float64]


@dataclass(eq=False)
class Block:
    """The trials of one plan, with what is expected of them, and who flags the clean kernel on which."""

    spec: Spec
    inputs: Inputs
    references: References = field(init=False)
    _expected: dict[Conventions, Outputs] = field(default_factory=dict)
    _clean: dict[Conventions, Seen] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.references = References(self.inputs)

    def seen(self, kernel: Kernel, conventions: Conventions, judges: Collection[str] = JUDGED_BY) -> Seen:
        """What these judges make of a kernel; a trial that raises is called wrong by everyone."""
        outputs, ran = attempt(kernel, self.spec, self.inputs, conventions)
        flags = {name: flag.copy() for name, flag in dict.fromkeys(judges, ~ran).items()}
        tolerance = np.where(ran, 0.0, np.inf)
        if outputs is None:
            return Seen(flags, tolerance)
        expected = self.expected(conventions).select(ran)
        for name, observed in outputs.items():
            pair = compared(name, observed, getattr(expected, name))
            tolerance[ran] = np.maximum(tolerance[ran], np.inf if pair is None else needed(pair))
            for one in JUDGES:
                if one.name in flags:
                    flags[one.name][ran] |= True if pair is None else one.flags(pair)
        if BNFUZZ in flags:
            references = self.references if ran.all() else References(self.inputs.select(ran))
            flags[BNFUZZ][ran] |= failing(references.of(self.spec, conventions), outputs)
        return Seen(flags, tolerance)

    def clean(self, conventions: Conventions) -> Seen:
        """`seen` of the clean kernel."""
        if conventions not in self._clean:
            self._clean[conventions] = self.seen(CLEAN, conventions)
        return self._clean[conventions]

    def expected(self, conventions: Conventions) -> Outputs:
        """The clean kernel in float64, rounded to the formats of the outputs: what people compare with."""
        if conventions not in self._expected:
            rows = []
            for k in range(self.inputs.trials):
                arrays = {name: array[k] for name, array in self.inputs.items()}
                rows.append(run_trial(CLEAN, self.spec, arrays, conventions, compute="float64"))
            self._expected[conventions] = _stacked(rows)
        return self._expected[conventions]


def attempt(kernel: Kernel, spec: Spec, inputs: Inputs, conventions: Conventions) -> tuple[Outputs | None, Flag]:
    """Outputs of the trials that did not raise, and which these are."""
    ran = np.ones(inputs.trials, dtype=bool)
    rows: list[dict[str, Array]] = []
    for k in range(inputs.trials):
        own = Inputs(**{name: array.copy() for name, array in inputs.trial(k).items()})
        try:
            given = backend.run(kernel, spec, own, conventions)
        except Exception:  # whatever a kernel raises is its result
            ran[k] = False
        else:
            rows.append({name: array[0] for name, array in given.items()})
    return (_stacked(rows) if rows else None), ran


def _stacked(rows: list[dict[str, Array]]) -> Outputs:
    with np.errstate(over="ignore"):
        return Outputs(**{name: np.stack([row[name] for row in rows]) for name in rows[0] if name in OUTPUTS})


def failing(reference: Reference, outputs: Outputs) -> Flag:
    """Trials with a failing verdict of bnfuzz."""
    flags = np.zeros(len(reference.rungs), dtype=bool)
    if suspects(reference, outputs).any():
        for output in judge(reference, outputs).outputs:
            flags |= [kind in FAILING for kind in output.kinds]
    return flags
