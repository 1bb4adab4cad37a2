"""Sound kernels on many trials: every failing verdict is a false alarm.

All kernels of one set of rules share the reference, and each computes all K trials of a plan in one pass. A kernel
that is known to stray (`unstable`) may be called that, and nothing worse.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from bnfuzz.case import Case, Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.evaluation import References
from bnfuzz.faults.backend import CONVENTIONS
from bnfuzz.faults.sound import Sound
from bnfuzz.faults.together import run_together
from bnfuzz.judge.compare import judge
from bnfuzz.judge.verdict import FAILING, Verdict
from bnfuzz.numerics.reference import Reference, Rung
from bnfuzz.selfcheck.attempt import attempt
from bnfuzz.selfcheck.pairs import PAIRS, Pair, largest_told, pair_name
from bnfuzz.selfcheck.sieve import suspects_of
from bnfuzz.selfcheck.tally import Alarm, PairTally, Soaked, told_by
from bnfuzz.selfcheck.vocabulary import every_plan, rounds, small_plans
from bnfuzz.signature import signature
from bnfuzz.strategies.plan import Plan

ELEMENTS = 1 << 14
"""Elements of a block: its trials are as many as fit, so that all arrays stay in the processor's cache."""

FEWEST, MOST = 4, 512
"""Trials of a block."""

ONE_BY_ONE = 4
"""Trials of a plan that cannot be computed in one pass: of sequences, layouts, groups, and inputs without elements."""

SOAK_SIZE = 256
"""Elements of a trial of a soak, at most."""

KEPT_ALARMS = 20

FINER: tuple[Rung, ...] = ("double-double", "mpmath")
"""Rungs of the reference for suspected trials: what is left of its own error must not stand in for an answer."""

ALLOWED: Mapping[str, frozenset[str]] = MappingProxyType(
    {"ok": frozenset(), "unstable": frozenset({"unstable"}), "wrong": frozenset({"unstable", "wrong"})}
)
"""Verdict that a kernel is known for -> the failing kinds that are no false alarm on it."""


class Soundness:
    """A run of sound `kernels`; `tallies` by format pair, `alarms` (the first ones in full), `alarmed`
    and `strayed` (what a kernel is known for) count trials per kernel."""

    def __init__(self, kernels: Iterable[Sound], *, seed: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.kernels = tuple(kernels)
        self.seed = seed
        self.tallies: dict[str, PairTally] = {}
        self.alarms: list[Alarm] = []
        self.alarmed: dict[str, int] = {}
        self.strayed: dict[str, int] = {}
        self._clock = clock
        self._started = clock()
        self._stopped: float | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the start, or until `stop`."""
        return (self._clock() if self._stopped is None else self._stopped) - self._started

    def stop(self) -> None:
        """Ends the time that counts."""
        self._stopped = self._clock()

    @property
    def judged(self) -> int:
        return sum(tally.judged for tally in self.tallies.values())

    def run(self, *, seconds: float, plans: int | None = None) -> None:
        """The plans that faults are hunted with, under the conventions of the fault catalogue."""
        for tried, plan in enumerate(rounds(every_plan(), self.seed)):
            if self.elapsed >= seconds or tried == plans:
                return
            self.try_plan(plan, CONVENTIONS)

    def soak(self, pair_name: str, *, trials: int) -> None:
        """Small batch norms of one format pair until so many trials of one kernel each are judged."""
        pair: Pair = PAIRS[pair_name]
        tally = self.tallies.setdefault(pair_name, PairTally())

        for plan in rounds(small_plans(pair.triples, SOAK_SIZE), self.seed):
            if tally.judged >= trials:
                return
            self.try_plan(plan, pair.conventions)

    def add(self, soaked: Soaked) -> None:
        """Counts what another process came to."""
        self.tallies[soaked.pair] = soaked.tally
        self.alarms += soaked.alarms
        for name, number in soaked.alarmed.items():
            self.alarmed[name] = self.alarmed.get(name, 0) + number
        for name, number in soaked.strayed.items():
            self.strayed[name] = self.strayed.get(name, 0) + number

    def try_plan(self, plan: Plan, base: Conventions) -> None:
        """All kernels on one plan."""
        spec = plan.spec
        together = (
            spec.operation == "batch_norm"
            and len(spec.steps) == 1
            and spec.size > 0
            and (spec.layout_x, spec.layout_cotangent) == ("contiguous", "contiguous")
        )
        trials = max(FEWEST, min(MOST, ELEMENTS // spec.size)) if together else ONE_BY_ONE
        references = References(plan.expand(trials))
        told: dict[Conventions, tuple[Reference, dict[str, np.ndarray]]] = {}
        for sound in self.kernels:
            conventions = sound.conventions(base)
            if not together:
                self._one_by_one(sound, spec, references, conventions)
                continue
            if conventions not in told:
                reference = references.of(spec, conventions)
                told[conventions] = (reference, told_by(reference))
            self._together(sound, references.inputs, conventions, *told[conventions])

    def _one_by_one(self, sound: Sound, spec: Spec, references: References, conventions: Conventions) -> None:
        attempted = attempt(sound.kernel, spec, references, conventions)
        for trial in attempted.suspected():
            self._look(sound, spec, references.inputs.trial(trial), conventions, attempted.failing(trial))
        tally = self.tallies.setdefault(pair_name(spec, conventions), PairTally())
        tally.judged += attempted.completed

    def _together(
        self,
        sound: Sound,
        inputs: Inputs,
        conventions: Conventions,
        reference: Reference,
        told: dict[str, np.ndarray],
    ) -> None:
        spec = reference.spec
        outputs = run_together(sound.kernel, spec, inputs, conventions)
        pair = pair_name(spec, conventions)
        tally = self.tallies.setdefault(pair, PairTally())
        short = spec.n <= largest_told(pair)
        suspected = np.zeros(inputs.trials, dtype=bool)
        said = np.zeros(inputs.trials, dtype=bool)
        for name, array in outputs.items():
            left, ratio = suspects_of(reference, name, array)
            suspected |= left
            said |= told[name] != "vacuous"
            counts = tally.output(name)
            counts.checks += inputs.trials
            counts.ratio(spec.n, float(ratio.max(initial=0.0)))
            kinds, numbers = np.unique(told[name], return_counts=True)
            for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
                counts.told[kind] += number
                if short:
                    counts.told_short[kind] += number
        tally.judged += int(said.sum())
        tally.vacuous += int((~said).sum())
        if suspected.any():
            self._judge(sound, inputs.select(suspected), conventions, spec, outputs.select(suspected), tally)

    def _judge(
        self,
        sound: Sound,
        inputs: Inputs,
        conventions: Conventions,
        spec: Spec,
        outputs: Outputs,
        tally: PairTally,
    ) -> None:
        for rung in FINER:
            judged = judge(References(inputs, rung).of(spec, conventions), outputs)
            unsure = np.array(
                [any(output.kinds[k] == "uncertain" for output in judged.outputs) for k in range(inputs.trials)]
            )
            last = rung == FINER[-1]
            for k in judged.failing().tolist():
                if last or not unsure[k]:
                    named = [
                        judged.headline(k, (output.name,)) for output in judged.outputs if output.kinds[k] in FAILING
                    ]
                    verdicts = tuple(verdict for verdict in named if verdict is not None)
                    self._look(sound, spec, inputs.trial(k), conventions, verdicts)
            if last:
                for output in judged.outputs:
                    tally.output(output.name).uncertain += output.kinds.count("uncertain")
            if not unsure.any():
                return
            inputs, outputs = inputs.select(unsure), outputs.select(unsure)

    def _look(
        self, sound: Sound, spec: Spec, inputs: Inputs, conventions: Conventions, verdicts: tuple[Verdict, ...]
    ) -> None:
        """A trial's failing verdicts: a false alarm, unless they are what the kernel is known for."""
        allowed = ALLOWED[sound.verdict] | ({"nonfinite"} if sound.overflows else set())
        worse = tuple(verdict for verdict in verdicts if verdict.kind not in allowed)
        if len(worse) < len(verdicts):
            self.strayed[sound.name] = self.strayed.get(sound.name, 0) + 1
        identity = signature(spec, f"sound:{sound.name}", worse)
        if identity is None:
            return
        self.alarmed[sound.name] = self.alarmed.get(sound.name, 0) + 1
        if len(self.alarms) < KEPT_ALARMS:
            self.alarms.append(
                Alarm(
                    kernel=sound.name,
                    pair=pair_name(spec, conventions),
                    verdict=worse[0],
                    signature=identity,
                    case=Case(spec=spec, inputs=inputs),
                )
            )
