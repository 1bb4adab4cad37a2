"""Which channel axes are accepted: a cube of numbers, normalised over the other two axes than each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnfuzz.case import Case, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.eps_place import require_formula
from bnfuzz.diagnosis.probes.hypotheses import expect, standing
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, columns_of, inputs_of, refusal

SIDE = 3
ASKED = (0, 1, 2, -1)
CUBE = np.array(
    [0, 9, 4, 25, 1, 16, 36, 2, 49, 5, 81, 3, 64, 6, 100, 8, 121, 7, 12, 144, 10, 11, 169, 14, 13, 196, 15], np.float64
).reshape(SIDE, SIDE, SIDE)
"""Numbers of which no two axes give the same statistics."""

ANY = "any"


def look(subject: Subject) -> Seen:
    lowest, highest = subject.conventions.ranks
    if not lowest <= CUBE.ndim <= highest:
        raise CannotTell(f"x of rank 3 is not accepted, only {lowest}..{highest}")
    right: list[int] = []
    require_formula(subject)
    words = []
    case: Case | None = None
    for axis in ASKED:
        spec = subject.spec((SIDE,) * 3, axis=axis)
        inputs = inputs_of(spec, columns_of(spec, CUBE[np.newaxis]))
        reply = subject.run(spec, inputs)
        if reply.outputs is None or reply.outputs.y is None:
            words.append(f"{axis} ends in {refusal(reply)}")
            found: tuple[str, ...] = ()
        else:
            alternatives = {
                str(other): expect(_on(spec, other), inputs, subject.conventions, "y") for other in range(3)
            }
            found = standing(alternatives, reply.outputs.y)
            words.append(f"{axis} is taken as {' or '.join(found) or 'none of them'}")
        if found == (str(axis % 3),):
            right.append(axis)
        elif case is None:
            case = Case(spec=spec, inputs=inputs)
    observed = ANY if set(right) == set(ASKED) else ", ".join(map(str, right)) or "none"
    stated = subject.conventions.channel_axes
    agrees = observed == ANY if stated == ANY else stated in right
    return Seen(observed=observed, evidence="; ".join(words), agrees=agrees, case=case)


def _on(spec: Spec, axis: int) -> Spec:
    """The same call with another channel axis."""
    others = tuple(other for other in range(spec.rank) if other != axis)
    return replace(spec, parameter_axes=(axis,), reduced_axes=others)


def documented(conventions: Conventions) -> str:
    return str(conventions.channel_axes)


PROBES = (Probe(name="channel axis", look=look, documented=documented),)
