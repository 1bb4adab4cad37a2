"""The smallest eps that is accepted, and what happens below it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnfuzz.case import Case, Inputs, Mode, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.eps_place import require_formula
from bnfuzz.diagnosis.probes.hypotheses import Expected, expect, standing
from bnfuzz.diagnosis.probes.numbers import power
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, alternating, columns_of, inputs_of, refusal

SMALL = 2.0**-40
"""About 1e-12: below the limit of every kernel that has one, and a float32 as any other."""

NEGATIVE = -0.5
ANY = "none: 0 and negative ones are taken as they are"
ZERO = "0"
ABOVE_ZERO = "above 0"
REFUSED = "refused"


def look(subject: Subject) -> Seen:
    subject.settable("eps")
    require_formula(subject)
    small, small_words, _ = _tried(subject, SMALL, 2.0**-20, "training")
    zero, zero_words, case = _tried(subject, 0.0, 1.0, "training")
    negative, negative_words, _ = _tried(subject, NEGATIVE, 1.0, "training")
    words = [f"eps = {power(SMALL)} {small_words}", f"0 {zero_words}", f"{NEGATIVE} {negative_words}"]
    if zero:
        words.append(f"0 over a constant channel {_constant(subject)}")
    if "inference" in subject.conventions.modes:
        words.append(f"in inference 0 {_tried(subject, 0.0, 1.0, 'inference')[1]}")
    if not small and zero:
        raise CannotTell("; ".join(words))
    if not small:
        observed = f"above {power(SMALL)}"
    elif not zero:
        observed = ABOVE_ZERO
    else:
        observed = ANY if negative else ZERO
    documented = limit(subject.conventions)
    agrees = observed == documented or (observed == ANY and documented == ZERO)
    return Seen(observed=observed, evidence="; ".join(words), agrees=agrees, case=case)


def _tried(subject: Subject, eps: float, size: float, mode: Mode) -> tuple[bool, str, Case]:
    """(whether x = ±size is divided by √(size² + eps), what happened, the case)."""
    spec = subject.spec(eps=eps, mode=mode)
    inputs = inputs_of(spec, alternating(size), running_var=size * size)
    case = Case(spec=spec, inputs=inputs)
    reply = subject.run(spec, inputs)
    if reply.outputs is None or reply.outputs.y is None:
        return False, f"ends in {refusal(reply)}", case
    y = reply.outputs.y
    if not np.isfinite(np.asarray(y, dtype=np.float64)).all():
        return False, "gives NaN or infinity", case
    alternatives = {
        "is taken as it is": _acting(subject, spec, inputs, size, eps),
        "is taken as 0": _acting(subject, spec, inputs, size, 0.0),
        "is raised to 1e-5": _acting(subject, spec, inputs, size, 1e-5),
        "loses its sign": _acting(subject, spec, inputs, size, abs(eps)),
    }
    found = standing(alternatives, y)
    seen = float(columns_of(spec, y)[0, 0, 0])
    return (
        "is taken as it is" in found,
        f"{found[0] if found else 'has another effect'} (x = ±{power(size)}: y = ±{seen:.9g})",
        case,
    )


def _acting(subject: Subject, spec: Spec, inputs: Inputs, size: float, eps: float) -> Expected:
    """y = x/√(size² + eps): in inference, with the variance that makes any eps a sum of positive numbers."""
    variance = size * size + eps if eps < 0 else size * size
    steady = replace(spec, steps=("inference",), has_running=True)
    given = inputs_of(
        steady, columns_of(spec, inputs.x), cotangent=columns_of(spec, inputs.x) * 0 + 1, running_var=variance
    )
    return expect(steady, given, subject.conventions, "y", eps=max(eps, 0.0))


def _constant(subject: Subject) -> str:
    """What a channel without variance becomes when eps is 0: the mathematics leaves it open."""
    spec = subject.spec(eps=0.0)
    inputs = inputs_of(spec, np.full((1, 1), 3.0), beta=0.5)
    reply = subject.run(spec, inputs)
    if reply.outputs is None or reply.outputs.y is None:
        return f"ends in {refusal(reply)}"
    y = np.asarray(reply.outputs.y, dtype=np.float64)
    if np.isnan(y).all():
        return "gives NaN"
    return "gives y = beta" if bool((y == 0.5).all()) else f"gives y = {y.flat[0]:.9g}"


def limit(conventions: Conventions) -> str:
    """The documented limit."""
    excluded = conventions.eps_minimum_excluded
    if conventions.eps_minimum == 0:
        return ABOVE_ZERO if excluded else ZERO
    return f"{'above ' if excluded else ''}{conventions.eps_minimum!r}"


PROBES = (Probe(name="smallest eps", look=look, documented=limit),)
