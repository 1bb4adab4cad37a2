"""Half formats: which of them are accepted with which parameters, and the format they are computed in.

Values 2^p + 33·{0, 2, 2, 6} of a format with p bits have a mean that it does not hold: computed in the format itself
every deviation is off by half a unit of 2, computed in a finer one it is not, with a one-pass variance neither. Random
values beside them show roundings of any other intermediate.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from bnfuzz import formats
from bnfuzz.backends.pool import Reply
from bnfuzz.case import Case, Inputs, Spec
from bnfuzz.conventions import Conventions, FormatTriple
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.eps_place import require_formula
from bnfuzz.diagnosis.probes.hypotheses import expect, ratio, raw
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import CHANNELS, ROWS, Subject, inputs_of, refusal
from bnfuzz.formats import FormatName

HALVES: tuple[FormatName, ...] = ("float16", "bfloat16")
NOT_ACCEPTED = "not accepted"
WIDER = "float32"


def triples(half: FormatName) -> tuple[FormatTriple, ...]:
    """Ways to hold half data: everything else in float32, statistics in float32, nothing in float32."""
    return ((half, "float32", "float32"), (half, half, "float32"), (half, half, half))


def look(subject: Subject, half: FormatName) -> Seen:
    require_formula(subject)
    words: list[str] = []
    found: dict[FormatTriple, str] = {}
    cases: dict[FormatTriple, Case] = {}
    documented = tuple(triple for triple in triples(half) if triple in subject.conventions.formats)
    for triple in documented or triples(half):
        spec = subject.spec(triple=triple)
        inputs = telling(spec, half)
        reply = subject.run(spec, inputs)
        cases[triple] = Case(spec=spec, inputs=inputs.trial(0))
        told, number = computed_in(subject, spec, inputs, reply, half)
        words.append(f"{'/'.join(triple)} {number}")
        if told:
            found[triple] = told
    missing = [triple for triple in documented if triple not in found]
    kinds = set(found.values())
    if missing or not kinds:
        case = cases[missing[0]] if missing else None
        return Seen(observed=NOT_ACCEPTED, evidence="; ".join(words), agrees=not documented, case=case)
    if len(kinds) > 1 or kinds == {UNCLEAR}:
        raise CannotTell("; ".join(words))
    # What is accepted without being documented departs from nothing.
    agrees = None if documented else True
    return Seen(observed=kinds.pop(), evidence="; ".join(words), agrees=agrees, case=cases[next(iter(found))])


UNCLEAR = "unclear"


def computed_in(subject: Subject, spec: Spec, inputs: Inputs, reply: Reply, half: FormatName) -> tuple[str, str]:
    """(compute format, or "" where the call is refused; the same with its numbers)."""
    if reply.outputs is None:
        return "", f"ends in {refusal(reply)}"
    y = reply.outputs.y
    if y is None or y.dtype != formats.named(half).dtype:
        return "", f"gives y in {'nothing' if y is None else y.dtype}"
    as_float32 = ratio(raw(expect(spec, inputs, subject.conventions, "y", "one-pass", compute=formats.named(WIDER))), y)
    as_half = ratio(expect(spec, inputs, subject.conventions, "y", compute=formats.named(half)), y)
    numbers = f"(error/bound {as_float32:.3g} as float32, {as_half:.3g} as {half}"
    running = reply.outputs.new_running_var
    numbers += "" if running is None else f"; running statistics in {running.dtype}"
    if as_float32 <= 1:
        return WIDER, f"is computed in float32 or wider {numbers})"
    if as_half <= 1:
        return half, f"is computed in {half} {numbers})"
    return UNCLEAR, f"is neither {numbers})"


def telling(spec: Spec, half: FormatName) -> Inputs:
    base = 2.0 ** formats.named(half).precision
    even = base + 33 * np.array([0.0, 2.0, 2.0, 6.0])[:, np.newaxis] * np.ones(CHANNELS)
    random = np.random.default_rng(1)
    noise = random.standard_normal((2, ROWS, CHANNELS))
    return inputs_of(
        spec,
        np.concatenate([even[np.newaxis], noise + 1.0]),
        gamma=random.uniform(0.5, 2.0, CHANNELS),
        beta=random.standard_normal(CHANNELS),
        cotangent=random.standard_normal((ROWS, CHANNELS)),
    )


def documented(conventions: Conventions, half: FormatName) -> str:
    """The compute format, where a record says that the format is accepted at all."""
    accepted = any(triple[0] == half for triple in conventions.formats)
    return conventions.compute_format(half).name if accepted else NOT_ACCEPTED


PROBES = tuple(
    Probe(name=f"{half} is computed in", look=partial(look, half=half), documented=partial(documented, half=half))
    for half in HALVES
)
