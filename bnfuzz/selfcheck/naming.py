"""One signature per fault: all failing trials of a planted fault, and the signatures that a campaign would give it.

A fault fails other outputs, and with other kinds, on other data. In each combination of operation, mode, formats and
regime a campaign must report it under exactly one signature, whatever trial came first (campaign/findings/sameness.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

from hypothesis import strategies as st

from bnfuzz.campaign.findings.sameness import Symptoms, folded, strand
from bnfuzz.conventions import Conventions
from bnfuzz.evaluation import References
from bnfuzz.faults.backend import CONVENTIONS
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.fault import Fault
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.selfcheck.attempt import Attempt, attempt
from bnfuzz.selfcheck.vocabulary import every_plan, rounds
from bnfuzz.signature import signature
from bnfuzz.strategies import plans, specs
from bnfuzz.strategies.empties import empty_specs
from bnfuzz.strategies.groups import group_norms
from bnfuzz.strategies.plan import Plan
from bnfuzz.strategies.sequences import sequences

TRIALS = 4
"""Per plan, as in a hunt."""

BARREN = 12
"""A fault is left after so many times the plans that were asked for, though fewer of them apply."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """One fault. `plans` apply to it; `trials` of them fail.

    places   combinations of operation, mode, formats and regime in which some do
    several  those in which the trials, each by itself, have more than one signature
    most     the largest number of signatures that a campaign reports for one of them
    """

    fault: str
    plans: int
    trials: int
    places: int
    several: int
    most: int


def named(faults: Sequence[Fault], *, plans: int, seed: int, jobs: int) -> tuple[Named, ...]:
    """Each fault on so many plans that apply to it; with several `jobs` in as many processes, and of the catalogue."""
    shares = [[fault.name for fault in faults[k::jobs]] for k in range(min(jobs, len(faults)))]
    found: dict[str, Named] = {}
    if len(shares) <= 1:
        found = _counted(faults, plans, seed)
    else:
        with ProcessPoolExecutor(len(shares), mp_context=get_context("spawn")) as executor:
            for done in executor.map(_share, shares, [plans] * len(shares), [seed] * len(shares)):
                found |= done
    return tuple(found[fault.name] for fault in faults)


def _share(names: Sequence[str], plans: int, seed: int) -> dict[str, Named]:
    """What one process does: it is told names, since a kernel's steps do not travel."""
    return _counted([CATALOGUE[name] for name in names], plans, seed)


def _counted(faults: Iterable[Fault], plans: int, seed: int) -> dict[str, Named]:
    found: dict[str, Named] = {}
    for stream, some in _by_stream(faults):
        found |= {one.fault: one for one in _count(some, rounds(stream, seed), plans)}
    return found


def _by_stream(faults: Iterable[Fault]) -> Iterator[tuple[st.SearchStrategy[Plan], list[Fault]]]:
    """Strategies of plans, each with the faults that need just these: what few plans of a hunt are."""
    small = specs(max_size=48, large_size=None)
    askew = specs(layouts=("permuted", "sliced", "flipped", "offset"), max_size=48, large_size=None)
    streams: dict[str, st.SearchStrategy[Plan]] = {
        "group norm": plans(group_norms()),
        "empty": plans(empty_specs(small)),
        "sequence": plans(sequences(small)),
        "layout": plans(askew),
        "": every_plan(),
    }
    grouped: dict[str, list[Fault]] = {name: [] for name in streams}
    for fault in faults:
        grouped[_stream(fault)].append(fault)
    yield from ((streams[name], some) for name, some in grouped.items() if some)


def _stream(fault: Fault) -> str:
    if fault.example.operation != "batch_norm":
        return "group norm"
    if 0 in fault.example.shape:
        return "empty"
    return fault.mode if fault.mode in ("sequence", "layout") else ""


def _count(faults: Sequence[Fault], stream: Iterator[Plan], wanted: int) -> Iterator[Named]:
    applied = dict.fromkeys((fault.name for fault in faults), 0)
    seen: dict[str, Counter[Symptoms]] = {fault.name: Counter() for fault in faults}
    for tried, plan in enumerate(stream):
        left = [fault for fault in faults if applied[fault.name] < wanted]
        if not left or tried >= BARREN * wanted:
            break
        references = References(plan.expand(TRIALS))
        clean: dict[Conventions, Attempt] = {}
        for fault in left:
            conventions = fault.conventions(CONVENTIONS)
            if not fault.applies(plan.spec, conventions):
                continue
            applied[fault.name] += 1
            attempted = attempt(fault.kernel, plan.spec, references, conventions)
            for trial in attempted.suspected():
                if conventions not in clean:
                    clean[conventions] = attempt(CLEAN, plan.spec, references, conventions)
                symptoms = symptoms_of(plan, attempted, clean[conventions], trial, fault.name)
                if symptoms is not None:
                    seen[fault.name][symptoms] += 1
    for fault in faults:
        yield _named(fault.name, applied[fault.name], seen[fault.name])


def symptoms_of(plan: Plan, attempted: Attempt, clean: Attempt, trial: int, name: str) -> Symptoms | None:
    """What a campaign makes of one trial, without what the clean kernel shows on it too; None where nothing is left."""
    usual = {(verdict.output, verdict.kind) for verdict in clean.failing(trial)}
    verdicts = {verdict.output: verdict for verdict in attempted.failing(trial)}
    new = {output: verdict.kind for output, verdict in verdicts.items() if (output, verdict.kind) not in usual}
    failing = strand({**attempted.passing(trial), **new})
    if not failing:
        return None
    identity = signature(plan.spec, f"fault:{name}", tuple(verdicts[output] for output in failing))
    assert identity is not None
    return Symptoms(signature=identity, outputs=frozenset(failing))


def _named(name: str, plans: int, seen: Counter[Symptoms]) -> Named:
    alone = {replace(symptoms, outputs=frozenset()) for symptoms in seen}
    places = Counter(symptoms.place[:-1] for symptoms in alone)
    reported = Counter(symptoms.place[:-1] for symptoms in folded(seen))
    return Named(
        fault=name,
        plans=plans,
        trials=seen.total(),
        places=len(places),
        several=sum(number > 1 for number in places.values()),
        most=max(reported.values(), default=0),
    )
