"""What a seed is: a case written down by hand, with where it came from and what is known to fail on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bnfuzz import formats
from bnfuzz.backends import registry
from bnfuzz.case import OUTPUT_NAMES, Array, Case, Inputs, Spec, expected_arrays
from bnfuzz.casefile import CaseFile, Expectation, Origin
from bnfuzz.conventions import Conventions
from bnfuzz.judge.verdict import Kind, Regime, Verdict
from bnfuzz.numerics.reference import evaluate
from bnfuzz.numerics.rules import rules_of
from bnfuzz.numerics.values import Float
from bnfuzz.seeds.numbers import varied
from bnfuzz.signature import signature

PLAIN = Conventions(source="the formula itself: momentum weighs the new statistic, running variance with ddof 0")

LARGEST_REFERENCE = 1024
"""Elements of x up to which exact outputs are written into the file, for human readers."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """A failure that was seen, reached again with the mpmath reference, and understood.

    fails    output -> kind, exactly these
    regime   of the channel that fails worst, for the signature
    """

    backend: str
    versions: str
    fails: Mapping[str, Kind]
    regime: Regime
    why: str
    link: str = ""

    def expectation(self, spec: Spec) -> Expectation:
        verdicts = tuple(
            Verdict(
                output=output, kind=self.fails[output], regime="range" if self.fails[output] == "range" else self.regime
            )
            for output in (*OUTPUT_NAMES, "call")
            if output in self.fails
        )
        return Expectation(
            backend=self.backend,
            versions=self.versions,
            findings={verdict.output: verdict.kind for verdict in verdicts},
            signature=signature(spec, self.backend, verdicts) or "",
            why=" ".join(self.why.split()),
            link=self.link,
            confirmed=True,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Seed:
    """One case of the corpus, as it is written down in this package.

    name       of its file
    note       what was reported and what the right answer is
    arrays     as nested lists or arrays, without a trial axis; what is absent becomes gamma 1, beta 0, running
               mean 0, running variance 1, and a cotangent without symmetry
    known      failures of released backends; where there are any, the case is an open one
    reference  backend whose conventions the exact outputs in the file follow; empty: PLAIN
    """

    name: str
    title: str
    note: str
    spec: Spec
    x: ArrayLike
    link: str = ""
    gamma: ArrayLike | None = None
    beta: ArrayLike | None = None
    running_mean: ArrayLike | None = None
    running_var: ArrayLike | None = None
    cotangent: ArrayLike | None = None
    known: tuple[Known, ...] = ()
    reference: str = ""

    def case(self) -> Case:
        return Case(spec=self.spec, inputs=Inputs(**{name: array[None] for name, array in self._arrays().items()}))

    def _arrays(self) -> dict[str, Array]:
        """The arrays that the Spec asks for, in its formats."""
        arrays = {}
        for name, (shape, format_name) in expected_arrays(self.spec).items():
            given = getattr(self, name)
            array = np.asarray(usual(name, shape) if given is None else given, dtype=np.float64)
            arrays[name] = np.broadcast_to(array, shape).astype(formats.named(format_name).dtype)
        return arrays

    def file(self) -> CaseFile:
        """The case file, its exact outputs evaluated with mpmath."""
        case = self.case()
        return CaseFile(
            case=case,
            state="open" if self.known else "seed",
            origin=Origin(title=self.title, link=self.link, note=" ".join(self.note.split())),
            expectations=tuple(known.expectation(self.spec) for known in self.known),
            reference=exact_outputs(case, registry.get(self.reference).conventions if self.reference else PLAIN),
        )


def usual(name: str, shape: tuple[int, ...]) -> Float:
    """What an array holds where a seed does not say."""
    if name == "cotangent":
        return varied(shape)
    return np.full(shape, 1.0 if name in ("gamma", "running_var") else 0.0)


def exact_outputs(case: Case, conventions: Conventions) -> dict[str, Array]:
    """output -> exact values rounded to float64; nothing for sequences and large cases.

    NaN where no value is defined, 0 where even this rung cannot tell the value from 0.
    """
    if len(case.spec.steps) > 1 or case.spec.size > LARGEST_REFERENCE:
        return {}
    found = evaluate(case.spec, case.inputs, rules_of(case.spec, conventions), rung="mpmath")
    exact = {}
    for name, output in found.outputs.items():
        value = np.where(np.abs(output.value) <= output.rung_bound, 0.0, output.value)
        exact[name] = np.where(output.undefined, np.nan, value)[0]
    return exact
