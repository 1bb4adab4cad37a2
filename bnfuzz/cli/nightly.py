"""`bnfuzz nightly`: everything that is due in a night, within one budget."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bnfuzz.backends import registry
from bnfuzz.backends.pool import Limits
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.parallel.cluster import Cluster
from bnfuzz.campaign.progress import Progress
from bnfuzz.nightly.asked import Asked
from bnfuzz.nightly.run import run_night
from bnfuzz.report.night.summary import headline
from bnfuzz.report.table import discovery_line

DEFAULT_MINUTES = 60.0


@click.command("nightly")
@click.option("--output", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR",
              help="Folder of the nights: state, page, summary, issue texts. Keep it from night to night.")  # fmt: skip
@click.option("--minutes", type=float, help=f"Budget of time for all of it; {DEFAULT_MINUTES:g} where none is given.")
@click.option("--cases", type=int, help="Budget of judged trials for the campaign, instead of time.")
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="Backend to test; repeat for several.")
@click.option("--target", "targets", multiple=True, metavar="FILE.py:FUNCTION", help="A function of yours to test.")
@click.option("--seed", type=int, help="Of the campaign; otherwise date and number of the night.")
@click.option("--corpus", type=click.Path(path_type=Path), default=Path("corpus"), show_default=True,
              help="Folder of known cases; new findings are saved in it.")  # fmt: skip
@click.option(
    "--new-only", is_flag=True, help="Report only what the stored state does not have, and leave it as it is."
)
@click.option("--jobs", type=int, default=1, show_default=True, help="Processes of the campaign.")
@click.option("--dask", metavar="ADDRESS", help="Scheduler of a cluster that the campaign runs on.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True,
              help="Seconds after which a call counts as hung.")  # fmt: skip
def nightly(
    *,
    folder: Path,
    minutes: float | None,
    cases: int | None,
    backends: tuple[str, ...],
    targets: tuple[str, ...],
    seed: int | None,
    corpus: Path,
    new_only: bool,
    jobs: int,
    dask: str | None,
    timeout: float,
) -> None:
    """Replay the corpus, search, run open findings again, shrink what is left, and report.

    A planted fault goes the whole way every night. Exits with 0 where nothing new fails, 1 with new failing findings, 2
    for bad arguments, 3 where the night is not to be trusted: the planted fault is lost, or the machine failed.
    """
    if minutes is None and cases is None:
        minutes = DEFAULT_MINUTES
    chosen = (*backends, *(registry.TARGET + target for target in targets))
    asked = Asked(
        output=folder,
        corpus=corpus,
        backends=tuple(dict.fromkeys(chosen)),
        minutes=minutes,
        cases=cases,
        seed=seed,
        jobs=jobs,
        dask=dask,
        new_only=new_only,
    )
    if dask is not None:
        # A night replays for a long time before its campaign needs the cluster.
        Cluster(dask).close()
    corpus_is_new = not corpus.exists()
    progress = Progress()

    def tell(line: str) -> None:
        progress.clear()
        click.echo(line)

    def announce(discovery: Discovery) -> None:
        tell(discovery_line(discovery))

    limits = Limits.of_timeout(timeout)
    report = run_night(asked, tell=tell, announce=announce, tick=progress.tick, limits=limits)
    progress.clear()
    if corpus_is_new:
        click.echo(f"bnfuzz: the corpus {corpus} is new: no stored case was replayed", err=True)
    for trouble in report.night.troubles:
        click.echo(f"bnfuzz: not to be trusted: {trouble}", err=True)
    click.echo(f"night {report.night.number}: {headline(report)}; {folder / 'page.html'}")
    sys.exit(report.exit_code)
