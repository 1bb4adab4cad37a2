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
from bnfuzz.judge.information import apriori_ranges
from bnfuzz.numerics.formula import Variant
from bnfuzz.numerics.reference import Reference, evaluate
from bnfuzz.numerics.rules import Rules
from bnfuzz.numerics.tracked import Flag
from bnfuzz.numerics.values import Float

REPRODUCES = 8.0
"""A fitted formula explains an output when it is this many times closer to it than the exact value is."""

FIT_ROUNDINGS = 16.0
"""Roundings, in units of u(σ² + ε), by which a variance read off an output may miss the formula's range."""

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
        return self._variant(replace(self.reference.rules, compute=self.reference.rules.data))

    @cached_property
    def _any_order(self) -> Reference:
        return self._variant(replace(self.reference.rules, summation=Summation()))

    def _variant(self, rules: Rules, variant: Variant = "sound") -> Reference:
        return evaluate(self.reference.spec, self.reference.inputs, rules, rung="float64", variant=variant)

    def _fitted(self, name: str, trial: int) -> Flag:
        """Elements that a variance which one pass can give, read off y, reproduces."""
        exact = self.reference.outputs[name]
        model = self._one_pass_outputs.get(name)
        observed = self._comparable(name)
        if model is None or observed is None:
            return np.zeros(exact.bound.shape[1:], dtype=bool)
        seen = np.asarray(observed[trial], dtype=np.float64)
        growth = self._one_pass_outputs["growth of " + name][0][trial]
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.min([np.abs(seen - form[trial]) for form in model], axis=0)
            closer = REPRODUCES * distance <= np.abs(seen - exact.value[trial])
            return np.asarray(closer | (distance <= exact.raw_bound[trial] * growth))

    def _comparable(self, name: str) -> Array | None:
        """The observed output, or None where it is absent or of the wrong shape or format."""
        observed: Array | None = getattr(self.observed, name)
        due = formats.named(expected_outputs(self.reference.spec)[name][1]).dtype
        if observed is None or (observed.shape, observed.dtype) != (self.reference.outputs[name].bound.shape, due):
            return None
        return observed

    @cached_property
    def _one_pass_outputs(self) -> dict[str, tuple[Float, ...]]:
        """Outputs of training with the root that y shows, per channel; NaN where one pass cannot give that root.

        Two forms of dx: with and without the variance's own term, which a clamped variance does not pass on.
        `growth of …`: how much the other roundings of that output grow with the root in place of the exact one.
        """
        reference, problem, rules = self.reference, self.reference.problem, self.reference.rules
        y = self._comparable("y")
        if y is None or reference.spec.operation != "batch_norm":
            return {}
        with np.errstate(all="ignore"):
            gamma = np.ones(()) if problem.gamma is None else problem.gamma
            beta = np.zeros(()) if problem.beta is None else problem.beta
            deviation = problem.x - reference.channels.mean
            scaled = gamma * deviation
            seen = np.asarray(y, dtype=np.float64) - beta
            axes = problem.reduced
            root = np.sum(seen * scaled, axis=axes, keepdims=True) / np.sum(scaled * scaled, axis=axes, keepdims=True)
            variance = 1 / (root * root) - rules.eps
            reach = self._one_pass.outputs["batch_var"].raw_bound.reshape(variance.shape)
            slack = FIT_ROUNDINGS * rules.compute.unit_roundoff * (np.abs(variance) + rules.eps)
            possible = (root > 0) & (variance + slack >= np.maximum(reference.channels.variance - reach, 0))
            possible &= variance - slack <= reference.channels.variance + reach
            # A variance that a sound kernel could give explains nothing.
            sound = reference.outputs["batch_var"].raw_bound.reshape(variance.shape)
            possible &= np.abs(variance - reference.channels.variance) > sound + slack
            root = np.where(possible, root, np.nan)
            larger = np.fmax(root * np.sqrt(reference.channels.variance + rules.eps), 1.0)
            g = self._cotangent(y)
            xhat = deviation * root
            centred = g - np.mean(g, axis=axes, keepdims=True)
            pulled = centred - xhat * np.mean(g * xhat, axis=axes, keepdims=True)
            variance = np.where(possible, np.maximum(variance, 0.0), np.nan)
        trials = reference.outputs["y"].bound.shape[:1]
        parameters = trials + reference.spec.parameter_shape
        statistics = trials + reference.spec.statistics_shape
        one = np.ones(trials + (1,) * len(reference.spec.statistics_shape))
        return {
            "growth of batch_var": (one,),
            "growth of new_running_var": (one,),
            "growth of y": (larger,),
            "growth of dgamma": (np.max(larger, axis=axes).reshape(parameters),),
            "growth of dx": (larger**3,),
            "batch_var": (variance.reshape(statistics),),
            "new_running_var": (self._running_variance(variance).reshape(statistics),),
            "y": (gamma * xhat + beta,),
            "dgamma": (np.sum(g * xhat, axis=axes).reshape(parameters),),
            "dx": (gamma * root * pulled, gamma * root * centred),
        }

    def _running_variance(self, variance: Float) -> Float:
        problem, rules = self.reference.problem, self.reference.rules
        if problem.running_var is None:
            return np.full_like(variance, np.nan)
        new = rules.momentum if rules.momentum_weighs == "new" else 1.0 - rules.momentum
        factor = problem.n / max(problem.n - rules.running_ddof, 1)
        return (1.0 - new) * problem.running_var + new * variance * factor

    def _cotangent(self, y: NDArray[np.generic]) -> Float:
        problem = self.reference.problem
        if problem.loss == "sum":
            return np.ones(problem.x.shape)
        if problem.loss == "mean_square":
            return 2.0 * np.asarray(y, dtype=np.float64) / problem.size
        assert problem.cotangent is not None
        return problem.cotangent
