"""Relations checked on backends: the extra calls that they need, and their verdicts.

    relate(pool, "jax", spec, inputs)["channel independence"]    one verdict per trial

Every relation costs one more call of the whole block; they are described in bnfuzz.judge.relations. What a trial is
varied to depends on the seed and on its own bits alone, so a finding is reached again from its Case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bnfuzz.backends.pool import Reply
from bnfuzz.case import Case, Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.evaluation import CALL, References
from bnfuzz.judge.compare import Judgement, judge
from bnfuzz.judge.relations import EXACT, LIMITS, RELATIONS, Relation, Variant, compare_bits, compare_within, draws_of
from bnfuzz.judge.relations.relation import nothing
from bnfuzz.judge.relations.repetition import REPETITION
from bnfuzz.judge.verdict import FINDINGS, Kind, Verdict, precedence

UNCHANGED_INPUTS = "unchanged inputs"

NAMES: tuple[str, ...] = (UNCHANGED_INPUTS, *RELATIONS, *LIMITS)
"""All relations, in the order in which they are reported."""

CONFIRMING_DRAWS = 16
"""Variants of one case that are tried before it is said that a relation holds for it."""

ASKED_AGAIN = 3
"""Times that both calls must give their bits again before a difference between them counts as a leak."""

Verdicts = tuple[Verdict, ...]


class Runs(Protocol):
    """What runs backends: a Pool, or something in process."""

    def run(self, names: Iterable[str], spec: Spec, inputs: Inputs) -> Mapping[str, Reply]: ...

    def conventions(self, name: str) -> Conventions: ...


@dataclass(frozen=True, eq=False)
class Related:
    """One backend's verdicts, relation -> one per trial. `lost`: second calls that gave nothing, with their block."""

    backend: str
    verdicts: dict[str, Verdicts]
    lost: tuple[tuple[Variant, Reply], ...] = ()


def relate(
    runs: Runs, backend: str, spec: Spec, inputs: Inputs, *, seed: int = 0, names: Collection[str] = NAMES
) -> dict[str, Verdicts]:
    """The verdicts of one backend: relation -> one verdict per trial."""
    return relate_block(runs, (backend,), spec, inputs, seed=seed, names=names)[backend].verdicts


def relate_block(
    runs: Runs,
    backends: Iterable[str],
    spec: Spec,
    inputs: Inputs,
    *,
    seed: int = 0,
    names: Collection[str] = NAMES,
    first: Mapping[str, Reply] | None = None,
) -> dict[str, Related]:
    """Several backends side by side. `first`: their replies to this very block, where they are known already."""
    wanted = tuple(backends)
    replies = dict(runs.run(wanted, spec, inputs) if first is None else first)
    checks = {name: _Check(runs, name, spec, inputs, replies[name]) for name in wanted}
    for relation in (relation for relation in RELATIONS.values() if relation.name in names):
        several = not relation.exact and len(spec.steps) > 1
        variant = "of one step only" if several else relation.vary(spec, inputs, draws_of(inputs, seed))
        able = [name for name, check in checks.items() if check.given is not None]
        if isinstance(variant, str) or not able:
            for check in checks.values():
                check.skip(relation, variant if isinstance(variant, str) else "")
            continue
        second = runs.run(able, variant.spec, variant.inputs)
        for name, check in checks.items():
            check.compare(relation, variant, second.get(name))
    return {name: check.finish(names) for name, check in checks.items()}


class _Check:
    """One backend's relations over one block."""

    def __init__(self, runs: Runs, backend: str, spec: Spec, inputs: Inputs, reply: Reply) -> None:
        self.runs, self.backend, self.spec, self.inputs, self.reply = runs, backend, spec, inputs, reply
        self.given = _usable(reply, inputs.trials)
        self.verdicts: dict[str, Verdicts] = {}
        self.lost: list[tuple[Variant, Reply]] = []
        self._judged: Judgement | None = None

    def skip(self, relation: Relation, why: str) -> None:
        self.verdicts[relation.name] = self._same(self._without(why))

    def compare(self, relation: Relation, variant: Variant, reply: Reply | None) -> None:
        if self.given is None or reply is None:
            self.skip(relation, "")
            return
        outputs = _usable(reply, self.inputs.trials)
        if outputs is None:
            if reply.status != "unsupported":
                self.lost.append((variant, reply))
            kind: Kind = "unsupported" if reply.status == "unsupported" else "vacuous"
            self.verdicts[relation.name] = self._same(nothing(f"{reply.status}: {reply.message}", kind))
        elif relation.exact:
            found = compare_bits(relation, self.spec, self.given, outputs, variant)
            self.verdicts[relation.name] = self._unless_fickle(variant, outputs, found)
        else:
            second = self._judgement(variant.spec, variant.inputs, outputs)
            self.verdicts[relation.name] = tuple(compare_within(self._first(), second, variant))

    def finish(self, names: Collection[str]) -> Related:
        """Adds the relations that need no second call."""
        if UNCHANGED_INPUTS in names:
            self.verdicts[UNCHANGED_INPUTS] = self._unchanged_inputs()
        for name in (name for name in LIMITS if name in names):
            if self.given is None or len(self.spec.steps) > 1:
                self.verdicts[name] = self._same(self._without("of one step only"))
            else:
                self.verdicts[name] = tuple(LIMITS[name](self._first()))
        ordered = {name: self.verdicts[name] for name in NAMES if name in self.verdicts}
        return Related(self.backend, ordered, tuple(self.lost))

    def _unless_fickle(self, variant: Variant, outputs: Outputs, found: list[Verdict]) -> Verdicts:
        """A leak comes again: suspects are run again, as given and varied in turn, and must give the same bits."""
        suspects = np.array([k for k, verdict in enumerate(found) if verdict.kind == "leak"], dtype=np.intp)
        assert self.given is not None
        sides = ((self.spec, self.inputs, self.given), (variant.spec, variant.inputs, outputs))
        for spec, inputs, before in sides * (ASKED_AGAIN if len(suspects) else 0):
            some = inputs.select(suspects)
            again = _usable(self.runs.run((self.backend,), spec, some)[self.backend], len(suspects))
            same = Variant(spec=spec, inputs=some, what=("called again",) * len(suspects))
            verdicts = [nothing("gave nothing when called again")] * len(suspects)
            if again is not None:
                verdicts = compare_bits(REPETITION, spec, before.select(suspects), again, same)
            for k, verdict in zip(suspects, verdicts, strict=True):
                if verdict.kind != "ok":
                    found[k] = verdict
        return tuple(found)

    def _unchanged_inputs(self) -> Verdicts:
        if self.given is None:
            return self._same(self._without(""))
        if self.reply.mutated:
            why = f"changed its {', '.join(self.reply.mutated)}"
            return self._same(Verdict(output=CALL, kind="mutated", severity=np.inf, information="informative", why=why))
        return self._same(Verdict(output=CALL, kind="ok", information="informative"))

    def _without(self, why: str) -> Verdict:
        if self.reply.status == "unsupported":
            return nothing(self.reply.message, "unsupported")
        return nothing(why or f"{self.reply.status}: {self.reply.message}")

    def _same(self, verdict: Verdict) -> Verdicts:
        return (verdict,) * self.inputs.trials

    def _first(self) -> Judgement:
        assert self.given is not None
        if self._judged is None:
            self._judged = self._judgement(self.spec, self.inputs, self.given)
        return self._judged

    def _judgement(self, spec: Spec, inputs: Inputs, outputs: Outputs) -> Judgement:
        return judge(References(inputs).of(spec, self.runs.conventions(self.backend)), outputs)


def _usable(reply: Reply, trials: int) -> Outputs | None:
    """The outputs of a call that succeeded; of a longer block, those of its first trials."""
    if reply.status != "ok" or reply.outputs is None:
        return None
    return reply.outputs.select(slice(0, trials))


def relate_case(runs: Runs, backend: str, case: Case, *, names: Collection[str] = EXACT, seed: int = 0) -> Verdicts:
    """The findings of one Case, one per failing output, worst first by kind: what confirms and re-runs a finding.

    Each relation is tried in CONFIRMING_DRAWS ways that `seed` and the Case alone decide, the first of them the one of
    `relate_block` with this seed.
    """
    return relate_trials(runs, backend, case.spec, case.inputs, names=names, seed=seed)[0]


def relate_trials(
    runs: Runs,
    backend: str,
    spec: Spec,
    inputs: Inputs,
    *,
    names: Collection[str] = EXACT,
    seed: int = 0,
    draws: int = CONFIRMING_DRAWS,
) -> list[Verdicts]:
    """`relate_case` of each trial: an evaluator as shrinking asks for."""
    seen: list[dict[str, Verdict]] = [{} for _ in range(inputs.trials)]
    first = runs.run((backend,), spec, inputs)
    for number in range(seed, seed + draws):
        related = relate_block(runs, (backend,), spec, inputs, seed=number, names=names, first=first)[backend]
        for verdicts in related.verdicts.values():
            for k, verdict in enumerate(verdicts):
                if verdict.kind not in FINDINGS:
                    continue
                known = seen[k].get(verdict.output)
                if known is None or _order(verdict) < _order(known):
                    seen[k][verdict.output] = verdict
    return [_without_excused_leaks(tuple(found.values())) for found in seen]


def _order(verdict: Verdict) -> tuple[bool, int]:
    return verdict.kind != "nondeterministic", precedence(verdict.kind)


def _without_excused_leaks(verdicts: Verdicts) -> Verdicts:
    """Where anything differed from call to call, nothing that differs is a leak."""
    fickle = any(verdict.kind == "nondeterministic" for verdict in verdicts)
    return tuple(verdict for verdict in verdicts if not (fickle and verdict.kind == "leak"))
