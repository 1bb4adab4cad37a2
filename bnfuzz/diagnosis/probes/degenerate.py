"""What happens with one value per channel, with none, and without channels."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array, Case, Inputs, Outputs
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.hypotheses import expect, fits, standing
from bnfuzz.diagnosis.probes.momentum import SENSES
from bnfuzz.diagnosis.probes.row import Probe, Seen, of_statistics
from bnfuzz.diagnosis.probes.subject import Subject, inputs_of, refusal

REFUSED = "refused"
BETA = "y = beta, gradients 0"
EMPTY = "empty results"

COUNT = 3
COTANGENT = np.array([[1.0, -2.0, 0.5]])


def one_value(subject: Subject) -> Seen:
    spec = subject.spec(_shape(subject, 1))
    x = np.array([[5.0, -7.0, 0.1]])
    inputs = inputs_of(spec, x, gamma=2.0, beta=np.array([0.5, 1.0, -3.0]), cotangent=COTANGENT)
    reply = subject.run(spec, inputs)
    case = Case(spec=spec, inputs=inputs)
    if reply.outputs is None:
        return Seen(observed=REFUSED, evidence=f"ends in {refusal(reply)}", case=case)
    wrong = [
        f"{name} = {_shown(array)}"
        for name, array in reply.outputs.items()
        if name in ("y", "dx", "dgamma") and not fits(expect(spec, inputs, subject.conventions, name), array)
    ]
    if wrong:
        return Seen(observed="another result", evidence=f"x = {_shown(x)}: {'; '.join(wrong)}", case=case)
    given = "y = beta" + "".join(
        f", {name} = 0" for name in ("dx", "dgamma") if getattr(reply.outputs, name) is not None
    )
    return Seen(observed=BETA, evidence=f"x = {_shown(x)}: {given}, within their bounds", case=case)


def one_value_variance(subject: Subject) -> Seen:
    spec = subject.spec(_shape(subject, 1))
    inputs = inputs_of(spec, np.array([[5.0, -7.0, 0.1]]), running_var=2.0)
    reply = subject.run(spec, inputs)
    if reply.outputs is None:
        raise CannotTell(f"training on one value per channel ends in {refusal(reply)}")
    if reply.outputs.new_running_var is None:
        raise CannotTell("it keeps no running statistics")
    learnt = reply.outputs.new_running_var
    case = Case(spec=spec, inputs=inputs)
    evidence = f"a running variance of 2 becomes {_shown(learnt)}"
    if np.isnan(np.asarray(learnt, dtype=np.float64)).all():
        return Seen(observed=VARIANCES["nan"], evidence=evidence, case=case)
    argument = subject.conventions.momentum_argument(spec)
    alternatives = {
        f"{name} {sense}": expect(
            spec, inputs, subject.conventions, "new_running_var",
            running_ddof=1, single_value_variance=name, momentum=argument, momentum_weighs=sense,
        )
        for name in ("keep", "biased")
        for sense in SENSES
    }  # fmt: skip
    found = {name.partition(" ")[0] for name in standing(alternatives, learnt)}
    if len(found) != 1:
        raise CannotTell(evidence)
    return Seen(observed=VARIANCES[found.pop()], evidence=evidence, case=case)


def no_value(subject: Subject) -> Seen:
    spec = subject.spec(_shape(subject, 0))
    inputs = inputs_of(spec, np.ones((1, 1)), running_mean=0.5, running_var=2.0)
    reply = subject.run(spec, inputs)
    case = Case(spec=spec, inputs=inputs)
    if reply.outputs is None:
        return Seen(observed=REFUSED, evidence=f"shape {spec.shape} ends in {refusal(reply)}", case=case)
    statistics = _statistics(reply.outputs, inputs)
    told = "; ".join(f"{name} = {_shown(array)}" for name, array in reply.outputs.items() if array.size)
    stated = empty_documented(subject.conventions)
    parts = [EMPTY, *([statistics] if statistics else [])]
    # "refused" says what is not asked for; what is accepted beside that departs from nothing.
    agrees = stated in (REFUSED, EMPTY, ", ".join(parts))
    # No record says what a gradient of nothing is; the mathematics say 0.
    parts += [f"{name} NaN" for name in ("dgamma", "dbeta") if _nan(getattr(reply.outputs, name))]
    observed = ", ".join(parts)
    return Seen(
        observed=observed, evidence=f"shape {spec.shape}: {told or 'all outputs empty'}", agrees=agrees, case=case
    )


def no_channel(subject: Subject) -> Seen:
    along = subject.axis
    shape = (0, 4) if along == 0 else (4, 0)
    spec = subject.spec(shape + (1,) * (subject.conventions.ranks[0] - 2))
    inputs = inputs_of(spec, np.ones((1, 1)))
    reply = subject.run(spec, inputs)
    case = Case(spec=spec, inputs=inputs)
    if reply.outputs is None:
        return Seen(observed=REFUSED, evidence=f"shape {spec.shape} ends in {refusal(reply)}", case=case)
    sizes = {name: array.size for name, array in reply.outputs.items()}
    filled = [name for name, size in sizes.items() if size]
    observed = f"{', '.join(filled)} not empty" if filled else EMPTY
    evidence = f"shape {spec.shape}: {', '.join(sizes)}"
    return Seen(observed=observed, evidence=evidence, agrees=not filled, case=case)


def _shape(subject: Subject, n: int) -> tuple[int, ...]:
    shape = (COUNT, n) if subject.axis == 0 else (n, COUNT)
    return shape + (1,) * (subject.conventions.ranks[0] - 2)


def _statistics(outputs: Outputs, inputs: Inputs) -> str:
    """In words, what became of the running statistics without a value to learn from; "" where there are none."""
    pairs = [(outputs.new_running_mean, inputs.running_mean), (outputs.new_running_var, inputs.running_var)]
    if any(new is None or old is None for new, old in pairs):
        return ""
    new = np.concatenate([np.ravel(np.asarray(pair[0], dtype=np.float64)) for pair in pairs])
    old = np.concatenate([np.ravel(np.asarray(pair[1], dtype=np.float64)) for pair in pairs])
    if np.isnan(new).all():
        return STATISTICS["nan"]
    return STATISTICS["keep"] if bool((new == old).all()) else "statistics change"


def _nan(array: Array | None) -> bool:
    return array is not None and bool(np.isnan(np.asarray(array, dtype=np.float64)).any())


def _shown(array: Array) -> str:
    return ", ".join(f"{float(value):g}" for value in np.ravel(np.asarray(array, dtype=np.float64))[:COUNT])


def single_variance_documented(conventions: Conventions) -> str:
    """The documented rule for the running variance at n = 1; "" where training on one value is refused."""
    if conventions.single_value == "refused":
        return ""
    return VARIANCES[conventions.single_value_variance if conventions.running_ddof else "biased"]


def empty_documented(conventions: Conventions) -> str:
    """The documented rule for n = 0."""
    if conventions.empty == "refused":
        return REFUSED
    return f"{EMPTY}, {STATISTICS[conventions.empty_statistics]}" if _stated(conventions) else EMPTY


def _stated(conventions: Conventions) -> bool:
    return conventions.empty_statistics != "unspecified" and "new_running_mean" in conventions.outputs


VARIANCES = {"keep": "stays as it is", "biased": "learns the variance 0", "nan": "becomes NaN"}
STATISTICS = {"keep": "statistics stay", "nan": "statistics become NaN"}

PROBES = (
    Probe(
        name="one value per channel",
        look=one_value,
        documented=lambda conventions: REFUSED if conventions.single_value == "refused" else BETA,
    ),
    Probe(
        name="running variance of one value",
        look=one_value_variance,
        documented=of_statistics(single_variance_documented),
    ),
    Probe(name="no value per channel", look=no_value, documented=empty_documented),
    Probe(
        name="no channel",
        look=no_channel,
        documented=lambda conventions: REFUSED if conventions.empty == "refused" else EMPTY,
    ),
)
