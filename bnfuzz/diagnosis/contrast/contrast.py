"""Two batch norms against each other: are they the same function up to rounding, and if not, by what do they differ?

Neither is taken for the truth. Each is read on its own (reading.py) and held against the exact values of the
conventions that it follows. Two that agree with one set of conventions are the same function; two that each agree
with their own differ by those conventions; of one that agrees with none, the known faults say what it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from bnfuzz.backends import registry
from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case
from bnfuzz.diagnosis.contrast.fit import NORMALISED, RUNNING, Answer
from bnfuzz.diagnosis.contrast.reading import Reading, read
from bnfuzz.diagnosis.contrast.trials import varied_inputs, varied_spec
from bnfuzz.diagnosis.documented import told, whose_default
from bnfuzz.errors import UsageError

Who = Literal["A", "B"]

PLACES: Mapping[str, str] = MappingProxyType(
    {
        "offset": " where the mean is far larger than the spread",
        "inference": " in inference",
        "other scalars": " with another eps or momentum",
        "case": " on your inputs",
    }
)
"""What a side was asked -> where that is; nothing for varied data, which is anywhere."""

SHOWN = 2
"""Lines of a cause's evidence that are told: `bnfuzz explain` tells them all."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One way in which they are not the same function.

    sentence  "A normalises with eps 1e-05, B with eps 0.001"
    at_fault  the side whose outputs no conventions account for, or that ignores what it is given; empty for a
              difference of conventions alone
    name      the convention, or the name of the cause
    evidence  one line each
    """

    sentence: str
    name: str
    at_fault: tuple[Who, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Contrast:
    """The answer. `equal_eps`: (eps, A's and B's largest error/bound on varied trials with that eps in both)."""

    case: Case
    a: Reading
    b: Reading
    differences: tuple[Difference, ...]
    equal_eps: tuple[float, float, float] | None = None

    @property
    def same(self) -> bool:
        """The same function up to rounding, as far as anything that was asked shows."""
        return not self.differences


def contrast(pool: Pool, a: str, b: str, case: Case, *, seed: int = 0) -> Contrast:
    """Reads both on the case and on varied trials drawn from the seed, and says what sets them apart.

    Raises UsageError for cases that it does not take, and where a side cannot express the case.
    """
    spec = case.spec
    if spec.operation != "batch_norm" or len(spec.steps) != 1 or spec.size == 0:
        what = f"{spec.operation} of {len(spec.steps)} steps on shape {spec.shape}"
        raise UsageError(f"compare takes batch norm, one step, and at least one element, not {what}; try bnfuzz replay")
    first, second = (read(pool, name, case, seed=seed) for name in (a, b))
    differences = tuple(_differences(first, second))
    equal = None
    if any(difference.name == "eps" for difference in differences):
        equal = _with_equal_eps(pool, first, second, case, seed)
    return Contrast(case=case, a=first, b=second, differences=differences, equal_eps=equal)


def _differences(a: Reading, b: Reading) -> Iterator[Difference]:
    yield from _trouble(a, b)
    if a.answers and b.answers:
        yield from _conventions(a, b)
    yield from _causes(a, b)
    if a.answers and b.answers and _both_learn(a, b):
        yield from _running(a, b)


def _trouble(a: Reading, b: Reading) -> Iterator[Difference]:
    """Exceptions, deaths and deadlines, and inputs that a side wrote into."""
    for who, side in _sides(a, b):
        if side.mutated:
            yield Difference(sentence=f"{who} changes its {', '.join(side.mutated)}", name="mutated", at_fault=(who,))
        if side.trouble:
            about, message = next(iter(side.trouble.items()))
            on = {"case": "on your inputs", "inference": "in inference"}.get(about, "on varied inputs")
            yield Difference(sentence=f"{who} gives nothing {on}: {message}", name="call", at_fault=(who,))


def _conventions(a: Reading, b: Reading) -> Iterator[Difference]:
    if not _same_by(a, b, ("default_eps",), ("y",)):
        yield Difference(
            sentence=f"A normalises with eps {told(a.eps)}, B with eps {told(b.eps)}",
            name="eps",
            at_fault=tuple(who for who, side in _sides(a, b) if _ignores_eps(side)),
            evidence=(*_eps_evidence("A", a, b), *_eps_evidence("B", b, a)),
        )
    else:
        ignoring: tuple[Who, ...] = tuple(who for who, side in _sides(a, b) if _ignores_eps(side))
        if len(ignoring) == 1 and a.takes_eps and b.takes_eps:
            side = a if ignoring == ("A",) else b
            yield Difference(
                sentence=f"{ignoring[0]} uses eps {told(side.eps)} whatever it is given; the other uses the given one",
                name="eps",
                at_fault=ignoring,
            )
    if a.followed.fix_gamma != b.followed.fix_gamma:
        who = "A" if a.followed.fix_gamma else "B"
        yield Difference(
            sentence=f"{who} takes gamma as 1 and gives 0 for its gradient (fix_gamma), the other uses gamma",
            name="fix_gamma",
        )


def _running(a: Reading, b: Reading) -> Iterator[Difference]:
    """How the running statistics are learned."""
    if not _same_by(a, b, ("default_momentum", "momentum_weighs"), ("new_running_mean",)):
        yield Difference(
            sentence=f"running statistics: {_momentum_words('A', a)}; {_momentum_words('B', b)}", name="momentum"
        )
    if a.followed.running_ddof != b.followed.running_ddof:
        words = (f"{who} with ddof {side.followed.running_ddof}" for who, side in _sides(a, b))
        yield Difference(sentence=f"the running variance is learned {', '.join(words)}", name="running_ddof")


def _causes(a: Reading, b: Reading) -> Iterator[Difference]:
    """What neither conventions nor rounding accounts for; nothing where both do the very same."""
    found = {who: side for who, side in _sides(a, b) if any(not fit.agrees for fit in side.fits.values())}
    if len(found) == 2 and alike(a, b):
        return
    for who, side in found.items():
        cause = side.cause
        sentence = "no known cause" if cause is None else cause.sentence
        name = cause.causes[0].name if cause is not None and cause.causes else "unknown"
        evidence = cause.causes[0].evidence[:SHOWN] if cause is not None and cause.causes else ()
        yield Difference(
            sentence=f"{who} is {side.kind} in {', '.join(side.failing)}{_where(side)}: {sentence}",
            name=name,
            at_fault=(who,),
            evidence=evidence,
        )


def _where(side: Reading) -> str:
    """Where it fails, if that is not everywhere."""
    failing = {about for about, fit in side.fits.items() if not fit.agrees}
    return PLACES.get(next(iter(failing)), "") if len(failing) == 1 else ""


def alike(a: Reading, b: Reading) -> bool:
    """Both depart from batch norm, and in the same way: equal causes, and outputs within both bounds of each other."""
    names = [() if side.cause is None else tuple(cause.name for cause in side.cause.causes) for side in (a, b)]
    return names[0] == names[1] and bool(names[0]) and a.failing == b.failing and _same_values(a, b)


def _same_values(a: Reading, b: Reading) -> bool:
    """A's answers agree with B's numbers in place of the exact ones, by both bounds."""
    for about in a.answers.keys() & b.answers.keys():
        first, second = a.answers[about], b.answers[about]
        judged = [answer.judged(side.followed, own_eps=True) for answer, side in ((first, a), (second, b))]
        others = dict(second.outputs.items())
        for name, values in first.outputs.items():
            if name not in others or values.shape != others[name].shape:
                continue
            allowed = sum(side.reference.outputs[name].bound for side in judged)
            distance = abs(values.astype("float64") - others[name].astype("float64"))
            if not bool(((distance <= allowed) | (values == others[name])).all()):
                return False
    return True


def _same_by(a: Reading, b: Reading, fields: tuple[str, ...], outputs: tuple[str, ...]) -> bool:
    """Whether the bounds cannot tell the two apart by these conventions: one agrees with the other's values."""
    if all(getattr(a.followed, field) == getattr(b.followed, field) for field in fields):
        return True
    for side, other in ((a, b), (b, a)):
        mixed = replace(side.followed, **{field: getattr(other.followed, field) for field in fields})
        fits = [fit for about in ("varied", "case") if (fit := side.judged_as(mixed, outputs, about)) is not None]
        if fits and all(fit.agrees for fit in fits):
            return True
    return False


def _both_learn(a: Reading, b: Reading) -> bool:
    return all(any(name in fit.ratios for fit in side.fits.values() for name in RUNNING) for side in (a, b))


def _ignores_eps(side: Reading) -> bool:
    """It is given an eps, and uses another."""
    if not side.takes_eps or "case" not in side.answers:
        return False
    asked = side.answers["case"].spec.eps
    if side.keeps_eps is False or asked is None:
        return side.keeps_eps is False
    fit = side.judged_as(replace(side.followed, default_eps=asked), ("y",))
    return fit is not None and not fit.agrees


def _eps_evidence(who: Who, side: Reading, other: Reading) -> Iterator[str]:
    """Whose default its eps is, and how its varied outputs agree with it and not with the other's."""
    whose = whose_default(side.eps, side.framework)
    documented = f": the documented default of {whose}" if whose else ""
    asked = side.answers["case"].spec.eps if "case" in side.answers else None
    if side.takes_eps and side.keeps_eps is False:
        origin = f"whatever it is given{documented}"
    elif asked is not None and asked == side.eps:
        origin = "as it is asked to"
    elif not side.takes_eps:
        origin = f"its own{documented}"
    elif side.eps == side.claimed.default_eps and "eps" in side.claimed.handed_scalars:
        origin = "handed to it, as it has no default"
    elif side.eps == side.claimed.default_eps and side.backend.startswith(registry.TARGET):
        origin = "the default of its argument"
    elif side.eps == side.claimed.default_eps:
        origin = f"its default ({side.claimed.source})"
    else:
        origin = f"its own{documented}"
    fit = side.judged_as(side.followed, NORMALISED)
    against = side.judged_as(replace(side.followed, default_eps=other.eps), NORMALISED)
    evidence = ""
    if fit is not None and against is not None:
        agrees = "agrees with that" if fit.agrees else "comes nearest to that"
        evidence = (
            f". All it gives on varied data {agrees}, error/bound at most {fit.worst:.2g}; "
            f"with {told(other.eps)} it would be {against.worst:.2g}"
        )
    yield f"{who}: eps {told(side.eps)}, {origin}{evidence}."


def _momentum_words(who: Who, side: Reading) -> str:
    argument = side.followed.default_momentum
    stated = "" if side.claimed.momentum_weighs == side.followed.momentum_weighs else " (not as stated)"
    sense = "NEW" if side.followed.momentum_weighs == "new" else "OLD"
    return f"{who}'s momentum {argument:g} weighs the {sense} value{stated}"


def _with_equal_eps(pool: Pool, a: Reading, b: Reading, case: Case, seed: int) -> tuple[float, float, float] | None:
    """Varied trials with one eps in both, where one of them can be given the other's; None where neither can."""
    for taker, other, swapped in ((a, b, False), (b, a, True)):
        if not (taker.takes_eps and taker.keeps_eps):
            continue
        spec = replace(varied_spec(case.spec), eps=other.eps)
        inputs = varied_inputs(spec, seed=seed)
        sent = replace(spec, momentum=None if "momentum" in taker.claimed.fixed_scalars else spec.momentum)
        reply = pool.run([taker.backend], sent, inputs)[taker.backend]
        if reply.status != "ok" or reply.outputs is None:
            continue
        fit = Answer(sent, inputs, reply.outputs).fit(taker.followed).of(NORMALISED)
        beside = other.judged_as(other.followed, NORMALISED)
        if fit.agrees and beside is not None and beside.agrees:
            pair = (beside.worst, fit.worst) if swapped else (fit.worst, beside.worst)
            return (other.eps, *pair)
    return None


def _sides(a: Reading, b: Reading) -> tuple[tuple[Who, Reading], tuple[Who, Reading]]:
    return (("A", a), ("B", b))
