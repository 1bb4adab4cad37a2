"""The judge: outputs of K trials against the reference, all at once.

An element passes when |observed − exact| + e_rung ≤ bound. What does not pass is `nonfinite`, `range` (a sound
kernel may overflow on the way), `unstable` (explained by the uncapped bound or by a known unstable formula),
`wrong`, or `uncertain` where the reference itself is too coarse to tell. No tolerance is chosen by hand: every
bound comes from bnfuzz.numerics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bnfuzz import formats
from bnfuzz.case import Array, Outputs, expected_outputs
from bnfuzz.judge.information import apriori_ranges, information_of
from bnfuzz.judge.regime import group_index, regime
from bnfuzz.judge.unstable import Explanations
from bnfuzz.judge.verdict import FAILING, FINDINGS, Information, Kind, Verdict, precedence
from bnfuzz.numerics.reference import OutputReference, Reference
from bnfuzz.numerics.tracked import Flag
from bnfuzz.numerics.values import Float

CENTRE = "inconsistent centre: within the bound without the hard limit"


@dataclass(frozen=True, eq=False)
class OutputJudgement:
    """One output of K trials.

    ratio      error/bound per element, NaN where the element is undefined
    severity   per trial, the largest ratio of the elements that gave the output its kind
    """

    name: str
    kinds: tuple[Kind, ...]
    severity: Float
    information: tuple[Information, ...]
    ratio: Float
    element_kinds: NDArray[np.object_]
    observed: Array | None
    why: tuple[str, ...]

    def told(self, trial: int) -> Kind:
        """The trial's kind, but `vacuous` for what passes as a correct overflow: infinity says nothing of a value."""
        kind = self.kinds[trial]
        if kind != "ok" or self.observed is None or np.isfinite(self.observed[trial].astype(np.float64)).all():
            return kind
        return "vacuous"


@dataclass(frozen=True, eq=False)
class Judgement:
    """All outputs that a backend gave for K trials. `verdicts(k)` writes one trial's out in full."""

    reference: Reference
    outputs: tuple[OutputJudgement, ...]

    def failing(self) -> NDArray[np.intp]:
        """Trials with at least one finding."""
        count = len(self.reference.rungs)
        bad = [
            k for k in range(count) if any(precedence(output.kinds[k]) < precedence("ok") for output in self.outputs)
        ]
        return np.array(bad, dtype=np.intp)

    def headline(self, trial: int, outputs: tuple[str, ...] = ()) -> Verdict | None:
        """The verdict that names the trial's finding, if it has one; `outputs` restricts what is looked at."""
        findings = [
            output
            for output in self.outputs
            if output.kinds[trial] in FINDINGS and (not outputs or output.name in outputs)
        ]
        if not findings:
            return None
        return _verdict(self.reference, min(findings, key=lambda output: output.kinds[trial] not in FAILING), trial)

    def verdicts(self, trial: int) -> tuple[Verdict, ...]:
        return tuple(_verdict(self.reference, output, trial) for output in self.outputs)


def judge(reference: Reference, observed: Outputs) -> Judgement:
    """Every output that is present, compared. Never raises on a disagreement."""
    apriori = apriori_ranges(reference)
    explanations = Explanations(reference, observed)
    judged = []
    for name, array in observed.items():
        if name in reference.outputs:
            judged.append(_judge_output(reference, name, array, apriori[name], explanations))
    return Judgement(reference, tuple(judged))


def _judge_output(
    reference: Reference, name: str, observed: Array, apriori: Float, explanations: Explanations
) -> OutputJudgement:
    exact = reference.outputs[name]
    shape, format_name = expected_outputs(reference.spec)[name]
    trials = len(reference.rungs)
    if observed.shape != (trials, *shape):
        return _refused(reference, name, "shape", f"shape {observed.shape[1:]} where {shape} is due")
    if observed.dtype != formats.named(format_name).dtype:
        return _refused(reference, name, "dtype", f"dtype {observed.dtype} where {format_name} is due")

    values = np.asarray(observed, dtype=np.float64)
    error = exact.error(values)
    finite = np.isfinite(values)
    largest = formats.named(format_name).largest
    magnitude = np.abs(exact.value)
    right_sign = (np.sign(values) == np.sign(exact.value)) | (magnitude <= exact.bound)
    overflowed = np.isinf(values) & right_sign & (magnitude + exact.bound >= largest)
    with np.errstate(invalid="ignore"):
        passed = overflowed | (finite & (error + exact.rung_bound <= exact.bound))
        failed = finite & (error - exact.rung_bound > exact.bound)
    within_raw = finite & (error <= exact.raw_bound + exact.rung_bound)
    within_range = exact.flag | (finite & (error <= exact.raw_bound + exact.lost + exact.rung_bound))
    judged = ~exact.undefined

    kinds = np.full(values.shape, "ok", dtype=object)
    kinds[~passed] = "uncertain"
    kinds[failed] = "wrong"
    kinds[failed & within_raw] = "unstable"
    kinds[(failed & ~within_raw) & within_range] = "range"
    kinds[~finite & ~passed] = "nonfinite"
    kinds[~finite & ~passed & exact.flag] = "range"
    kinds[exact.undefined] = "vacuous"
    why = [""] * trials
    for trial in np.flatnonzero((kinds == "unstable").reshape(trials, -1).any(axis=1)):
        why[trial] = CENTRE
    _explain(reference, name, error, kinds, why, explanations)

    ratio = _ratio(error, exact, passed & ~finite)
    ratio[exact.undefined] = np.nan
    information = information_of(reference, name, exact, apriori, judged)
    outcome, severity = _outcomes(kinds, judged, ratio, information, passed | exact.undefined)
    return OutputJudgement(name, outcome, severity, information, ratio, kinds, observed, tuple(why))


def _refused(reference: Reference, name: str, kind: Kind, why: str) -> OutputJudgement:
    """Wrong metadata: nothing is compared."""
    trials = len(reference.rungs)
    expected = reference.outputs[name].bound.shape
    says: Information = "informative"
    return OutputJudgement(
        name=name,
        kinds=(kind,) * trials,
        severity=np.full(trials, np.inf),
        information=(says,) * trials,
        ratio=np.zeros(expected),
        element_kinds=np.full(expected, kind, dtype=object),
        observed=None,
        why=(why,) * trials,
    )


def _explain(
    reference: Reference,
    name: str,
    error: Float,
    kinds: NDArray[np.object_],
    why: list[str],
    explanations: Explanations,
) -> None:
    """`wrong` elements become `unstable` in the trials where a known unstable formula accounts for all of them."""
    trials = len(reference.rungs)
    suspects = np.flatnonzero((kinds == "wrong").reshape(trials, -1).any(axis=1))
    if not len(suspects):
        return
    for trial, cause in explanations.causes(name, suspects, error, kinds == "wrong").items():
        kinds[trial][kinds[trial] == "wrong"] = "unstable"
        why[trial] = cause


def _ratio(error: Float, exact: OutputReference, correct_overflow: Flag) -> Float:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio: Float = np.where(error == 0, 0.0, error / exact.bound)
    # Nothing finite lies beyond an infinite bound; a value that is not finite is beyond every finite one.
    ratio = np.where(np.isnan(ratio), np.where(np.isnan(error), np.inf, 0.0), ratio)
    ratio[correct_overflow] = 0.0
    return ratio


def _outcomes(
    kinds: NDArray[np.object_], judged: Flag, ratio: Float, information: tuple[Information, ...], unsuspicious: Flag
) -> tuple[tuple[Kind, ...], Float]:
    """Per trial, the kind of the output and the largest ratio of the elements that gave it.

    Most trials have no failing element: for those nothing is looked at one by one.
    """
    trials = len(kinds)
    flat = np.where(np.isnan(ratio), 0.0, ratio).reshape(trials, -1)
    severity: Float = np.max(flat, axis=1, initial=0.0)
    plain = np.all(unsuspicious.reshape(trials, -1), axis=1)
    some = np.any(judged.reshape(trials, -1), axis=1)
    outcome: list[Kind] = []
    for trial in range(trials):
        if not plain[trial]:
            kind = _joined(kinds[trial][judged[trial]].tolist(), information[trial])
            if kind in FINDINGS:
                severity[trial] = np.max(flat[trial][kinds[trial].ravel() == kind], initial=0.0)
            outcome.append(kind)
        elif some[trial]:
            outcome.append("vacuous" if information[trial] == "vacuous" else "ok")
        else:
            outcome.append("vacuous" if judged[trial].size else "ok")
    return tuple(outcome), severity


def _joined(kinds: list[Kind], information: Information) -> Kind:
    """One kind for an output with failing elements: the first by precedence; `uncertain` before `ok`."""
    findings = [kind for kind in set(kinds) if kind in FINDINGS]
    if findings:
        return min(findings, key=precedence)
    if "uncertain" in kinds:
        return "uncertain"
    return "vacuous" if information == "vacuous" or not kinds else "ok"


def _verdict(reference: Reference, output: OutputJudgement, trial: int) -> Verdict:
    """The trial's verdict on one output, told of its worst element of the winning kind."""
    kind = output.kinds[trial]
    common = {"output": output.name, "kind": kind, "information": output.information[trial], "n": reference.spec.n}
    ratios = output.ratio[trial]
    if output.observed is None or ratios.size == 0:
        return Verdict(severity=float(output.severity[trial]), why=output.why[trial], **common)  # type: ignore[arg-type]  # a dict of keywords
    candidates = (
        np.where(output.element_kinds[trial] == kind, ratios, -1.0) if kind not in ("ok", "vacuous") else ratios
    )
    candidates = np.where(np.isnan(candidates), -1.0, candidates)
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(candidates)), candidates.shape))
    exact = reference.outputs[output.name]
    at = (trial, *place)
    # Gradients of parameters may exist where there is no group at all (layer norm of no rows).
    group = group_index(reference, output.name, trial, place) if reference.channels.kappa.size else None
    _, format_name = expected_outputs(reference.spec)[output.name]
    errors = exact.select(slice(trial, trial + 1)).error(output.observed[trial : trial + 1])[0]
    value = float(exact.value[at])
    with np.errstate(invalid="ignore", over="ignore"):
        needed = np.where(exact.undefined[trial], 0.0, errors / (1 + np.abs(exact.value[trial])))
    return Verdict(
        severity=float(output.severity[trial]),
        regime="range" if kind == "range" else "plain" if group is None else regime(reference, group),
        index=place,
        exact=value,
        observed=float(output.observed[at]),
        bound=float(exact.bound[at]),
        raw_bound=float(exact.raw_bound[at]),
        failing=int(np.sum(output.element_kinds[trial] == kind)),
        kappa=1.0 if group is None else float(reference.channels.kappa[group]),
        ulps=float(errors[place]) / spacing(value, format_name),
        tolerance=float(np.max(np.where(np.isnan(needed), np.inf, needed))),
        why=output.why[trial],
        **common,  # type: ignore[arg-type]  # a dict of keywords
    )


def spacing(value: float, format_name: str) -> float:
    """Distance between neighbouring numbers of the format at |value|: one unit in the last place."""
    fmt = formats.named(format_name)
    if not np.isfinite(value) or abs(value) < fmt.smallest_normal:
        return fmt.smallest_subnormal
    exponent = int(np.floor(np.log2(abs(value))))
    return 2.0 ** (min(exponent, fmt.emax) - fmt.precision + 1)
