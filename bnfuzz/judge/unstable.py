"""Is an output that is beyond the sound bound explained by a known unstable formula?

Four formulas are known: the one-pass variance mean(x²) − μ², the folded training output a·x + (β − a·μ), sums
accumulated in the storage format, and sums in the worst order. Each has a tracked bound of its own. Where that
bound is below the a-priori range of the output, an error within it is explained. Where it says nothing any more
(κ²u ≥ 1: the one-pass variance may be anything from 0 up), the formula is fitted instead: the one number per
channel that it gets wrong, 1/√(var + ε), is read off the output, must belong to a variance that the formula can
give, and must then reproduce the output far more closely than the truth does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bnfuzz import formats
from bnfuzz.case import Array, Outputs, expected_outputs
from bnfuzz.conventions import Summation
from bnfuzz.judge.fit import Fit, fitted
from bnfuzz.judge.information import apriori_ranges
from bnfuzz.numerics.formula import Variant
from bnfuzz.numerics.reference import Reference, evaluate
from bnfuzz.numerics.rules import Rules
from bnfuzz.numerics.tracked import Flag
from bnfuzz.numerics.values import Float

REPRODUCES = 8.0
"""A fitted formula explains an output when it is this many times closer to it than the exact value is."""

ONE_PASS = "one-pass variance mean(x²) − mean²"
FOLDED = "folded output a·x + (β − a·mean)"
STORAGE = "sums accumulated in the storage format"
ORDER = "sums in an order worse than the stated one"


class Explanations:
    """Explanations of one block of trials; nothing is evaluated before a failure asks for it."""

    def __init__(self, reference: Reference, observed: Outputs) -> None:
        self.reference = reference
        self.observed = observed

    def causes(self, name: str, trials: NDArray[np.intp], error: Float, failing: Flag) -> dict[int, str]:
        """trial -> the formula that accounts for all of its failing elements of output `name`."""
        found: dict[int, str] = {}
        for cause, bound, ceiling in self._bounds(name):
            for trial in trials:
                covered = (error[trial] <= bound[trial]) & (bound[trial] < ceiling[trial])
                if cause == ONE_PASS:
                    covered |= self._fitted(name, int(trial))
                if trial not in found and bool(np.all(covered[failing[trial]])):
                    found[int(trial)] = cause
        return found

    def _bounds(self, name: str) -> list[tuple[str, Float, Float]]:
        """(cause, raw bound, a-priori range) of each known formula for one output."""
        ceiling = apriori_ranges(self.reference)[name]
        rules = self.reference.rules
        bounds = []
        if self.reference.spec.mode == "training":
            bounds.append((ONE_PASS, self._one_pass.outputs[name].raw_bound, ceiling))
            if name == "y":
                bounds.append((FOLDED, self._folded.outputs[name].raw_bound, ceiling))
        if rules.compute != rules.data:
            bounds.append((STORAGE, self._in_storage.outputs[name].raw_bound, ceiling))
        if rules.summation.kind != "any":
            bounds.append((ORDER, self._any_order.outputs[name].raw_bound, ceiling))
        return bounds

    @cached_property
    def _one_pass(self) -> Reference:
        return self._variant(self.reference.rules, "one-pass")

    @cached_property
    def _folded(self) -> Reference:
        return self._variant(self.reference.rules, "folded")

    @cached_property
    def _in_storage(self) -> Reference:
        narrow = Summation(kind="wide", accumulator=self.reference.rules.data.name)
        return self._variant(replace(self.reference.rules, summation=narrow))

    @cached_property
    def _any_order(self) -> Reference:
        return self._variant(replace(self.reference.rules, summation=Summation()))

    def _variant(self, rules: Rules, variant: Variant = "sound") -> Reference:
        return evaluate(self.reference.spec, self.reference.inputs, rules, rung="float64", variant=variant)

    def _fitted(self, name: str, trial: int) -> Flag:
        """Elements that a variance which one pass can give, read off y, reproduces."""
        exact = self.reference.outputs[name]
        observed = self._comparable(name)
        if observed is None or self._fit is None or name not in self._fit.forms:
            return np.zeros(exact.bound.shape[1:], dtype=bool)
        seen = np.asarray(observed[trial], dtype=np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.min([np.abs(seen - form[trial]) for form in self._fit.forms[name]], axis=0)
            closer = REPRODUCES * distance <= np.abs(seen - exact.value[trial])
            return np.asarray(closer | (distance <= exact.raw_bound[trial] * self._fit.growth[name][trial]))

    @cached_property
    def _fit(self) -> Fit | None:
        y = self._comparable("y")
        if y is None or self.reference.spec.operation != "batch_norm":
            return None
        return fitted(self.reference, self._one_pass, y)

    def _comparable(self, name: str) -> Array | None:
        """The observed output, or None where it is absent or of the wrong shape or format."""
        observed: Array | None = getattr(self.observed, name)
        due = formats.named(expected_outputs(self.reference.spec)[name][1]).dtype
        if observed is None or (observed.shape, observed.dtype) != (self.reference.outputs[name].bound.shape, due):
            return None
        return observed
