"""A whole campaign, from its settings to its report: in this process, in several of this machine, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.parallel.cluster import Cluster, check_address
from bnfuzz.campaign.parallel.crew import Crew, LocalCrew
from bnfuzz.campaign.parallel.ordered import ParallelCampaign
from bnfuzz.campaign.progress import Watched
from bnfuzz.campaign.run import Campaign, Report
from bnfuzz.campaign.settings import Settings
from bnfuzz.corpus import Corpus
from bnfuzz.errors import UsageError

MOST_JOBS = 256
"""Each job holds the frameworks in memory once more."""


def run_campaign(
    asked: Settings,
    corpus: Corpus | Path | None,
    *,
    jobs: int = 1,
    dask: str | None = None,
    limits: Limits | None = None,
    announce: Callable[[Discovery], None] = lambda _: None,
    tick: Callable[[Watched], None] = lambda _: None,
) -> Report:
    """Runs the campaign to its end. Findings and counts are the same however it is run; time decides where it ends.

    corpus    holds what is known, and takes what is found; only this process writes to it. None: neither
    jobs      processes of this machine that search, each with workers of its own; 1: this process alone
    dask      address of a Dask scheduler whose workers search instead; each needs this version of bnfuzz
    announce  is called for every new finding, and again when it is shrunk
    tick      is called now and then, to show how far it is

    Raises UsageError for settings that contradict each other, InfrastructureError where a backend or a cluster cannot
    run. With several jobs a script calls it below `if __name__ == "__main__":`, since processes are spawned.
    """
    check_jobs(jobs, dask)
    limits = limits or Limits()
    corpus = Corpus(corpus) if isinstance(corpus, Path) else corpus
    if jobs == 1 and dask is None:
        with Pool(limits) as pool:
            return Campaign(asked, pool, corpus, announce=announce, tick=tick).run()
    crew: Crew = LocalCrew(jobs) if dask is None else Cluster(dask)
    try:
        return ParallelCampaign(asked, crew, corpus, limits=limits, announce=announce, tick=tick).run()
    finally:
        crew.close()


def check_jobs(jobs: int, dask: str | None) -> None:
    """Raises UsageError for a number of jobs that is out of range or given for a cluster, and for no address at all."""
    if not 1 <= jobs <= MOST_JOBS:
        raise UsageError(f"jobs={jobs} must be at least 1 and at most {MOST_JOBS}; one per core is usual")
    if dask is not None and jobs != 1:
        raise UsageError(
            f"jobs={jobs} and dask={dask} exclude each other: a cluster has as many jobs as workers; give one of them"
        )
    if dask is not None:
        check_address(dask)
