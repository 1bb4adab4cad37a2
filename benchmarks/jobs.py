"""What a second job brings: judged trials of one and of several jobs, side by side, in turns.

    python -m benchmarks.jobs --minutes 0.5 --repeat 3 --backends numpy --backends numpy jax --backends mxnet

Run from the root of the repository, on a machine that does nothing else. One job is more than one process already: the
parent judges while the frameworks' workers compute, so it uses more than one core, and on two cores a second job can
bring no more than 2 / (cores that one job uses). That limit is printed beside the ratio, with the judged trials per
second of processor time of both, which say what the jobs cost each other. With --cases the same work is timed instead.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click

from bnfuzz.campaign.progress import Watched
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.shards import run_campaign
from bnfuzz.corpus import Corpus
from bnfuzz.report.columns import aligned

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One campaign. `cores` and `cost` are of what lies between its first tick and its last.

    cores  that all its processes kept busy
    cost   judged trials per second of processor time
    """

    judged: int
    seconds: float
    cores: float
    cost: float

    @property
    def rate(self) -> float:
        return self.judged / self.seconds


class Meter:
    """Time, processor time of this process and all below it, and judged trials, at the first tick and at the last."""

    def __init__(self) -> None:
        self._first: tuple[float, float, int] | None = None
        self._last = (0.0, 0.0, 0)

    def tick(self, campaign: Watched) -> None:
        self._last = (campaign.budget.elapsed, processor_seconds(os.getpid()), campaign.tally.judged)
        self._first = self._first or self._last

    def between(self) -> tuple[float, float, int]:
        first = self._first or self._last
        return self._last[0] - first[0], self._last[1] - first[1], self._last[2] - first[2]


def processor_seconds(root: int) -> float:
    """User and system time of a process and its descendants, with those of them that have ended."""
    parents: dict[int, int] = {}
    times: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            times[int(folder.name)] = sum(int(field) for field in fields[11:15])

    def below(pid: int) -> bool:
        while pid not in (0, root):
            pid = parents.get(pid, 0)
        return pid == root

    return sum(time for pid, time in times.items() if below(pid)) / TICKS


def run(asked: Settings, jobs: int, corpus: Path) -> Run:
    meter = Meter()
    report = run_campaign(asked, Corpus(corpus), jobs=jobs, tick=meter.tick)
    seconds, processor, judged = meter.between()
    return Run(
        judged=report.tally.judged,
        seconds=report.elapsed,
        cores=processor / seconds if seconds > 0 else float("nan"),
        cost=judged / processor if processor > 0 else float("nan"),
    )


def row(backends: Sequence[str], jobs: int, alone: list[Run], together: list[Run]) -> tuple[str, ...]:
    cores = len(os.sched_getaffinity(0))
    one, several = median(run.rate for run in alone), median(run.rate for run in together)
    used = median(run.cores for run in alone)
    cost = [median(run.cost for run in runs) for runs in (alone, together)]
    return (
        " ".join(backends),
        f"{one:,.0f}",
        f"{several:,.0f}",
        f"{several / one:.2f}",
        f"{min(jobs, cores / used):.2f}",
        f"{used:.2f}",
        f"{median(run.cores for run in together):.2f}",
        f"{cost[0]:,.0f}",
        f"{cost[1]:,.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", nargs="+", action="append", help="one mixture; repeat for several")
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--cases", type=int, help="judged trials instead of time")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, required=True, help="a COPY of the corpus: findings are saved in it")
    given = parser.parse_args()
    header = ("backends", "1 job/s", f"{given.jobs} jobs/s", "ratio", "limit", "cores", f"cores of {given.jobs}",
              "per processor s", f"with {given.jobs}")  # fmt: skip
    rows: list[tuple[str, ...]] = [header]
    for backends in given.backends or [["numpy"]]:
        asked = Settings(
            backends=tuple(backends),
            seed=given.seed,
            minutes=None if given.cases else given.minutes,
            cases=given.cases,
            shrink_share=0.0,
        )
        runs: dict[int, list[Run]] = {1: [], given.jobs: []}
        for _ in range(given.repeat):
            for jobs, done in runs.items():
                done.append(run(asked, jobs, given.corpus))
                load = Path("/proc/loadavg").read_text().split()[0]
                click.echo(
                    f"{' '.join(backends)}, {jobs} jobs: {done[-1].judged:,} in {done[-1].seconds:.1f} s, "
                    f"{done[-1].cores:.2f} cores; load {load}"
                )
        rows.append(row(backends, given.jobs, runs[1], runs[given.jobs]))
    click.echo("\n" + aligned(rows))


if __name__ == "__main__":
    main()
