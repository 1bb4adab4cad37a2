"""What a report is about: one stored case on one backend, run again now and judged by the most exact reference."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Array, Case, Inputs, expected_outputs
from bnfuzz.corpus import Entry
from bnfuzz.errors import UsageError
from bnfuzz.evaluation import CALL, Result, evaluate_block
from bnfuzz.judge.compare import Judgement, OutputJudgement
from bnfuzz.judge.relations import EXACT, RELATIONS, compare_bits, draws_of
from bnfuzz.judge.verdict import Verdict
from bnfuzz.relating import CONFIRMING_DRAWS, relate_case
from bnfuzz.report.scripts.block import Part
from bnfuzz.report.scripts.checks import (
    Check,
    Dies,
    Expected,
    Forms,
    Hangs,
    Raises,
    SameBits,
    Unchanged,
    Values,
)
from bnfuzz.signature import backend_of, first_failing, portable, signature

SHOWN_ELEMENTS = 6
"""Elements of an output that a script compares: the worst ones."""

REPEATS = 50
"""Calls that a script makes to see two of them differ."""

RELATED = ("leak", "nondeterministic")
"""Kinds that only several calls together show."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """One input as this machine sees it now.

    case       what is reported: the entry's, or the failing step of its sequence
    result     of `case` on the backend, its reference of the mpmath rung
    verdicts   of the result, with those of relations where such a one is reported
    first      the verdict that names the finding; None where nothing fails here
    note       what was done to the entry's case
    trouble    why this is no confirmed finding here; empty where it is one
    """

    entry: Entry
    backend: str
    case: Case
    result: Result
    verdicts: tuple[Verdict, ...]
    first: Verdict | None
    step: int = 0
    note: str = ""
    trouble: str = ""

    @property
    def failing(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.is_finding)

    @property
    def judgement(self) -> Judgement | None:
        """Of the step in question; None where the call itself failed."""
        return self.result.steps[self.step] if self.result.judged else None


def subject_of(pool: Pool, entry: Entry, backend: str, *, due: str = "") -> Subject:
    """The entry's case on the backend. `due`: the signature that it must show."""
    case = entry.file.case
    result = _run(pool, backend, case)
    verdicts = result.verdicts(0)
    recorded = {kind for entry_ in entry.file.expected(backend) for kind in entry_.findings.values()}
    related = any(f"/{kind}/" in due for kind in RELATED) or (not due and bool(recorded & set(RELATED)))
    if related and result.judged:
        verdicts = (*relate_case(pool, backend, case), *verdicts)
    subject = Subject(
        entry=entry,
        backend=backend,
        case=case,
        result=result,
        verdicts=verdicts,
        first=first_failing(verdicts),
        trouble=_trouble(case, backend, verdicts, due),
    )
    return _one_step(pool, subject) if len(case.spec.steps) > 1 and result.judged else subject


def _run(pool: Pool, backend: str, case: Case) -> Result:
    return evaluate_block(pool, (backend,), case.spec, case.inputs, rung="mpmath")[backend]


def _trouble(case: Case, backend: str, verdicts: tuple[Verdict, ...], due: str) -> str:
    unsupported = [verdict.why for verdict in verdicts if verdict.kind == "unsupported"]
    if unsupported:
        return f"{backend} cannot express the case: {unsupported[0]}"
    first = first_failing(verdicts)
    if first is None:
        unsure = sorted({verdict.kind for verdict in verdicts if verdict.kind in ("uncertain", "vacuous")})
        blank = f" ({', '.join(unsure)} in part)" if unsure else ""
        return f"not reproduced: judged with mpmath, nothing fails on {backend} here{blank}"
    seen = signature(case.spec, backend, verdicts)
    if due and seen != due:
        return f"not reproduced as recorded: judged with mpmath it is {seen} here, recorded was {due}"
    return ""


def _one_step(pool: Pool, subject: Subject) -> Subject:
    """The failing step of a sequence alone, from the state that the backend had left; all of it where that passes."""
    first = subject.first
    step = next((number for number, judged in enumerate(subject.result.steps) if len(judged.failing())), 0)
    whole = replace(subject, step=step, note=f"step {step + 1} of {len(subject.case.spec.steps)} is the one that fails")
    outputs = subject.result.reply.outputs
    if first is None or outputs is None:
        return whole
    inputs = subject.case.inputs
    mean, var = inputs.running_mean, inputs.running_var
    if step and outputs.new_running_mean is not None and outputs.new_running_var is not None:
        mean, var = outputs.new_running_mean[:, step - 1], outputs.new_running_var[:, step - 1]
    spec = replace(subject.case.spec, steps=(subject.case.spec.steps[step],))
    try:
        alone = Case(spec=spec, inputs=inputs.at_step(step, running_mean=mean, running_var=var))
    except UsageError:
        # A state of the wrong form cannot be an input.
        return whole
    result = _run(pool, subject.backend, alone)
    now = first_failing(result.verdicts(0))
    if now is None or (now.output, now.kind) != (first.output, first.kind):
        return whole
    steps = len(subject.case.spec.steps)
    note = f"step {step + 1} of a sequence of {steps}, alone, from the state that the backend had left"
    return replace(subject, case=alone, result=result, verdicts=result.verdicts(0), first=now, note=note)


def script_part(pool: Pool, subject: Subject) -> Part | None:
    """What the script looks at for this input; None where nothing fails."""
    check = _check(pool, subject)
    return None if check is None else Part(case=subject.case, check=check, step=subject.step)


def _check(pool: Pool, subject: Subject) -> Check | None:
    first = subject.first
    if first is None:
        return None
    if first.kind == "error":
        return Raises(exception=first.why.partition(":")[0].strip())
    if first.kind == "crash":
        return Dies()
    if first.kind == "hang":
        return Hangs(seconds=int(np.ceil(pool.limits.compile_seconds)))
    if first.output == CALL:
        return Unchanged(inputs=subject.result.reply.mutated)
    if first.kind in RELATED:
        return _same_bits(pool, subject, first)
    judgement = subject.judgement
    if judgement is None:
        return None
    if first.kind in ("shape", "dtype"):
        forms = {
            v.output: expected_outputs(judgement.reference.spec)[v.output]
            for v in subject.failing
            if v.kind in ("shape", "dtype")
        }
        return Forms(outputs=forms)
    values = {
        output.name: _elements(judgement, output)
        for output in judgement.outputs
        if any(verdict.output == output.name and verdict.kind not in RELATED for verdict in subject.failing)
    }
    return Values(outputs={name: elements for name, elements in values.items() if elements})


def _elements(judgement: Judgement, output: OutputJudgement) -> tuple[Expected, ...]:
    """The worst elements of the output's kind, in order; the allowed error has the reference's own doubt in it."""
    if output.observed is None:
        return ()
    bad = np.flatnonzero((output.element_kinds[0] == output.kinds[0]).ravel())
    ratios = output.ratio[0].ravel()[bad]
    worst = np.sort(bad[np.argsort(-ratios, kind="stable")[:SHOWN_ELEMENTS]])
    exact = judgement.reference.outputs[output.name]
    found = []
    for place in worst:
        index = tuple(int(i) for i in np.unravel_index(int(place), output.ratio[0].shape))
        at = (0, *index)
        allowed = float(exact.bound[at] + exact.rung_bound[at] + abs(exact.rest[at]))
        error = abs(float(output.observed[at]) - float(exact.value[at]))
        round_figure = rounded_up(allowed)
        bound = allowed if error <= round_figure else round_figure
        found.append(Expected(index=index, exact=float(exact.value[at]), bound=bound))
    return tuple(found)


def _same_bits(pool: Pool, subject: Subject, first: Verdict) -> Check | None:
    """The pair of calls that showed it: the same call again, or one with other values in other channels."""
    if first.kind == "nondeterministic":
        shape = expected_outputs(subject.case.spec)[first.output][0]
        every = tuple(tuple(int(i) for i in index) for index in list(np.ndindex(shape))[:4096])
        return SameBits(outputs={first.output: every}, what="the same call again", times=REPEATS)
    spec, inputs = subject.case.spec, subject.case.inputs
    given = subject.result.reply.outputs
    for number in range(CONFIRMING_DRAWS):
        for relation in (RELATIONS[name] for name in EXACT if RELATIONS[name].kind == first.kind):
            variant = relation.vary(spec, inputs, draws_of(inputs, number))
            if isinstance(variant, str) or not variant.what[0] or given is None:
                continue
            second = pool.run((subject.backend,), variant.spec, variant.inputs)[subject.backend].outputs
            if second is None:
                continue
            verdict = compare_bits(relation, spec, given, second, variant)[0]
            if verdict.kind == first.kind:
                changed = _changed(inputs, variant.inputs)
                return SameBits(
                    outputs={verdict.output: (verdict.index,)}, what=f"now {variant.what[0]}", changed=changed
                )
    return None


def _changed(before: Inputs, after: Inputs) -> dict[str, Array]:
    """The inputs of one trial that have other bits afterwards, without the trial axis."""
    old = dict(before.items())
    return {name: array[0] for name, array in after.items() if array.tobytes() != old[name].tobytes()}


def recorded_signatures(entry: Entry, backend: str | None = None) -> tuple[str, ...]:
    """Signatures that the entry records, of one backend or of all."""
    name = portable(backend) if backend else None
    found = [expectation.signature for expectation in entry.file.expectations if expectation.signature]
    return tuple(dict.fromkeys(one for one in found if name is None or backend_of(one) == name))


def rounded_up(value: float, digits: int = 3) -> float:
    """The smallest number of so many decimal digits that is not below `value`."""
    if value == 0 or not math.isfinite(value):
        return value
    near = float(f"{value:.{digits - 1}e}")
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return near if near >= value else float(f"{near + step:.{digits - 1}e}")
