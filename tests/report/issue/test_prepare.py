"""Reports: every kind of finding has a script that shows it, and what does not show is not called ready."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.errors import UsageError
from bnfuzz.report.issue.prepare import Issue, prepare
from bnfuzz.report.scripts.checks import SHOWS, SHOWS_NOT
from tests.report.faulty import case_of, entry_of, write_source


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("faulty")).parent


def report(pool: Pool, folder: Path, function: str, *entries: object, **options: object) -> Issue:
    given: dict[str, object] = {"others": (), "plot": False, **options}
    backend = f"target:{folder / 'mine.py'}:{function}"
    return prepare(pool, entries or [entry_of()], backend=backend, **given)  # type: ignore[arg-type]  # entries are


OFFSET = case_of([[10000.195, 1.0], [9999.581, 2.0], [10000.5, 4.0]])


@pytest.mark.parametrize(
    ("function", "findings", "title", "output"),
    [
        ("wrong", {}, r"wrong of mine\.py: y is \S+ where \S+ is exact \(training, float32\)", "WRONG"),
        ("not_a_number", {}, "y is NaN where", "observed nan"),
        ("doubled", {}, "y has dtype float64 where float32 is due", "float64, due (3, 2) float32 WRONG"),
        ("turned", {}, "y has shape", "due (3, 2) float32 WRONG"),
        ("raises", {}, "raises RuntimeError", "RuntimeError: no kernel for `this` | that"),
        ("writes", {}, "changed its argument gamma", "gamma: CHANGED by the call"),
        ("leaks", {"y": "leak"}, "y of one channel depends on the values of another", "y[0, 0] was"),
        ("wavers", {"y": "nondeterministic"}, "the same call twice gives different y", "y[0, 0] was"),
    ],
)
def test_each_kind_has_a_script_that_shows_it(
    pool: Pool, folder: Path, function: str, findings: dict[str, str], title: str, output: str
) -> None:
    issue = report(pool, folder, function, entry_of(**findings))
    assert issue.ready, issue.not_ready
    assert re.search(title, issue.title)
    assert output in issue.script_output
    assert issue.script_output.splitlines()[-1] == SHOWS
    assert issue.script_output in issue.markdown
    assert "exit code 1" in issue.markdown
    assert "NOT READY" not in issue.markdown
    assert str(folder) not in issue.markdown
    assert "import bnfuzz" not in issue.script


def test_the_claim_has_the_digits_of_the_table(pool: Pool, folder: Path) -> None:
    issue = report(pool, folder, "one_pass", entry_of(OFFSET))
    (row,) = re.findall(r"\| `y` \| `\[[0-9, ]+\]` \| `(\S+)` \| `(\S+)` \|", issue.markdown)
    (said,) = re.findall(r"= (\S+) where (\S+) is exact;", issue.markdown)
    assert said[::-1] == row


def test_a_dying_process_is_quoted(pool: Pool, folder: Path) -> None:
    issue = report(pool, folder, "dies")
    assert issue.ready, issue.not_ready
    assert "ends the process (killed by SIGABRT" in issue.title
    assert "it ended with killed by SIGABRT" in issue.markdown


def test_what_passes_is_not_ready(pool: Pool, folder: Path) -> None:
    issue = report(pool, folder, "right")
    assert not issue.ready
    assert "not reproduced" in issue.not_ready
    assert issue.script == ""
    assert "> **NOT READY**" in issue.markdown


def test_what_the_script_does_not_show_is_not_ready(pool: Pool, folder: Path) -> None:
    """The function is wrong in bnfuzz's own process only."""
    issue = report(pool, folder, "watched")
    assert not issue.ready
    assert "the script does not show the fault: exit code 0" in issue.not_ready
    assert issue.script_output.splitlines()[-1] == SHOWS_NOT


def test_another_fault_than_the_recorded_one_is_not_ready(pool: Pool, folder: Path) -> None:
    issue = report(pool, folder, "wrong")
    other = issue.signature.replace("/wrong/", "/nonfinite/")
    assert other != issue.signature
    again = report(pool, folder, "wrong", signature=other)
    assert not again.ready
    assert "not reproduced as recorded" in again.not_ready


def test_the_evidence_of_an_unstable_algorithm(pool: Pool, folder: Path) -> None:
    issue = report(pool, folder, "one_pass", entry_of(OFFSET), others=("numpy",), plot=True, image="ladder.svg")
    assert issue.ready, issue.not_ready
    for heading in (
        "To reproduce",
        "The input",
        "Observed and exact",
        "Why this is not rounding",
        "The cause",
        "Other implementations on the same input",
        "How ordinary this input is",
        "The error over growing offsets",
        "Versions and machine",
    ):
        assert issue.markdown.count(f"\n## {heading}\n") == 1, heading
    assert "one" in issue.markdown.split("## The cause")[1].split("##")[0]
    assert "| the textbook: two passes, pairwise sums |" in issue.markdown
    assert re.search(r"\| numpy [\d.]+ \|", issue.markdown)
    assert "![error of y over the condition number](<ladder.svg>)" in issue.markdown
    assert issue.plot is not None
    assert issue.ladder is not None
    slopes = [curve.slope for curve in issue.ladder.curves[:2]]
    assert slopes == pytest.approx([2, 1], abs=0.3)


def test_several_inputs_make_one_report(pool: Pool, folder: Path) -> None:
    entries = [entry_of(OFFSET), entry_of(case_of([[20000.5], [20000.25], [19999.0]]), name="b.json")]
    issue = report(pool, folder, "one_pass", *entries)
    assert issue.ready, issue.not_ready
    assert "def input_1():" in issue.script
    assert "def input_2():" in issue.script
    assert issue.script_output.splitlines().count(SHOWS) == 2
    assert "\nInput 2: " in issue.markdown
    assert all(entry.file.id in issue.markdown for entry in entries)


def test_one_input_of_several_that_passes_is_named(pool: Pool, folder: Path) -> None:
    entries = [entry_of(OFFSET), entry_of(case_of(), name="b.json")]
    issue = report(pool, folder, "one_pass", *entries)
    assert not issue.ready
    assert "not reproduced" in issue.not_ready


def test_a_step_that_fails_alone_is_reported_alone(pool: Pool, folder: Path) -> None:
    case = case_of([[[1.0, 3.0], [2.0, 5.0]], [[4.0, 1.0], [0.5, 2.0]]], steps=("training", "inference"))
    issue = report(pool, folder, "forgets", entry_of(case))
    assert issue.ready, issue.not_ready
    assert "step 2 of a sequence of 2, alone, from the state that the backend had left" in issue.markdown
    assert "training=False" in issue.script


def test_a_time_limit_leaves_out_and_says_so(pool: Pool, folder: Path) -> None:
    issue = report(pool, folder, "one_pass", entry_of(OFFSET), others=("numpy",), seconds=1)
    assert issue.ready, issue.not_ready
    assert "Left out for want of time: " in issue.markdown


def test_a_backend_that_cannot_be_told() -> None:
    with Pool() as unused, pytest.raises(UsageError, match="say which backend is meant"):
        prepare(unused, [entry_of()])
