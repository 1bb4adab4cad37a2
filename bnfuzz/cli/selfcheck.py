"""`bnfuzz selfcheck`: planted faults must be found, sound kernels must not be accused."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import click

from bnfuzz.casefile import CaseFile, Origin, dumps, write_atomic
from bnfuzz.errors import UsageError
from bnfuzz.faults.catalogue import CATALOGUE, OUT_OF_REACH
from bnfuzz.faults.sound import SOUND
from bnfuzz.report.columns import aligned
from bnfuzz.selfcheck import tables
from bnfuzz.selfcheck.hunt import Hunt
from bnfuzz.selfcheck.naming import Named, named
from bnfuzz.selfcheck.page import page
from bnfuzz.selfcheck.pairs import PAIRS
from bnfuzz.selfcheck.soak import soak
from bnfuzz.selfcheck.soundness import Soundness

DEFAULT_MINUTES = 2.0
SHORT_PLANS = 400
"""Plans that a short hunt may try."""

SHORT_SOUND_PLANS = 60

DEFAULT_NAMING_PLANS = 40
SHORT_NAMING_PLANS = 4

Item = TypeVar("Item")


@click.command()
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True),
              help=f"Time for the faults, then for the sound kernels; {DEFAULT_MINUTES:g} by default.")  # fmt: skip
@click.option("--fault", "faults", multiple=True, metavar="NAME", help="Only this fault; repeat for several.")
@click.option("--sound", "sounds", multiple=True, metavar="NAME", help="Only this sound kernel; repeat for several.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Decides what is tried.")
@click.option("--plans", type=click.IntRange(min=0), metavar="PLANS",
              help=f"Plans per fault for counting its signatures; {DEFAULT_NAMING_PLANS} by default.")  # fmt: skip
@click.option("--short", is_flag=True, help="A bounded number of plans, for tests.")
@click.option("--soak", "trials", type=click.IntRange(min=1), metavar="TRIALS",
              help="Judge so many trials per format pair; after the rest with --minutes, else alone.")  # fmt: skip
@click.option("--format", "formats", multiple=True, metavar="PAIR",
              help="Soak only this format pair, such as bfloat16/float32; repeat for several.")  # fmt: skip
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Processes at a time, for the signatures and the soak; one per core by default.",
)
@click.option("--write", "file", type=click.Path(path_type=Path), help="Write the result as a markdown page.")
@click.option("--keep", "folder", type=click.Path(path_type=Path), help="Save the cases of false alarms here.")
def selfcheck(
    *,
    minutes: float | None,
    faults: tuple[str, ...],
    sounds: tuple[str, ...],
    seed: int,
    plans: int | None,
    short: bool,
    trials: int | None,
    formats: tuple[str, ...],
    jobs: int | None,
    file: Path | None,
    folder: Path | None,
) -> None:
    """Test bnfuzz itself: planted faults must be found, sound kernels must not be accused.

    Exits with 0 only if no fault was missed or has several signatures in one regime, and there was no false alarm, and
    with 1 otherwise.
    """
    planted = _chosen("fault", faults, CATALOGUE, OUT_OF_REACH)
    sound = _chosen("sound", sounds, SOUND, {})
    both = minutes is not None or trials is None
    seconds = 60 * (minutes or DEFAULT_MINUTES)
    hunt = run = soaked = None
    names: tuple[Named, ...] = ()
    if both and (faults or not sounds):
        hunt = Hunt(planted, seed=seed)
        hunt.run(seconds=seconds, plans=SHORT_PLANS if short else None)
        per_fault = plans if plans is not None else SHORT_NAMING_PLANS if short else DEFAULT_NAMING_PLANS
        if per_fault:
            names = named(planted, plans=per_fault, seed=seed, jobs=1 if short else jobs or os.cpu_count() or 1)
        click.echo(f"{aligned(tables.fault_rows(hunt, names), left=2)}\n\n{tables.hunt_summary(hunt)}")
        click.echo(f"{tables.naming_summary(names)}\n" if names else "")
    if both and (sounds or not faults):
        run = Soundness(sound, seed=seed)
        run.run(seconds=seconds, plans=SHORT_SOUND_PLANS if short else None)
        run.stop()
        _show(run)
    if trials is not None:
        # The near-sound ones are for the judge's wording; a soak is about those that must never be accused.
        kernels = [item.name for item in sound if sounds or item.verdict == "ok"]
        chosen = formats or tuple(PAIRS)
        soaked = soak(kernels, chosen, trials=trials, seed=seed, jobs=jobs or os.cpu_count() or 1, announce=click.echo)
        _show(soaked)
    if file is not None:
        command = shlex.join(["bnfuzz", *sys.argv[1:]])
        write_atomic(file, page(command, hunt, run, soaked, names))
    runs = [one for one in (run, soaked) if one is not None]
    if folder is not None:
        for one in runs:
            _keep(folder, one)
    missed = hunt is not None and (hunt.at_large or any(one.most > 1 for one in names))
    failed = bool(missed) or any(one.alarmed for one in runs)
    sys.exit(1 if failed else 0)


def _chosen(
    option: str, names: tuple[str, ...], known: Mapping[str, Item], left_out: Mapping[str, str]
) -> tuple[Item, ...]:
    """The named entries, all of them without names."""
    for name in names:
        if name not in known:
            reason = f" ({left_out[name]})" if name in left_out else ""
            raise UsageError(f"--{option} {name}: not in the catalogue{reason}; use one of {', '.join(known)}")
    return tuple(known[name] for name in (names or known))


def _show(run: Soundness) -> None:
    for rows in (tables.kernel_rows(run), tables.sound_rows(run.tallies), tables.ratio_rows(run.tallies)):
        click.echo(aligned(rows, left=2) + "\n")
    for line in tables.alarm_lines(run.alarms):
        click.echo(line)
    click.echo(tables.sound_summary(run))


def _keep(folder: Path, run: Soundness) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for alarm in run.alarms:
        origin = Origin(title=f"false alarm: {alarm.signature}")
        stored = CaseFile(case=alarm.case, origin=origin, verdicts={f"sound:{alarm.kernel}": (alarm.verdict,)})
        write_atomic(folder / f"{alarm.kernel}-{stored.id[:8]}.json", dumps(stored))
