"""The same trials judged by what people use today and by bnfuzz: faults missed, sound kernels accused.

    python -m benchmarks.side_by_side --trials 2000 --seed 0 --write docs/comparison.md

Run from the root of the repository. The figures depend on the seed and the number of trials only.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
import numpy as np

from benchmarks.closeness import JUDGES, Flag, compared
from benchmarks.side_by_side_page import BNFUZZ, Scores, page, table
from bnfuzz.case import Array, Inputs, Outputs, Spec
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS, Conventions
from bnfuzz.evaluation import References
from bnfuzz.faults import backend
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.fault import Fault
from bnfuzz.faults.kernel import Kernel
from bnfuzz.faults.run import run_trial
from bnfuzz.faults.sound import SOUND, Sound
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.judge.compare import judge
from bnfuzz.judge.verdict import FAILING
from bnfuzz.numerics.reference import Reference
from bnfuzz.selfcheck.sieve import suspects
from bnfuzz.selfcheck.vocabulary import rounds
from bnfuzz.strategies import plans, specs

OUTPUTS = ("y", "dgamma", "dbeta", "dx", "new_running_mean", "new_running_var")
"""What a call of a framework gives; everyone judges these and nothing else."""

CONVENTIONS = replace(backend.CONVENTIONS, outputs=OUTPUTS)

TRIPLES = tuple(triple for triple in ALL_FORMATS + MIXED_FORMATS if triple[0] != "float64")

TRIALS_OF_A_PLAN = 4

JUDGED_BY = (*(judge.name for judge in JUDGES), BNFUZZ)


def left_out(fault: Fault) -> str:
    """Why a fault cannot show in the numbers of one step, or nothing."""
    if fault.mode == "sequence":
        return "shows over several steps only"
    if fault.example.operation != "batch_norm":
        return f"is one of {fault.example.operation.replace('_', ' ')}"
    if fault.judged in ("mutated", "error"):
        return "is seen by the call itself, not by numbers"
    if fault.example.family == "nonfinite":
        return "needs NaN in the input, which campaigns draw on request only"
    if not all(fault.example.shape):
        return "needs an input without elements, which campaigns draw on request only"
    return ""


FAULTS = tuple(fault for fault in CATALOGUE.values() if not left_out(fault))
KERNELS = tuple(sound for sound in SOUND.values() if sound.verdict == "ok")


@dataclass(eq=False)
class Block:
    """The trials of one plan, with what is expected of them, and who flags the clean kernel on which."""

    spec: Spec
    inputs: Inputs
    references: References = field(init=False)
    _expected: dict[Conventions, Outputs] = field(default_factory=dict)
    _clean: dict[Conventions, dict[str, Flag]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.references = References(self.inputs)

    def flags(self, kernel: Kernel, conventions: Conventions, judges: Collection[str] = JUDGED_BY) -> dict[str, Flag]:
        """Per judge the trials that it calls wrong; one that raises is called wrong by everyone."""
        outputs, ran = attempt(kernel, self.spec, self.inputs, conventions)
        flags = {name: flag.copy() for name, flag in dict.fromkeys(judges, ~ran).items()}
        if outputs is None:
            return flags
        expected = self.expected(conventions).select(ran)
        for name, observed in outputs.items():
            pair = compared(name, observed, getattr(expected, name))
            for one in JUDGES:
                if one.name in flags:
                    flags[one.name][ran] |= True if pair is None else one.flags(pair)
        if BNFUZZ in flags:
            references = self.references if ran.all() else References(self.inputs.select(ran))
            flags[BNFUZZ][ran] |= failing(references.of(self.spec, conventions), outputs)
        return flags

    def clean(self, conventions: Conventions) -> dict[str, Flag]:
        """`flags` of the clean kernel."""
        if conventions not in self._clean:
            self._clean[conventions] = self.flags(CLEAN, conventions)
        return self._clean[conventions]

    def expected(self, conventions: Conventions) -> Outputs:
        """The clean kernel in float64, rounded to the formats of the outputs: what people compare with."""
        if conventions not in self._expected:
            rows = []
            for k in range(self.inputs.trials):
                arrays = {name: array[k] for name, array in self.inputs.items()}
                rows.append(run_trial(CLEAN, self.spec, arrays, conventions, compute="float64"))
            self._expected[conventions] = _stacked(rows)
        return self._expected[conventions]


def attempt(kernel: Kernel, spec: Spec, inputs: Inputs, conventions: Conventions) -> tuple[Outputs | None, Flag]:
    """Outputs of the trials that did not raise, and which these are."""
    ran = np.ones(inputs.trials, dtype=bool)
    rows: list[dict[str, Array]] = []
    for k in range(inputs.trials):
        own = Inputs(**{name: array.copy() for name, array in inputs.trial(k).items()})
        try:
            given = backend.run(kernel, spec, own, conventions)
        except Exception:  # whatever a kernel raises is its result
            ran[k] = False
        else:
            rows.append({name: array[0] for name, array in given.items()})
    return (_stacked(rows) if rows else None), ran


def _stacked(rows: list[dict[str, Array]]) -> Outputs:
    with np.errstate(over="ignore"):
        return Outputs(**{name: np.stack([row[name] for row in rows]) for name in rows[0] if name in OUTPUTS})


def failing(reference: Reference, outputs: Outputs) -> Flag:
    """Trials with a failing verdict of bnfuzz."""
    flags = np.zeros(len(reference.rungs), dtype=bool)
    if suspects(reference, outputs).any():
        for output in judge(reference, outputs).outputs:
            flags |= [kind in FAILING for kind in output.kinds]
    return flags


def run(trials: int, seed: int, faults: Iterable[Fault] = FAULTS, kernels: Iterable[Sound] = KERNELS) -> Scores:
    """So many trials of every fault and every sound kernel."""
    faults, kernels = tuple(faults), tuple(kernels)
    scores = Scores(judges=JUDGED_BY, faults=tuple(fault.name for fault in faults), kernels=len(kernels))
    for plan in rounds(plans(specs(formats=TRIPLES)), seed):
        count = min(TRIALS_OF_A_PLAN, trials - scores.trials)
        if not count:
            return scores
        block = Block(plan.spec, plan.expand(count))
        accused = {name: np.zeros(count, dtype=bool) for name in JUDGED_BY}
        for sound in kernels:
            flags = block.flags(sound.kernel, sound.conventions(CONVENTIONS))
            for name in JUDGED_BY:
                accused[name] |= flags[name]
                scores.accuse(name, plan.spec.data_format, flags[name])
        for fault in faults:
            conventions = fault.conventions(CONVENTIONS)
            wanted = scores.at_large(fault.name)
            if not wanted:
                continue
            flags, clean = block.flags(fault.kernel, conventions, wanted), block.clean(conventions)
            for name in wanted:
                killed = flags[name] & ~clean[name]
                scores.kill(name, fault.name, killed, killed & ~accused[name])
        scores.count(plan.spec.data_format, count)
    raise AssertionError("plans do not end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000, help="trials of each kernel (default 2000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="the page to write")
    arguments = parser.parse_args()
    scores = run(arguments.trials, arguments.seed)
    click.echo(table(scores))
    if arguments.write:
        command = f"python -m benchmarks.side_by_side --trials {arguments.trials} --seed {arguments.seed}"
        omitted = {name: left_out(fault) for name, fault in CATALOGUE.items() if left_out(fault)}
        text = page(f"{command} --write {arguments.write}", scores, arguments.seed, omitted)
        arguments.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
