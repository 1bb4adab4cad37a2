"""The running statistics: the divisor of the variance they learn, and when they are written."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Case
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.hypotheses import Expected, expect, predictions, standing
from bnfuzz.diagnosis.probes.momentum import SENSES
from bnfuzz.diagnosis.probes.row import Probe, Seen, of_statistics
from bnfuzz.diagnosis.probes.subject import Subject, alternating, inputs_of, offered, refusal

BIASED, BESSEL = "n", "n − 1"
DIVISORS = (BIASED, BESSEL)

RETURNED = "returned as new arrays"
FORWARD = "written by forward"
BACKWARD = "written by backward"
NEVER = "never written"
WRITTEN = {"returned": RETURNED, "forward": FORWARD, "backward": BACKWARD}


def divisor(subject: Subject) -> Seen:
    """x = ±1 over 4 values: variance 1, or 4/3. Both senses of momentum are tried, so a wrong one does not hide it."""
    spec = subject.spec()
    inputs = inputs_of(spec, alternating(1.0), running_var=0.25)
    learnt = subject.output("new_running_var", spec, inputs)
    argument = subject.conventions.momentum_argument(spec)
    found: dict[str, Expected] = {}
    for ddof, name in enumerate(DIVISORS):
        for sense in SENSES:
            expected = expect(
                spec, inputs, subject.conventions, "new_running_var",
                running_ddof=ddof, momentum=argument, momentum_weighs=sense,
            )  # fmt: skip
            found[f"{name}, momentum weighing the {sense}"] = expected
    left = standing(found, learnt)
    names = {name.partition(",")[0] for name in left}
    if len(names) != 1:
        raise CannotTell(f"running variance 0.25 after x = ±1: {predictions(found, learnt)}")
    weighing = left[0].partition(",")[2]
    shown = {f"{name} predicts": found[f"{name},{weighing}"] for name in DIVISORS}
    told = ", ".join(f"{name} {float(expected.value.flat[0]):.9g}" for name, expected in shown.items())
    seen = float(np.asarray(learnt, dtype=np.float64).flat[0])
    evidence = f"x = ±1, n = 4, running variance 0.25: becomes {seen:.9g}; {told}"
    return Seen(observed=names.pop(), evidence=evidence, case=Case(spec=spec, inputs=inputs))


def written(subject: Subject) -> Seen:
    """A training call taken apart where the adapter can; else what it returns and what it changed."""
    if "new_running_mean" not in subject.conventions.outputs:
        raise CannotTell("it keeps no running statistics")
    spec = subject.spec()
    inputs = inputs_of(spec, np.arange(4.0)[:, np.newaxis], running_mean=0.5)
    stages = subject.observe(spec, inputs)
    if "running_mean@forward" in stages:
        before = np.asarray(inputs.running_mean)[0].tobytes()
        forward, backward = (stages[f"running_mean@{stage}"] for stage in ("forward", "backward"))
        changed = [stage.tobytes() != before for stage in (forward, backward)]
        observed = FORWARD if changed[0] else BACKWARD if changed[1] else NEVER
        evidence = (
            f"a running mean of 0.5 under a batch mean of 1.5 is {float(forward.flat[0]):.9g} after forward, "
            f"{float(backward.flat[0]):.9g} after backward"
        )
        return Seen(observed=observed, evidence=evidence)
    reply = subject.run(spec, inputs)
    if reply.outputs is None:
        raise CannotTell(f"the call ends in {refusal(reply)}")
    learnt = offered(reply.outputs, "new_running_mean")
    touched = [name for name in reply.mutated if name.startswith("running")]
    observed = f"{RETURNED}, and written into the given ones" if touched else RETURNED
    new = float(np.asarray(learnt, dtype=np.float64).flat[0])
    kept = "change" if touched else "keep their bits"
    evidence = f"{new:.9g} comes back for a running mean of 0.5; the given arrays {kept}"
    return Seen(observed=observed, evidence=evidence)


PROBES = (
    Probe(
        name="running variance divides by",
        look=divisor,
        documented=of_statistics(lambda conventions: DIVISORS[conventions.running_ddof]),
    ),
    Probe(
        name="running statistics",
        look=written,
        documented=of_statistics(lambda conventions: WRITTEN[conventions.statistics_written]),
    ),
)
