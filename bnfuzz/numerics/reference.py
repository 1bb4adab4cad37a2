"""The reference: exact values and error bounds of every output, with a certificate of its own.

The formula is evaluated on a rung of precision (float64, double-double, mpmath), and with it the bound of that
rung itself. A trial whose rung is not fine enough, e_rung > bound/8 somewhere, goes one rung up; the comparison
asks error + e_rung ≤ bound, so that what is left of the reference's own error never passes for the subject's.
float64 subjects start at double-double. Bounds are inflated by 1 + (n + 100)·2^-52, since they are themselves
evaluated in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bnfuzz.case import OUTPUT_NAMES, Array, Inputs, Spec, check_inputs, expected_outputs
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError
from bnfuzz.numerics.doubledouble import DoubleDouble
from bnfuzz.numerics.formula import Variant, inference, training
from bnfuzz.numerics.multiprecision import Multiprecision
from bnfuzz.numerics.problem import Problem, parameter_order, problem_of
from bnfuzz.numerics.rules import Rules, rules_of
from bnfuzz.numerics.tracked import CAPPED, RAW, RUNG, Flag, Tracked, TrackedArithmetic
from bnfuzz.numerics.undefined import Undefined, separate
from bnfuzz.numerics.values import Float, Float64, Values

Rung = Literal["float64", "double-double", "mpmath"]
RUNGS: tuple[Rung, ...] = get_args(Rung)

CERTIFICATE_SHARE = 8.0
"""A rung serves while its own bound is at most the subject's bound divided by this."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputReference:
    """One output of K trials, every array (K, *shape of the output).

    value, rest  the exact value as an unevaluated sum of two float64
    bound        how far a sound kernel may be from it, hard limits included
    raw_bound    the same without the hard limits
    rung_bound   how far (value + rest) itself may be from the truth
    lost         what underflow on the way may add to raw_bound, in some sound kernel
    flag         a sound kernel may overflow or divide by zero on the way
    undefined    the output has no defined value here
    """

    value: Float
    rest: Float
    bound: Float
    raw_bound: Float
    rung_bound: Float
    lost: Float
    flag: Flag
    undefined: Flag

    def error(self, observed: Array) -> Float:
        """|observed − exact|; infinite or NaN where observed is."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.abs((np.asarray(observed, dtype=np.float64) - self.value) - self.rest)

    def select(self, index: NDArray[np.intp] | slice) -> OutputReference:
        return OutputReference(**{name: array[index] for name, array in vars(self).items()})


@dataclass(frozen=True, kw_only=True, eq=False)
class Channels:
    """Facts about every statistic group of K trials, from exact values: (K, *shape) with reduced axes of length 1.

    xhat_bound has the full shape of x: the capped bound of x̂.
    """

    mean: Float
    variance: Float
    constant: Flag
    kappa: Float
    xhat_bound: Float


@dataclass(frozen=True, kw_only=True, eq=False)
class Reference:
    """Exact values and bounds for (Spec, Inputs) under one set of Rules. `rungs`: which rung served each trial."""

    spec: Spec
    inputs: Inputs
    rules: Rules
    problem: Problem
    outputs: dict[str, OutputReference]
    channels: Channels
    rungs: tuple[Rung, ...]


def reference(spec: Spec, inputs: Inputs, conventions: Conventions, *, rung: Rung | None = None) -> Reference:
    """The Reference of all trials; `rung` forces one rung (confirmation uses "mpmath").

    Raises UsageError for a Spec of several steps (each is judged from the state that the backend produced:
    use Inputs.at_step) and for arrays that do not fit the Spec.
    """
    if len(spec.steps) != 1:
        raise UsageError(f"steps={spec.steps}: a reference is of one step; take each with Inputs.at_step")
    check_inputs(spec, inputs)
    return evaluate(spec, inputs, rules_of(spec, conventions), rung=rung)


def evaluate(
    spec: Spec, inputs: Inputs, rules: Rules, *, rung: Rung | None = None, variant: Variant = "sound"
) -> Reference:
    """`reference` for given Rules, or the bounds of a known unstable `variant` of the formula."""
    stated = problem_of(spec, inputs, rules)
    undefined = separate(stated, rules, spec.mode)
    if spec.size == 0:
        return _empty(spec, inputs, rules, stated)
    first: Rung = rung or ("double-double" if rules.compute.name == "float64" else "float64")
    result = _on_rung(spec, inputs, rules, undefined, first, variant)
    if rung is not None:
        return result
    for finer in RUNGS[RUNGS.index(first) + 1 :]:
        coarse = _too_coarse(result)
        if not coarse.any():
            break
        index = np.flatnonzero(coarse)
        part = _on_rung(spec, inputs.select(index), rules, _select(undefined, index), finer, variant)
        result = _merged(result, part, index)
    return result


def _values(rung: Rung) -> Values:
    if rung == "float64":
        return Float64()
    return DoubleDouble() if rung == "double-double" else Multiprecision()


def _on_rung(
    spec: Spec, inputs: Inputs, stated: Rules, undefined: Undefined, rung: Rung, variant: Variant
) -> Reference:
    problem, rules = undefined.problem, undefined.rules
    trials = inputs.trials
    values = _values(rung)
    arithmetic = TrackedArithmetic(values, rules.compute, flushes=rules.flushes, summation=rules.summation)
    with np.errstate(all="ignore"):
        tracked = (
            training(arithmetic, problem, rules, variant)
            if spec.mode == "training"
            else inference(arithmetic, problem, rules)
        )
        # A parameter's gradient may be a longer sum than a statistic's (layer norm).
        terms = max(spec.n, spec.size // max(1, math.prod(spec.parameter_shape)))
        inflation = 1 + (terms + 100) * 2.0**-52
        outputs = {}
        lost = values.split(tracked["dx_lost"].v)[0] if "dx_lost" in tracked else np.zeros(())
        for name, (shape, _) in expected_outputs(spec).items():
            if name in tracked:
                outputs[name] = _output(
                    spec,
                    name,
                    tracked[name],
                    undefined.masks[name],
                    values,
                    (trials, *shape),
                    inflation,
                    lost if name == "dx" else np.zeros(()),
                )
        if rules.fix_gamma and spec.has_gamma:
            outputs["dgamma"] = _constant((trials, *spec.parameter_shape), 0.0)
        channels = _channels(tracked, problem, rules, values, spec.mode)
    return Reference(
        spec=spec,
        inputs=inputs,
        rules=stated,
        problem=problem,
        outputs=outputs,
        channels=channels,
        rungs=(rung,) * trials,
    )


def _output(
    spec: Spec, name: str, a: Tracked, mask: Flag, values: Values, shape: tuple[int, ...], inflation: float, lost: Float
) -> OutputReference:
    value, rest = values.split(a.v)
    # dx of a constant cotangent in inference is one number per group until here.
    target = shape if name in ("y", "dx") else (shape[0], *(1,) * spec.rank)
    full = np.broadcast_shapes(value.shape, mask.shape, target)

    def shaped(array: Array) -> Array:
        wide = np.broadcast_to(array, full)
        if name in ("dgamma", "dbeta"):
            sizes = tuple(spec.shape[axis] for axis in sorted(spec.affine_axes))
            return parameter_order(spec, wide.reshape(shape[0], *sizes))
        return wide.reshape(shape)

    # Digits that two float64 do not hold are cut off, and numbers below their smallest.
    cut = 2.0**-53 * np.abs(rest) + np.where(a.e[RUNG] > 0, 2.0**-1074, 0.0)
    return OutputReference(
        value=shaped(value),
        rest=shaped(rest),
        bound=shaped(a.e[CAPPED] * inflation),
        raw_bound=shaped(a.e[RAW] * inflation),
        rung_bound=shaped(a.e[RUNG] * inflation + cut),
        lost=shaped(lost * inflation),
        flag=shaped(a.flag),
        undefined=shaped(mask),
    )


def _channels(tracked: dict[str, Tracked], problem: Problem, rules: Rules, values: Values, mode: str) -> Channels:
    if mode == "training":
        mean = values.split(tracked["batch_mean"].v)[0]
        variance = values.split(tracked["batch_var"].v)[0]
        low = np.min(problem.x, axis=problem.reduced, keepdims=True)
        constant = low == np.max(problem.x, axis=problem.reduced, keepdims=True)
        if not problem.centred:
            mean = np.zeros_like(variance)
            constant &= low == 0
    else:
        assert problem.running_mean is not None and problem.running_var is not None
        mean, variance = problem.running_mean, problem.running_var
        constant = np.zeros(mean.shape, dtype=bool)
    variance = np.where(constant, 0.0, variance)
    spread = variance + rules.eps
    kappa = np.where(spread > 0, np.hypot(1.0, mean / np.sqrt(np.where(spread > 0, spread, 1.0))), np.inf)
    return Channels(mean=mean, variance=variance, constant=constant, kappa=kappa, xhat_bound=tracked["xhat"].e[CAPPED])


def _too_coarse(result: Reference) -> NDArray[np.bool_]:
    """Trials in which some defined element's rung bound is above its share of the subject's bound."""
    coarse = np.zeros(len(result.rungs), dtype=bool)
    for output in result.outputs.values():
        fine = np.isfinite(output.rung_bound) & np.isfinite(output.value)
        fine &= output.rung_bound <= output.bound / CERTIFICATE_SHARE
        # An exact output (a kept statistic) has both bounds 0 and is fine as it is.
        bad = ~fine & ~output.undefined
        coarse |= bad.reshape(len(coarse), -1).any(axis=1)
    return coarse


def _select(undefined: Undefined, index: NDArray[np.intp]) -> Undefined:
    def picked(array: Array | None) -> Array | None:
        return None if array is None else array[index]

    problem = undefined.problem
    part = replace(
        problem,
        x=problem.x[index],
        gamma=picked(problem.gamma),
        beta=picked(problem.beta),
        running_mean=picked(problem.running_mean),
        running_var=picked(problem.running_var),
        cotangent=picked(problem.cotangent),
    )
    masks = {name: mask[index] if mask.ndim and mask.shape[0] != 1 else mask for name, mask in undefined.masks.items()}
    return Undefined(part, undefined.rules, masks)


def _merged(whole: Reference, part: Reference, index: NDArray[np.intp]) -> Reference:
    def put(target: Array, source: Array) -> Array:
        merged = np.array(target)
        merged[index] = source
        return merged

    outputs = {
        name: OutputReference(
            **{field: put(array, getattr(part.outputs[name], field)) for field, array in vars(output).items()}
        )
        for name, output in whole.outputs.items()
    }
    channels = Channels(
        **{field: put(array, getattr(part.channels, field)) for field, array in vars(whole.channels).items()}
    )
    rungs = list(whole.rungs)
    for position, rung in zip(index, part.rungs, strict=True):
        rungs[position] = rung
    return replace(whole, outputs=outputs, channels=channels, rungs=tuple(rungs))


def _constant(shape: tuple[int, ...], value: float, *, undefined: bool = False) -> OutputReference:
    zeros = np.zeros(shape)
    flag = np.zeros(shape, dtype=bool)
    return OutputReference(
        value=zeros + value,
        rest=zeros,
        bound=zeros,
        raw_bound=zeros,
        rung_bound=zeros,
        lost=zeros,
        flag=flag,
        undefined=np.full(shape, undefined),
    )


def _empty(spec: Spec, inputs: Inputs, rules: Rules, problem: Problem) -> Reference:
    """No element at all: y and dx empty, dγ = dβ = 0, the statistics by the backend's rule."""
    trials = inputs.trials
    served: Rung = "float64"
    outputs = {}
    for name, (shape, _) in expected_outputs(spec).items():
        kept = name.startswith("new_running") and (rules.empty_statistics == "keep" or spec.mode == "inference")
        if kept:
            old = np.asarray(inputs.running_mean if name.endswith("mean") else inputs.running_var, dtype=np.float64)
            outputs[name] = replace(_constant((trials, *shape), 0.0), value=old)
        else:
            statistic = name.startswith(("new_running", "batch"))
            outputs[name] = _constant((trials, *shape), 0.0, undefined=statistic)
    groups = (trials, *(spec.shape[axis] if axis in spec.kept_axes else 1 for axis in range(spec.rank)))
    zeros = np.zeros(groups)
    channels = Channels(
        mean=zeros,
        variance=zeros,
        constant=np.zeros(groups, dtype=bool),
        kappa=np.ones(groups),
        xhat_bound=np.zeros((trials, *spec.shape)),
    )
    ordered = {name: outputs[name] for name in OUTPUT_NAMES if name in outputs}
    return Reference(
        spec=spec,
        inputs=inputs,
        rules=rules,
        problem=problem,
        outputs=ordered,
        channels=channels,
        rungs=(served,) * trials,
    )
