"""The momentum argument: which statistic it multiplies, its default, the format that it is kept in.

Channels alternate: a mean of 1 over a running mean of 0 shows the weight of the new statistic, a mean of 0 over a
running mean of 1 that of the old one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Case, Inputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.hypotheses import Expected, expect, fits, the_one
from bnfuzz.diagnosis.probes.numbers import NARROWER
from bnfuzz.diagnosis.probes.row import Probe, Seen, of_statistics
from bnfuzz.diagnosis.probes.subject import CHANNELS, INEXACT, Subject, inputs_of

Weighs = Literal["new", "old"]
SENSES: tuple[Weighs, ...] = ("new", "old")

NEW = np.arange(CHANNELS) % 2 == 0


def given_to(spec: Spec) -> Inputs:
    return inputs_of(spec, np.where(NEW, 1.0, 0.0)[np.newaxis], running_mean=np.where(NEW, 0.0, 1.0))


def learned(subject: Subject, spec: Spec, inputs: Inputs) -> Array:
    """The new running mean; CannotTell where there is none."""
    if "new_running_mean" not in subject.conventions.outputs:
        raise CannotTell("it keeps no running statistics")
    return subject.output("new_running_mean", spec, inputs)


def weights(learnt: Array) -> str:
    """Both weights as they came out."""
    new, old = (float(np.asarray(learnt, dtype=np.float64)[0, channel]) for channel in (0, 1))
    return f"weights {new!r} of the new and {old!r} of the old statistic"


def by_sense(subject: Subject, spec: Spec, inputs: Inputs, argument: float) -> dict[str, Expected]:
    """The new running mean where `argument` weighs the new statistic, and where it weighs the old one."""
    return {
        f"the {sense} statistic": expect(
            spec, inputs, subject.conventions, "new_running_mean", momentum=argument, momentum_weighs=sense
        )
        for sense in SENSES
    }


def weighs(subject: Subject) -> Seen:
    spec = subject.spec()
    inputs = given_to(spec)
    learnt = learned(subject, spec, inputs)
    argument = subject.conventions.momentum_argument(spec)
    alternatives = by_sense(subject, spec, inputs, argument)
    alternatives["nothing: they stay as they are"] = expect(
        spec, inputs, subject.conventions, "new_running_mean", momentum=0.0, momentum_weighs="new"
    )
    observed = the_one(alternatives, learnt)
    evidence = f"handed {argument!r}: {weights(learnt)}"
    return Seen(observed=observed, evidence=evidence, case=Case(spec=spec, inputs=inputs))


def default(subject: Subject) -> Seen:
    spec = subject.spec(triple=subject.finest, eps=None, momentum=None)
    inputs = given_to(spec)
    learnt = learned(subject, spec, inputs)
    stated = subject.conventions.momentum_given(spec)
    alternatives = by_sense(subject, spec, inputs, stated)
    documented = alternatives[f"the {subject.conventions.momentum_weighs} statistic"]
    agrees = fits(documented, learnt)
    found = [sense for sense, expected in alternatives.items() if fits(expected, learnt)]
    observed = f"{subject.conventions.default_momentum!r} of {found[0]}" if len(found) == 1 else weights(learnt)
    evidence = f"{'/'.join(spec.formats)}, no momentum given: {weights(learnt)}"
    return Seen(observed=observed, evidence=evidence, agrees=agrees, case=Case(spec=spec, inputs=inputs))


def kept_in(subject: Subject) -> Seen:
    subject.settable("momentum")
    spec = subject.spec(triple=subject.finest, eps=INEXACT, momentum=INEXACT)
    inputs = given_to(spec)
    learnt = learned(subject, spec, inputs)
    argument = subject.conventions.momentum_argument(spec)
    sense = _nearer(learnt, argument)
    alternatives = {
        name: expect(
            spec,
            inputs,
            subject.conventions,
            "new_running_mean",
            momentum=argument if name == "as given" else formats.round_to(argument, name),
            momentum_weighs=sense,
        )
        for name in ("as given", *NARROWER)
    }
    if spec.data_format != "float64":
        raise CannotTell("float64 data is not accepted, and in float32 a float32 momentum looks like any other")
    observed = the_one(alternatives, learnt)
    evidence = f"{'/'.join(spec.formats)}, handed {argument!r}: {weights(learnt)}"
    return Seen(observed=observed, evidence=evidence, case=Case(spec=spec, inputs=inputs))


def _nearer(learnt: Array, argument: float) -> Weighs:
    """The sense under which the weight of the new statistic is what was handed over, but for its storage."""
    first = float(np.asarray(learnt, dtype=np.float64)[0, 0])
    return "new" if abs(first - argument) < abs(first - (1.0 - argument)) else "old"


def documented_default(conventions: Conventions) -> str:
    """The default argument and what it multiplies."""
    return f"{conventions.default_momentum!r} of the {conventions.momentum_weighs} statistic"


PROBES = (
    Probe(
        name="momentum weighs",
        look=weighs,
        documented=of_statistics(lambda conventions: f"the {conventions.momentum_weighs} statistic"),
    ),
    Probe(name="default momentum", look=default, documented=of_statistics(documented_default)),
    Probe(
        name="format of momentum",
        look=kept_in,
        documented=of_statistics(
            lambda conventions: conventions.momentum_format or conventions.scalar_format or "as given"
        ),
    ),
)
