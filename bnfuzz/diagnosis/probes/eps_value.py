"""Which eps is used: the default, and the format that a given one is kept in.

x = ±a has mean 0 and variance a², so y = a/√(a² + ε), and ε = a²(1/y² − 1): an interval, by the bound of y.
"""

from __future__ import annotations

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Case, Inputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.hypotheses import Expected, expect, fits, the_one
from bnfuzz.diagnosis.probes.numbers import NARROWER, constant, power
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import CHANNELS, INEXACT, Subject, alternating, columns_of, inputs_of
from bnfuzz.numerics.values import Float


def sizes() -> Float:
    """Powers of two from 2^4 down: one channel each, the last far below the root of any eps in use."""
    return np.exp2(4.0 - np.arange(CHANNELS) % 24)


def default(subject: Subject) -> Seen:
    spec = subject.spec(triple=subject.finest, eps=None, momentum=None)
    inputs = inputs_of(spec, alternating(sizes()))
    y = subject.output("y", spec, inputs)
    low, high, channel, seen = enclosed(spec, inputs, y, subject.conventions)
    stated = subject.conventions.eps_given(spec)
    size = sizes()[channel]
    evidence = (
        f"{'/'.join(spec.formats)}: x = ±{power(size)} gives y = ±{seen!r} without an eps, "
        f"so eps is in [{low!r}, {high!r}]"
    )
    agrees = low <= stated <= high
    if not agrees and not fits(expect(spec, inputs, subject.conventions, "y", eps=(low + high) / 2), y):
        raise CannotTell(f"no one eps inside the root gives y for every x: {evidence}")
    observed = said(stated) if agrees else constant(low, high)
    return Seen(observed=observed, evidence=evidence, agrees=agrees, case=Case(spec=spec, inputs=inputs))


def enclosed(spec: Spec, inputs: Inputs, y: Array, conventions: Conventions) -> tuple[float, float, int, float]:
    """(least, largest eps that y allows, the channel that shows it best, y there)."""
    first = columns_of(spec, y)[0, 0]
    size = columns_of(spec, inputs.x)[0, 0]
    usable = np.isfinite(first) & (first > 0) & (first < 1)
    if not usable.any():
        raise CannotTell(f"y = ±{first[0]:.9g} for x = ±{power(size[0])} is no x/√(x² + eps) of an eps above 0")
    # Half the variance at y = 1/√2: there a relative change of eps moves y most.
    channel = int(np.argmin(np.where(usable, np.abs(first - np.sqrt(0.5)), np.inf)))
    seen = float(first[channel])
    estimate = _eps_of(float(size[channel]), seen)
    reach = float(columns_of(spec, expect(spec, inputs, conventions, "y", eps=estimate).bound)[0, 0, channel])
    ends = (_eps_of(float(size[channel]), seen + reach), _eps_of(float(size[channel]), seen - reach))
    return ends[0], ends[1], channel, seen


def _eps_of(size: float, y: float) -> float:
    """a²(1/y² − 1), as a²(1−y)(1+y)/y²: the difference without cancellation."""
    return size * size * (1 - y) * (1 + y) / (y * y)


def said(value: float) -> str:
    """A documented number, and what it is the stored form of."""
    return constant(value, value) if constant(value, value)[0] != "b" else repr(value)


def kept_in(subject: Subject) -> Seen:
    subject.settable("eps")
    spec = subject.spec(triple=subject.finest, eps=INEXACT, momentum=INEXACT)
    inputs = inputs_of(spec, alternating(0.25))
    y = subject.output("y", spec, inputs)
    alternatives: dict[str, Expected] = {"as given": expect(spec, inputs, subject.conventions, "y", eps=INEXACT)}
    for name in NARROWER:
        if formats.named(name).precision < subject.conventions.compute_format(spec.data_format).precision:
            stored = formats.round_to(INEXACT, name)
            alternatives[name] = expect(spec, inputs, subject.conventions, "y", eps=stored)
    if "float32" not in alternatives:
        raise CannotTell("float64 data is not accepted, and in float32 a float32 eps looks like any other")
    seen = float(columns_of(spec, y)[0, 0, 0])
    observed = the_one(alternatives, y)
    evidence = f"{'/'.join(spec.formats)}: x = ±0.25, eps = {INEXACT!r} gives y = ±{seen!r}"
    return Seen(observed=observed, evidence=evidence, case=Case(spec=spec, inputs=inputs))


PROBES = (
    Probe(
        name="default eps",
        look=default,
        documented=lambda conventions: said(
            formats.round_to(conventions.default_eps, conventions.scalar_format or "float64")
        ),
    ),
    Probe(
        name="format of eps",
        look=kept_in,
        documented=lambda conventions: conventions.scalar_format or "as given",
    ),
)
