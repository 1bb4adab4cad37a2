"""Campaigns on real processes, and on a real cluster of this machine; some of them are killed on the way."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from bnfuzz.backends.pool import Limits
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.parallel import cluster as cluster_module
from bnfuzz.campaign.progress import Watched
from bnfuzz.campaign.run import Report
from bnfuzz.campaign.settings import Settings
from bnfuzz.campaign.shards import MOST_JOBS, run_campaign
from bnfuzz.casefile.tree import case_id
from bnfuzz.corpus import Corpus
from bnfuzz.errors import InfrastructureError, UsageError

Targets = Callable[[str], str]

BUDGET: dict[str, Any] = {"cases": 500, "seed": 3, "trials": 8, "shrink_share": 0.0}
PATIENT = Limits(call_seconds=20.0, compile_seconds=60.0)


def found(report: Report) -> list[tuple[str, str, int]]:
    """The findings in their order: signature, case, and how often it was seen."""
    counts = report.discoveries.counts
    return [
        (one.finding.signature, case_id(one.finding.case), counts[one.finding.signature])
        for one in report.discoveries.distinct
    ]


class Killer:
    """Kills a process with the first tick; the campaign has just begun then."""

    def __init__(self, victim: Callable[[], int]) -> None:
        self._victim = victim
        self.killed = False

    def tick(self, campaign: Watched) -> None:
        if not self.killed:
            self.killed = True
            os.kill(self._victim(), signal.SIGKILL)


def test_two_jobs_of_which_one_is_killed_find_what_one_finds(targets: Targets, tmp_path: Path) -> None:
    asked = Settings(backends=("numpy", targets("unbiased")), **BUDGET)
    expected = run_campaign(asked, None, limits=PATIENT)
    before = set(active_children())
    killer = Killer(lambda: min(child.pid for child in active_children() if child not in before))
    corpus, announced = Corpus(tmp_path / "corpus"), list[Discovery]()
    report = run_campaign(asked, corpus, jobs=2, limits=PATIENT, announce=announced.append, tick=killer.tick)
    assert killer.killed
    assert report.lost == ()
    assert found(expected)
    assert found(report) == found(expected)
    assert report.tally.tried == expected.tally.tried
    assert report.versions == expected.versions
    assert corpus.signatures() == {signature for signature, _, _ in found(expected)}
    assert len(corpus.entries) == len({one.path for one in announced})
    assert set(active_children()) <= before


@pytest.mark.parametrize(
    ("jobs", "dask", "says"),
    [
        (0, None, "jobs=0 must be at least 1"),
        (-2, None, "jobs=-2 must be at least 1"),
        (MOST_JOBS + 1, None, f"at most {MOST_JOBS}"),
        (2, "tcp://127.0.0.1:8786", "exclude each other"),
        (1, "nowhere", "nowhere: not the address of a scheduler"),
        (1, "tcp://127.0.0.1", "tcp://HOST:8786"),
    ],
)
def test_contradictions_are_refused(jobs: int, dask: str | None, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        run_campaign(Settings(backends=("numpy",), cases=1), None, jobs=jobs, dask=dask)


def test_an_unknown_backend_is_refused_by_every_job() -> None:
    with pytest.raises(UsageError, match="nothing-known"):
        run_campaign(Settings(backends=("nothing-known",), cases=1), None, jobs=2)


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 0.5)
    with socket.socket() as taken:
        # Bound and not listening: nobody answers here, and nobody else can come to.
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InfrastructureError, match=f"{address}: no scheduler answers"):
            run_campaign(Settings(backends=("numpy",), cases=1), None, dask=address)


@pytest.fixture(scope="module")
def dask_cluster() -> Iterator[Any]:
    """Two workers of one thread each, in processes of their own."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="CRITICAL"
    ) as cluster:
        yield cluster


def test_a_cluster_of_which_a_worker_is_killed_finds_what_one_job_finds(dask_cluster: Any, targets: Targets) -> None:
    asked = Settings(backends=("numpy", targets("unbiased")), **BUDGET)
    expected = run_campaign(asked, None, limits=PATIENT)
    killer = Killer(lambda: int(dask_cluster.workers[0].pid))
    report = run_campaign(asked, None, dask=dask_cluster.scheduler_address, limits=PATIENT, tick=killer.tick)
    assert killer.killed
    assert report.lost == ()
    assert found(expected)
    assert found(report) == found(expected)
    assert report.tally.tried == expected.tally.tried


def test_a_worker_of_another_version_is_named(dask_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "__version__", "99.0")
    with pytest.raises(InfrastructureError, match=r"worker tcp://\S+ has bnfuzz \S+, and this is bnfuzz 99\.0"):
        run_campaign(Settings(backends=("numpy",), cases=1), None, dask=dask_cluster.scheduler_address)
