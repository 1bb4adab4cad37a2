"""The same trials judged by what people use today and by bnfuzz: faults missed, sound kernels accused.

    python -m benchmarks.side_by_side --trials 2000 --seed 0 --write docs/comparison.md

Run from the root of the repository. The figures depend on the seed and the number of trials only.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import click
import numpy as np

from benchmarks.side_by_side_block import CONVENTIONS, JUDGED_BY, Block
from benchmarks.side_by_side_page import Scores, page, table
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.fault import Fault
from bnfuzz.faults.sound import SOUND, Sound
from bnfuzz.selfcheck.vocabulary import rounds
from bnfuzz.strategies import plans, specs

TRIPLES = tuple(triple for triple in ALL_FORMATS + MIXED_FORMATS if triple[0] != "float64")

TRIALS_OF_A_PLAN = 4

LOOSENED = (10, 1)
"""Sound trials per 1000 that a tolerance loosened on these very trials may accuse."""


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


def run(trials: int, seed: int, faults: Iterable[Fault] = FAULTS, kernels: Iterable[Sound] = KERNELS) -> Scores:
    """So many trials of every fault and every sound kernel."""
    faults, kernels = tuple(faults), tuple(kernels)
    scores = Scores(judges=JUDGED_BY, faults=tuple(fault.name for fault in faults), kernels=len(kernels))
    for plan in rounds(plans(specs(formats=TRIPLES)), seed):
        count = min(TRIALS_OF_A_PLAN, trials - scores.trials)
        if not count:
            for share in LOOSENED:
                scores.loosen(share)
            return scores
        block = Block(plan.spec, plan.expand(count))
        accused = {name: np.zeros(count, dtype=bool) for name in JUDGED_BY}
        for sound in kernels:
            seen = block.seen(sound.kernel, sound.conventions(CONVENTIONS))
            scores.needed_by_sound.setdefault(sound.name, []).extend(seen.needed.tolist())
            for name in JUDGED_BY:
                accused[name] |= seen.flags[name]
                scores.accuse(name, plan.spec.data_format, seen.flags[name])
        for fault in faults:
            conventions = fault.conventions(CONVENTIONS)
            wanted = scores.at_large(fault.name)
            seen, clean = block.seen(fault.kernel, conventions, wanted), block.clean(conventions)
            pairs = zip(seen.needed.tolist(), clean.needed.tolist(), strict=True)
            scores.needed_by_fault.setdefault(fault.name, []).extend(pairs)
            for name in wanted:
                killed = seen.flags[name] & ~clean.flags[name]
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
