"""Functions under test that misbehave: each ends as the right finding, and the campaign goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bnfuzz.backends.memory import machine_bytes, resident_bytes
from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.campaign.findings.discover import Discovery
from bnfuzz.campaign.run import Campaign, Report
from bnfuzz.campaign.settings import Settings
from bnfuzz.case import Inputs, batch_norm_spec
from bnfuzz.corpus import Corpus

FINDINGS: dict[str, set[str]] = {
    "exits": {"call error"},
    "leaves": {"call crash"},
    "aborts": {"call crash"},
    "null": {"call crash"},
    "recurses": {"call error"},
    "interrupts": {"call error"},
    "base": {"call error"},
    "shy": {"call error"},
    "waits": {"call hang"},
    "spins": {"call hang"},
    "endless": {"call hang"},
    "garbles": {"call crash"},
    "closes": {"call crash"},
    "short": {"y shape"},
    "widened": {"y dtype"},
    "integers": {"y dtype"},
    "booleans": {"y dtype"},
    "nothing": {"call error"},
    "objects": {"call error"},
    "gigantic": {"call error"},
    "nan": {"y nonfinite"},
    "mutates": {"call mutated"},
    "floods": set(),
    "closes_output": set(),
    "forks": set(),
    "forks_and_raises": {"call error"},
    "forks_and_waits": set(),
    "threads": set(),
    "wanders": set(),
    "deaf": set(),
    "alarms": set(),
    "patches": {"y wrong"},
}
"""Function -> output and kind of everything that a run with it fails by."""

HANGING = ("waits", "spins", "endless")
GIB = 1 << 30


@pytest.fixture(scope="module")
def patient() -> Iterator[Pool]:
    """Nothing but a hang takes this long, however busy the machine is."""
    with Pool(Limits(call_seconds=60.0, compile_seconds=120.0)) as pool:
        yield pool


@pytest.fixture
def hostile(tmp_path: Path) -> Callable[[str], str]:
    """The backend name of a function of hostile.py, in a copy of that file."""
    file = tmp_path / "hostile.py"
    shutil.copy(Path(__file__).with_name("hostile.py"), file)
    return lambda function: f"target:{file}:{function}"


def campaign(pool: Pool, corpus: Corpus, *backends: str, cases: int = 48) -> Report:
    announced: list[Discovery] = []
    asked = Settings(
        backends=backends, cases=cases, trials=8, formats=("float32",), modes=("training",), families=("noise",)
    )
    report = Campaign(asked, pool, corpus, announce=announced.append, tick=lambda _: None).run()
    assert {d.finding.signature for d in announced} >= {d.finding.signature for d in report.discoveries.distinct}
    return report


def failing(report: Report) -> dict[str, set[str]]:
    """backend -> output and kind of its failing findings."""
    found: dict[str, set[str]] = {}
    for discovery in report.discoveries.failing:
        first = discovery.first
        found.setdefault(discovery.finding.backend, set()).add(f"{first.output} {first.kind}")
    return found


@pytest.mark.parametrize("function", FINDINGS)
def test_it_is_the_right_finding_and_the_campaign_goes_on(
    function: str, patient: Pool, hostile: Callable[[str], str], tmp_path: Path
) -> None:
    name, corpus = hostile(function), Corpus(tmp_path / "corpus")
    impatient = Pool(Limits(call_seconds=0.5, compile_seconds=3.0)) if function in HANGING else patient
    try:
        report = campaign(impatient, corpus, name, "numpy")
    finally:
        if impatient is not patient:
            impatient.close()
    assert failing(report) == ({name: FINDINGS[function]} if FINDINGS[function] else {})
    assert report.tally.backends["numpy"].judged >= 16
    # What was found is in the corpus, readable, and only that.
    corpus.reload()
    assert not corpus.problems
    assert corpus.signatures() == {d.finding.signature for d in report.discoveries.distinct}
    # The pool serves others as before.
    assert failing(campaign(patient, Corpus(tmp_path / "other"), hostile("sound"), "numpy", cases=16)) == {}


def test_a_numpy_that_raises_raises_for_the_one_who_asked_for_it(
    patient: Pool, hostile: Callable[[str], str], tmp_path: Path
) -> None:
    report = campaign(patient, Corpus(tmp_path / "corpus"), hostile("strict"), hostile("sound"), "numpy", cases=300)
    assert failing(report).keys() <= {hostile("strict")}


def test_what_a_dead_worker_had_started_is_ended_too(
    patient: Pool, hostile: Callable[[str], str], tmp_path: Path
) -> None:
    """It holds the worker's output open: who waited for the end of that would wait for ever."""
    report = campaign(patient, Corpus(tmp_path / "corpus"), hostile("leaves_children"), "numpy")
    assert failing(report) == {hostile("leaves_children"): {"call crash"}}
    children = [int(line) for line in (tmp_path / "children").read_text().split()]
    assert children
    assert not [pid for pid in children if runs(pid)]


def runs(pid: int) -> bool:
    """Whether the process exists and has not ended; one that init has not yet fetched has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


@pytest.mark.skipif(not resident_bytes(), reason="this system does not tell what a process holds")
def test_a_call_that_takes_memory_without_bound_is_a_crash(hostile: Callable[[str], str], tmp_path: Path) -> None:
    with Pool(Limits(memory_bytes=GIB // 4)) as pool:
        report = campaign(pool, Corpus(tmp_path / "corpus"), hostile("swells"), "numpy", cases=8)
    assert failing(report) == {hostile("swells"): {"call crash"}}
    (found,) = report.discoveries.failing
    assert "MiB of memory; the limit is 256 MiB" in found.first.why
    assert report.tally.backends["numpy"].judged >= 4


@pytest.mark.skipif(not resident_bytes(), reason="this system does not tell what a process holds")
def test_a_worker_that_leaks_is_replaced_before_its_memory_grows(hostile: Callable[[str], str]) -> None:
    name, spec = hostile("leaks"), batch_norm_spec((2, 1), has_running=False, cotangent="sum")
    inputs = Inputs(
        x=np.ones((4, 2, 1), np.float32), gamma=np.ones((4, 1), np.float32), beta=np.ones((4, 1), np.float32)
    )
    with Pool(Limits(resident_bytes=GIB // 4)) as pool:
        outputs = [pool.run([name], spec, inputs)[name].outputs for _ in range(24)]
    counts = [int(found.y.max()) for found in outputs if found is not None and found.y is not None]
    assert len(counts) == 24
    # 16 MiB a call, 4 calls a block: at 256 MiB it is over after 4 blocks at the latest, and starts from nothing again.
    assert max(counts) <= 16
    assert counts.count(4) >= 6


def test_the_limit_of_memory_is_a_share_of_the_machines() -> None:
    assert 0 < Limits().memory_bytes < machine_bytes() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
