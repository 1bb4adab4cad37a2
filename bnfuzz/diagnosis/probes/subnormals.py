"""Whether subnormal numbers are kept, or become 0.

x = ±s and an eps far above s² make y = x/√ε: a subnormal result of a normal x where ε is large, a normal result of
a subnormal x where ε is small.
"""

from __future__ import annotations

from functools import partial

from bnfuzz.case import Case
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.eps_place import require_formula
from bnfuzz.diagnosis.probes.hypotheses import expect, fits
from bnfuzz.diagnosis.probes.numbers import power
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, alternating, columns_of, inputs_of

KEPT, FLUSHED = "kept", "become 0"


def look(subject: Subject, of: str) -> Seen:
    subject.settable("eps")
    require_formula(subject)
    # Half way from the smallest normal number to the smallest subnormal one.
    depth = subject.format.precision // 2
    tiny = subject.format.smallest_normal * 2.0**-depth
    size, eps = (tiny * 2.0**20, 2.0**40) if of == "results" else (tiny, 2.0**-60)
    spec = subject.spec(eps=eps)
    inputs = inputs_of(spec, alternating(size))
    y = subject.output("y", spec, inputs)
    seen = float(columns_of(spec, y)[0, 0, 0])
    evidence = f"x = ±{power(size)}, eps = {power(eps)}: y = ±{power(seen) if seen else 0}"
    if of == "inputs" and seen == 0:
        evidence += " (the input, or the difference from its mean, which is as small)"
    case = Case(spec=spec, inputs=inputs)
    if seen != 0 and fits(expect(spec, inputs, subject.conventions, "y", flushes=False), y):
        return Seen(observed=KEPT, evidence=evidence, agrees=True, case=case)
    if not y.any():
        return Seen(observed=FLUSHED, evidence=evidence, case=case)
    raise CannotTell(evidence)


def documented(conventions: Conventions) -> str:
    """A backend that may flush need not."""
    return FLUSHED if conventions.flushes_subnormals else KEPT


PROBES = tuple(
    Probe(name=f"subnormal {of}", look=partial(look, of=of), documented=documented) for of in ("results", "inputs")
)
