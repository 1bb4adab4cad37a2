"""`bnfuzz fuzz`: a campaign."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bnfuzz.backends import registry
from bnfuzz.backends.pool import Limits
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.progress import Progress
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.shards import check_jobs, run_campaign
from bnfuzz.case import Mode
from bnfuzz.corpus import Corpus
from bnfuzz.errors import InfrastructureError
from bnfuzz.formats import FormatName
from bnfuzz.report.table import closing_table, discovery_line, follow_up, known_lines
from bnfuzz.strategies.value_recipes import ValueName

DEFAULT_MINUTES = 1.0


@click.command()
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="Backend to test; repeat for several.")
@click.option("--target", "targets", multiple=True, metavar="FILE.py:FUNCTION", help="A function of yours to test.")
@click.option("--minutes", type=float, help=f"Budget of time; {DEFAULT_MINUTES:g} where no budget is given.")
@click.option("--cases", type=int, help="Budget of judged trials, instead of time.")
@click.option("--seed", type=int, default=0, show_default=True, help="Decides what is tried, and in which order.")
@click.option("--trials", type=int, default=64, show_default=True, help="Trials of one plan.")
@click.option("--corpus", "folder", type=click.Path(path_type=Path), default=Path("corpus"), show_default=True,
              help="Folder of known cases; new findings are saved in it.")  # fmt: skip
@click.option("--format", "formats", multiple=True, help="Only this format of x; repeat for several.")
@click.option("--mode", "modes", multiple=True, help="Only training, or only inference.")
@click.option("--output", "outputs", multiple=True, help="Judge only this output; repeat for several.")
@click.option("--family", "families", multiple=True, help="Only this family of values; repeat for several.")
@click.option("--nonfinite", is_flag=True, help="Draw NaN and infinite values too.")
@click.option("--empty", is_flag=True, help="Draw arrays without elements too (n = 0, or no channel).")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True,
              help="Seconds after which a call counts as hung.")  # fmt: skip
@click.option("--jobs", type=int, default=1, show_default=True, help="Processes that search side by side.")
@click.option("--dask", metavar="ADDRESS", help="Search on the workers of this Dask scheduler (tcp://HOST:8786).")
def fuzz(
    *,
    backends: tuple[str, ...],
    targets: tuple[str, ...],
    minutes: float | None,
    cases: int | None,
    seed: int,
    trials: int,
    folder: Path,
    formats: tuple[FormatName, ...],
    modes: tuple[Mode, ...],
    outputs: tuple[str, ...],
    families: tuple[ValueName, ...],
    nonfinite: bool,
    empty: bool,
    timeout: float,
    jobs: int,
    dask: str | None,
) -> None:
    """Search for inputs on which a batch norm is not what it should be.

    Without --backend and --target, every backend that can run here takes part. Exits with 0 where nothing new was found
    that fails, 1 with new failing findings, 2 for bad arguments, 3 where the machine failed or nothing was judged.
    """
    check_jobs(jobs, dask)
    if minutes is None and cases is None:
        minutes = DEFAULT_MINUTES
    chosen = (*backends, *(registry.TARGET + target for target in targets))
    asked = Settings(
        backends=tuple(dict.fromkeys(chosen or registry.available())),
        seed=seed,
        minutes=minutes,
        cases=cases,
        trials=trials,
        formats=formats,
        modes=modes,
        outputs=outputs,
        families=families,
        nonfinite=nonfinite,
        empty=empty,
    )
    corpus = Corpus(folder)
    corpus.check_ready()
    for problem in corpus.problems:
        click.echo(f"bnfuzz: {problem.message}", err=True)
    progress = Progress()

    def announce(discovery: Discovery) -> None:
        progress.clear()
        click.echo(discovery_line(discovery))

    where = f", on {dask}" if dask else f", {jobs} jobs" if jobs > 1 else ""
    click.echo(f"bnfuzz fuzz: seed {seed}, backends {', '.join(asked.backends)}{where}")
    limits = Limits.of_timeout(timeout)
    report = run_campaign(asked, corpus, jobs=jobs, dask=dask, limits=limits, announce=announce, tick=progress.tick)
    progress.clear()
    for line in known_lines(report):
        click.echo(line)
    click.echo()
    click.echo(closing_table(report))
    for line in follow_up(report):
        click.echo(line)
    unjudged = report.unjudged
    if not report.tally.judged and any(tally.failed_calls for tally in report.tally.backends.values()):
        click.echo("bnfuzz: not one trial was judged: every call failed, see the findings above", err=True)
    elif not report.tally.judged:
        click.echo("bnfuzz: not one trial was judged, so this says nothing; give a larger budget", err=True)
    elif unjudged:
        click.echo(
            f"bnfuzz: {', '.join(unjudged)}: not one trial was judged, so nothing is said of it; "
            "give a larger budget, or --format and --mode that it takes",
            err=True,
        )
    # What was not searched is no success; but findings come first.
    unsearched = report.lost or not report.tally.judged or any(name.startswith(registry.TARGET) for name in unjudged)
    sys.exit(1 if report.failed else InfrastructureError.exit_code if unsearched else 0)
