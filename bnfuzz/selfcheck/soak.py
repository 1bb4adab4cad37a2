"""The big soak: sound kernels on millions of trials per format pair, one process per pair where there are cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from bnfuzz.errors import UsageError
from bnfuzz.faults.sound import SOUND
from bnfuzz.selfcheck.pairs import PAIRS
from bnfuzz.selfcheck.soundness import KEPT_ALARMS, Soundness
from bnfuzz.selfcheck.tally import Soaked


def soak(
    names: Sequence[str],
    pairs: Sequence[str],
    *,
    trials: int,
    seed: int,
    jobs: int,
    announce: Callable[[str], None] = lambda line: None,
) -> Soundness:
    """`trials` judged trials of the sound kernels `names` per format pair, `jobs` pairs at a time.

    float64 has a tenth of them: its exact values take double-double arithmetic.
    """
    for pair in pairs:
        if pair not in PAIRS:
            raise UsageError(f"format {pair!r} is no format pair; use one of {', '.join(PAIRS)}")
    whole = Soundness((SOUND[name] for name in names), seed=seed)
    # Spawned: a fork of a process with threads may hang.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
        running = {
            processes.submit(
                soak_pair, tuple(names), pair, -(-trials // 10) if pair == "float64" else trials, seed
            ): pair
            for pair in pairs
        }
        for done in as_completed(running):
            soaked = done.result()
            whole.add(soaked)
            announce(f"soak {running[done]}: {soaked.tally.judged:,} judged trials in {soaked.seconds:.0f} s")
    whole.tallies = {pair: whole.tallies[pair] for pair in pairs}
    whole.alarms = whole.alarms[:KEPT_ALARMS]
    whole.stop()
    return whole


def soak_pair(names: tuple[str, ...], pair: str, trials: int, seed: int) -> Soaked:
    """One format pair, in this process."""
    run = Soundness((SOUND[name] for name in names), seed=seed)
    run.soak(pair, trials=trials)
    return Soaked(
        pair=pair,
        tally=run.tallies[pair],
        alarms=tuple(run.alarms),
        alarmed=run.alarmed,
        strayed=run.strayed,
        seconds=run.elapsed,
    )
