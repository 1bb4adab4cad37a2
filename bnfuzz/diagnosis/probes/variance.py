"""How the variance is taken: by the power of κ that its error grows with, and about which centre.

κ = √(1 + μ²/(σ² + ε)). Over a ladder of offsets the error of y grows as κ·u where the variance is that of deviations
(two passes, Welford, shifted data), and as κ²·u where it is mean(x²) − μ².
"""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Case, Inputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.hypotheses import expect, fits, ratio, raw
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import CHANNELS, ROWS, Subject, columns_of, inputs_of
from bnfuzz.numerics.reference import Reference, evaluate
from bnfuzz.numerics.rules import rules_of
from bnfuzz.numerics.values import Float

TWO_PASS = "stable: two passes, or as good"
ONE_PASS = "one pass: mean(x²) − mean²"
FORMULAS = {"two-pass": TWO_PASS, "one-pass": ONE_PASS, "unstated": ""}

CONSISTENT = "the one that is subtracted"
INCONSISTENT = "not the one that is subtracted"


def rungs(subject: Subject) -> Float:
    """Offsets from 2^⌈p/5⌉, where growth shows over the noise, to 2^(p/2 − 1): beyond, κ²u says nothing."""
    precision = subject.format.precision
    return np.exp2(np.arange(-(-precision // 5), precision // 2, dtype=np.float64))


def formula(subject: Subject) -> Seen:
    spec = subject.spec()
    offsets = rungs(subject)
    noise = np.random.default_rng(2).standard_normal((len(offsets), ROWS, CHANNELS))
    inputs = inputs_of(spec, offsets[:, np.newaxis, np.newaxis] + noise)
    y = subject.output("y", spec, inputs)
    rules = rules_of(spec, subject.conventions)
    sound = evaluate(spec, inputs, rules)
    slope, told = growth(spec, sound, columns_of(spec, sound.outputs["y"].error(y)), subject.format.unit_roundoff)
    as_sound = ratio(sound.outputs["y"], y)
    one_pass = evaluate(spec, inputs, rules, variant="one-pass").outputs["y"]
    # Where the difference of squares is below −ε there is no root: NaN, which tells no more than a large error.
    known = np.where(np.isfinite(y), y, one_pass.value)
    evidence = (
        f"offsets {offsets[0]:g} to {offsets[-1]:g}, spread 1, n = {ROWS}: error of y {told}, fitted κ^{slope:.2f}; "
        f"largest error/bound of the stable formulas {as_sound:.3g}"
    )
    # The nearest whole power, and the bounds, must say the same.
    if round(slope) <= 1 and as_sound <= 1:
        return Seen(observed=TWO_PASS, evidence=evidence, case=_worst(spec, inputs))
    if round(slope) == 2 and as_sound > 1 and fits(raw(one_pass), known):
        return Seen(observed=ONE_PASS, evidence=evidence, case=_worst(spec, inputs))
    raise CannotTell(evidence)


def growth(spec: Spec, sound: Reference, errors: Float, unit: float) -> tuple[float, str]:
    """(slope of log(error/u) against log κ, the errors in words); the error of an offset is its channels' median."""
    kappa = np.median(sound.channels.kappa.reshape(len(errors), -1), axis=1)
    worst = np.max(errors, axis=1)
    finite = np.isfinite(worst)
    error = np.array([np.median(row[known]) if known.any() else 0.0 for row, known in zip(worst, finite, strict=True)])
    error = error / unit
    used = error > 0
    if np.count_nonzero(used) < 2:
        raise CannotTell(f"the error of y is above 0, and finite, at {np.count_nonzero(used)} offsets only")
    told = f"{error[used][0]:.3g} u at κ = {kappa[used][0]:.0f}, {error[used][-1]:.3g} u at κ = {kappa[used][-1]:.0f}"
    lost = int(np.count_nonzero(~finite))
    told += f", NaN in {lost} of {finite.size} channels" if lost else ""
    slope = np.polyfit(np.log(kappa[used]), np.log(error[used]), 1)[0]
    return float(slope), told


def _worst(spec: Spec, inputs: Inputs) -> Case:
    return Case(spec=spec, inputs=inputs.trial(inputs.trials - 1))


def centre(subject: Subject) -> Seen:
    """A number and three times the next larger one: about one rounded mean, |x̂| stays near √3 whatever that mean is.

    Welford's update of the mean meets a tie at the second value: rounded up, it leaves no variance at all.
    """
    if formula(subject).observed != TWO_PASS:
        raise CannotTell("the variance is not that of deviations")
    dtype = subject.format.dtype
    low = np.random.default_rng(3).uniform(2.0**20, 2.0**21, CHANNELS).astype(dtype)
    next_up = np.nextafter(low, np.array(np.inf, dtype))
    columns = np.stack([low, next_up, next_up, next_up]).astype(np.float64)
    spec = subject.spec(eps=2.0**-40)
    inputs = inputs_of(spec, columns)
    y = subject.output("y", spec, inputs)
    expected = expect(spec, inputs, subject.conventions, "y")
    capped = ratio(expected, y)
    largest = float(np.max(np.abs(np.asarray(y, dtype=np.float64))))
    evidence = (
        f"x = c, c⁺, c⁺, c⁺ for {CHANNELS} numbers c near 2^20: largest |y| {largest:.6g}, error/bound {capped:.3g}"
    )
    if capped <= 1:
        return Seen(observed=CONSISTENT, evidence=evidence, case=Case(spec=spec, inputs=inputs))
    if fits(raw(expected), y):
        return Seen(observed=INCONSISTENT, evidence=evidence, case=Case(spec=spec, inputs=inputs))
    raise CannotTell(evidence)


def documented(conventions: Conventions) -> str:
    return FORMULAS[conventions.variance_formula]


PROBES = (
    Probe(name="variance", look=formula, documented=documented),
    Probe(name="centre of the variance", look=centre),
)
