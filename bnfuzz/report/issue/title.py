"""The title and the one-sentence claim of a report, by the kind of its finding."""

from __future__ import annotations

import math

from bnfuzz.case import Spec
from bnfuzz.judge.verdict import Verdict
from bnfuzz.report.issue.facts import Facts
from bnfuzz.report.issue.subject import Subject
from bnfuzz.report.text import element_ratio, format_of
from bnfuzz.report.words import number, place, ratio, zero_note

NOUNS = {
    "batch_mean": "the mean of the batch",
    "batch_var": "the variance of the batch",
    "dx": "the gradient of x",
    "dgamma": "the gradient of gamma",
    "dbeta": "the gradient of beta",
    "new_running_mean": "the running mean after the step",
    "new_running_var": "the running variance after the step",
}


def title_of(call: str, subject: Subject) -> str:
    """One line that names the call, what it gives and what it should give."""
    first = subject.first
    where = setting(subject.case.spec)
    if first is None:
        return f"{call}: nothing fails ({where})"
    if first.kind == "error":
        return f"{call} raises {first.why.partition(':')[0]} ({where})"
    if first.kind == "crash":
        return f"{call} ends the process ({first.why}; {where})"
    if first.kind == "hang":
        return f"{call} does not return ({where})"
    if first.kind == "mutated":
        return f"{call} {first.why.replace('its', 'its argument', 1)} ({where})"
    if first.kind == "leak":
        return f"{call}: {first.output} of one channel depends on the values of another ({where})"
    if first.kind == "nondeterministic":
        return f"{call}: the same call twice gives different {first.output} ({where})"
    if first.kind in ("shape", "dtype"):
        return f"{call}: {first.output} has {first.why} ({where})"
    return f"{call}: {first.output} is {_short(first.observed)} where {_exact(first)} is exact ({where})"


def claim(call: str, subject: Subject, facts: Facts) -> str:
    """The claim: one sentence that a reader can check with the script."""
    first, spec = subject.first, subject.case.spec
    who = f"`{call}` ({facts.packages})"
    if first is None:
        return f"{who} shows no fault on this input here."
    where = f"in {' then '.join(spec.steps)} mode, with x of shape {spec.shape} in {spec.data_format}"
    if first.kind == "error":
        return f"{who}, {where}, raises an exception on input that it documents to take."
    if first.kind == "crash":
        return f"{who}, {where}, ends the whole process: {first.why}."
    if first.kind == "hang":
        return f"{who}, {where}, does not come back: {first.why}."
    if first.kind == "mutated":
        return f"{who}, {where}, {first.why}: arrays that the caller handed over have other values afterwards."
    if first.kind == "leak":
        return f"{who}, {where}, lets one channel change another: {first.why}."
    if first.kind == "nondeterministic":
        return f"{who}, {where}, gives other bits for the same call: {first.why}."
    if first.kind in ("shape", "dtype"):
        return f"{who}, {where}, gives {NOUNS.get(first.output, first.output)} with {first.why}."
    name = format_of(spec, first.output)
    compute = facts.conventions.compute_format(spec.data_format).name
    noun = f" ({NOUNS[first.output]})" if first.output in NOUNS else ""
    at = f"`{first.output}{place(first.index)}`{noun}"
    exact = _exact(first, name)
    text = f"{who}, {where}, gives {at} = {_value(first.observed, name)} where {exact} is exact"
    if first.kind == "range" or not math.isfinite(first.bound):
        guarded = [row.name for row in facts.stable if math.isfinite(row.observed) and row.kind in ("ok", "vacuous")]
        remedy = f"; it does not in an algorithm such as this one: {guarded[0]}" if guarded else ""
        return f"{text}: an intermediate result leaves the range of {compute}{remedy}."
    bound = f"a sound implementation in {compute} stays within {first.bound:.3g} of it whatever the order of its sums"
    if not math.isfinite(first.observed):
        return f"{text}; {bound}."
    return f"{text}; {bound}, so the error is {ratio(element_ratio(first))} times what rounding can do."


def setting(spec: Spec) -> str:
    """Mode and formats: `training, float16 with float32 parameters`."""
    data, parameters, _ = spec.formats
    kinds = data if data == parameters else f"{data} with {parameters} parameters"
    return f"{'+'.join(spec.steps) if len(spec.steps) < 4 else f'{len(spec.steps)} steps'}, {kinds}"


def _exact(first: Verdict, name: str = "") -> str:
    """To six digits, or to those of a format."""
    zero = math.isfinite(first.bound) and zero_note(first.exact, first.bound, first.n)
    return "0" if zero else _value(first.exact, name) if name else _short(first.exact)


def _short(value: float) -> str:
    """To six digits, which is enough for a title."""
    return "NaN" if math.isnan(value) else f"{value:.6g}"


def _value(value: float, name: str) -> str:
    return "NaN" if math.isnan(value) else number(value, name)
