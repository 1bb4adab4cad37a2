"""Soak of the sound kernels: random adversarial trials, false alarms, and the largest error/bound of every output.

    python -m benchmarks.soak --trials 100000 --formats float32 "pure bfloat16"

Run from the root of the repository. A false alarm is an element beyond its bound that no risk of overflow excuses, of a
kernel that counts as sound; the near-sound kernels (Welford, Chan, …) are counted apart, with and without the hard
limit. A largest ratio far below 1 means a bound that could be sharper; above 1, one that is broken.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import click
import numpy as np
from numpy.typing import NDArray

from bnfuzz import formats
from bnfuzz.case import OUTPUT_NAMES, Array, Inputs, Spec, batch_norm_spec
from bnfuzz.conventions import Conventions
from bnfuzz.faults.run import run_trial
from bnfuzz.faults.sound import SOUND, Sound
from bnfuzz.numerics.reference import OutputReference, Reference, reference
from tests.numerics import adversarial

BLOCK = 1000
"""Trials of one shape; of the loss mean(y²), whose size is that of one trial, a tenth."""


@dataclass
class Tally:
    """Largest ratio and false alarms per output; the near-sound kernels' excesses; the first alarms, told."""

    trials: int = 0
    largest: dict[str, float] = field(default_factory=dict)
    alarms: Counter[str] = field(default_factory=Counter)
    limited: Counter[str] = field(default_factory=Counter)
    beyond: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)


def ratios(exact: OutputReference, observed: Array, bound: NDArray[np.float64]) -> NDArray[np.float64]:
    """error/bound; 0 where nothing is defined, an overflow is right, or a sound kernel may overflow on the way."""
    with np.errstate(all="ignore"):
        values = observed.astype(np.float64)
        error = exact.error(values)
        ratio = np.where(error == 0, 0.0, error / bound)
        signed = (np.sign(values) == np.sign(exact.value)) | (np.abs(exact.value) <= exact.bound)
        overflow = np.isinf(values) & signed & (np.abs(exact.value) + bound >= formats.of(observed).largest)
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    return np.where(exact.undefined | overflow | (exact.flag & (ratio > 1)), 0.0, ratio)


def blocks(rng: np.random.Generator, name: str, trials: int) -> Iterator[tuple[Spec, Inputs, Conventions]]:
    triple, compute = adversarial.TRIPLES[name]
    reach = 3.0 if triple[0] == "float16" else 15.0
    done = 0
    while done < trials:
        # What a kernel does with one value and ddof 1 is its own rule, and none of these steps.
        conventions = replace(adversarial.conventions_of(rng, compute), single_value_variance="biased")
        loss = str(rng.choice(["explicit", "explicit", "explicit", "sum", "mean_square"]))
        count = min(trials - done, BLOCK // 10 if loss == "mean_square" else BLOCK)
        shape = (int(rng.choice(adversarial.SIZES)), 1)
        fixed = {"cotangent": loss, "shape": shape, "extreme": bool(rng.random() < 0.2)}
        spec, inputs = adversarial.block(rng, triple, count, largest_exponent=reach, **fixed)
        yield spec, inputs, conventions
        done += count


def outputs_of(sound: Sound, spec: Spec, inputs: Inputs, conventions: Conventions) -> dict[str, Array]:
    """All trials as channels of one, which is the same to batch norm; one by one for a loss that divides by size."""
    if spec.cotangent == "mean_square":
        rows = [
            run_trial(sound.kernel, spec, {name: array[k] for name, array in inputs.items()}, conventions)
            for k in range(inputs.trials)
        ]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    folded = replace(batch_norm_spec((spec.n, inputs.trials), 1), **_shared(spec))
    arrays = {name: array[..., 0].T if array.ndim == 3 else array[:, 0] for name, array in inputs.items()}
    outputs = run_trial(sound.kernel, folded, arrays, conventions)
    return {name: array.T[..., None] if array.ndim == 2 else array[:, None] for name, array in outputs.items()}


def _shared(spec: Spec) -> dict[str, object]:
    names = ("data_format", "parameter_format", "statistics_format", "eps", "momentum", "has_gamma", "has_beta")
    return {name: getattr(spec, name) for name in (*names, "has_running", "steps", "cotangent")}


def count(tally: Tally, sound: Sound, exact: Reference, outputs: dict[str, Array]) -> None:
    for name, observed in outputs.items():
        output = exact.outputs[name]
        ratio = ratios(output, observed, output.bound)
        beyond = ratio > 1
        if sound.verdict != "ok":
            tally.limited[sound.name] += int(beyond.any(axis=tuple(range(1, beyond.ndim))).sum())
            raw = ratios(output, observed, output.raw_bound) > 1
            tally.beyond[sound.name] += int(raw.any(axis=tuple(range(1, raw.ndim))).sum())
            continue
        tally.largest[name] = max(tally.largest.get(name, 0.0), float(ratio.max(initial=0.0)))
        tally.alarms[name] += int(beyond.any(axis=tuple(range(1, beyond.ndim))).sum())
        if beyond.any() and len(tally.told) < 5:
            at = tuple(int(place[0]) for place in np.nonzero(beyond))
            numbers = f"exact {output.value[at]}, observed {observed[at]}, bound {output.bound[at]}, ratio {ratio[at]}"
            trial = {key: array[at[0]].tolist() for key, array in exact.inputs.items()}
            tally.told.append(f"{sound.name}: {name}{at}: {numbers}\n  {exact.spec}\n  {exact.rules}\n  {trial}")


def soak(name: str, trials: int, seed: int) -> Tally:
    tally = Tally()
    for spec, inputs, conventions in blocks(np.random.default_rng(seed), name, trials):
        tally.trials += inputs.trials
        references: dict[Conventions, Reference] = {}
        for sound in SOUND.values():
            stated = sound.conventions(conventions)
            if stated not in references:
                references[stated] = reference(spec, inputs, stated)
            count(tally, sound, references[stated], outputs_of(sound, spec, inputs, stated))
    return tally


def told(name: str, tally: Tally, seconds: float) -> str:
    alarms = sum(tally.alarms.values())
    ordered = [output for output in OUTPUT_NAMES if output in tally.largest]
    sound = sum(kernel.verdict == "ok" for kernel in SOUND.values())
    lines = [f"{name}: {tally.trials} trials, {sound} sound kernels, {alarms} false alarms, {seconds:.0f} s"]
    lines += [f"  {output:17} {tally.largest[output]:8.3f}  {tally.alarms[output]} alarms" for output in ordered]
    lines += [f"  {kernel:20} {tally.limited[kernel]} beyond, {tally.beyond[kernel]} raw" for kernel in tally.limited]
    return "\n".join([*lines, *tally.told])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20_000, help="trials per format (default 20000)")
    known = list(adversarial.TRIPLES)
    parser.add_argument("--formats", nargs="+", choices=known, default=known, help="format triples (default all)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failed = False
    for name in arguments.formats:
        start = time.perf_counter()
        tally = soak(name, arguments.trials, arguments.seed)
        click.echo(told(name, tally, time.perf_counter() - start))
        failed |= bool(sum(tally.alarms.values()))
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
