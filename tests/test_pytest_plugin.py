"""The pytest plugin: what is collected, and how narrow an expected failure is."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# pytester forgets what an inner run imports; NumPy cannot be imported twice.
import bnfuzz.pytest_session
from bnfuzz.case import Case

Write = Callable[..., Path]
Run = Callable[..., pytest.RunResult]

INSTALLED = bool(importlib.metadata.entry_points(group="pytest11", name="bnfuzz"))
PLUGIN = [] if INSTALLED else ["-p", "bnfuzz.pytest_plugin"]


@pytest.fixture
def run(pytester: pytest.Pytester, tmp_path: Path, implementations: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest in the folder of the implementations: run("right", "corpus", *others)."""

    def runner(function: str | None, *arguments: str) -> pytest.RunResult:
        monkeypatch.chdir(tmp_path)
        backend = ["--bnfuzz-backend", f"target:mine.py:{function}"] if function else []
        return pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider", *backend, *arguments)

    return runner


def test_right_implementation_passes(run: Run, write_case: Write) -> None:
    write_case("a.json")
    result = run("right", "corpus", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["bnfuzz backends: target:mine.py:right", "*a.json::target:mine.py:right PASSED*"])


def test_failure_without_a_record_is_told_on_one_screen(run: Run, write_case: Write) -> None:
    write_case("a.json")
    result = run("wrong_y", "corpus")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*target:mine.py:wrong_y *: y wrong", "*exact*observed*bound*", "*y *wrong*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    # pytest's short summary repeats the whole text where it finds itself in continuous integration.
    summary = next(number for number, line in enumerate(result.outlines) if "short test summary" in line)
    assert summary < 48


def test_known_finding_is_an_expected_failure_with_its_link(run: Run, write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"})
    result = run("wrong_y", "corpus", "-rx")
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["XFAIL*planted https://example.org/7"])


def test_removing_the_record_of_a_known_finding_turns_it_red(run: Run, write_case: Write) -> None:
    path = write_case("a.json", expect={"y": "wrong"})
    tree = json.loads(path.read_text())
    del tree["expectations"]
    path.write_text(json.dumps(tree))
    run("wrong_y", "corpus").assert_outcomes(failed=1)
    note_known(path.parent, "y")
    run("wrong_y", "corpus").assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("function", "expect"),
    [
        ("wrong_y", {"y": "unstable"}),
        ("wrong_y", {"y": "wrong", "new_running_var": "wrong"}),
        ("wrong_y", {"new_running_var": "wrong"}),
        ("wrong_y_and_var", {"y": "wrong"}),
        ("raises", {"y": "wrong"}),
    ],
    ids=["other kind", "fewer outputs", "another output", "more outputs", "an exception"],
)
def test_any_other_failure_than_the_recorded_one_fails(
    run: Run, write_case: Write, function: str, expect: dict[str, str]
) -> None:
    write_case("a.json", expect=expect)
    result = run(function, "corpus")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*(recorded: *)"])


def test_a_recorded_function_is_skipped_with_a_hint_unless_backends_are_named(run: Run, write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"}, backend="target:mine.py:wrong_y")
    everything = run(None, "corpus", "-rs", "-k", "wrong_y")
    assert everything.parseoutcomes()["skipped"] == 1
    everything.stdout.fnmatch_lines(["SKIPPED*to run it: --bnfuzz-backend target:FOLDER/mine.py:wrong_y"])
    run("wrong_y", "corpus").assert_outcomes(xfailed=1)
    run("right", "corpus").assert_outcomes(passed=1)


def test_record_of_an_exception(run: Run, write_case: Write) -> None:
    write_case("a.json", expect={"call": "error"})
    run("raises", "corpus").assert_outcomes(xfailed=1)


def test_exception_is_told_with_its_last_lines(run: Run, write_case: Write) -> None:
    write_case("a.json")
    run("raises", "corpus").stdout.fnmatch_lines(["*call: error*no kernel for this*"])


def test_passing_although_a_finding_is_recorded_fails(run: Run, write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"})
    result = run("right", "corpus")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["?XPASS(strict)?*passes a.json*recorded: y wrong*", '*"state": "fixed"*'])


@pytest.mark.parametrize(
    ("recorded", "function", "outcome"),
    [
        (("fixed", ""), "right", "passed"),
        (("fixed", ""), "wrong_y", "failed"),
        (("fixed", ">0"), "wrong_y", "xfailed"),
        (("flaky", ""), "right", "passed"),
        (("flaky", ""), "wrong_y", "xfailed"),
        (("flaky", ""), "wrong_y_and_var", "failed"),
        (("open", "<0.1"), "wrong_y", "failed"),
        (("open", "<0.1"), "right", "passed"),
        (("open", ">0"), "wrong_y", "xfailed"),
    ],
)
def test_states_and_version_ranges(
    run: Run, write_case: Write, recorded: tuple[str, str], function: str, outcome: str
) -> None:
    state, versions = recorded
    write_case("a.json", expect={"y": "wrong"}, state=state, versions=versions)
    run(function, "corpus").assert_outcomes(**{outcome: 1})


def test_record_for_another_backend_excuses_nothing(run: Run, write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"}, backend="flax")
    run("wrong_y", "corpus").assert_outcomes(failed=1)


def test_record_that_it_passes(run: Run, write_case: Write) -> None:
    write_case("a.json", expect={})
    run("right", "corpus").assert_outcomes(passed=1)
    run("wrong_y", "corpus").assert_outcomes(failed=1)


def note_known(corpus: Path, *outputs: str) -> None:
    entries = [f'[[finding]]\nsignature = "v1/target:*/*/{output}/wrong/*"\nreason = "listed"\n' for output in outputs]
    (corpus / "known.toml").write_text("\n".join(entries))


def test_known_toml_excuses_a_failure_only_where_it_lists_every_output(run: Run, write_case: Write) -> None:
    corpus = write_case("a.json", state="seed").parent
    note_known(corpus, "y")
    run("wrong_y", "corpus").assert_outcomes(xfailed=1)
    run("wrong_y_and_var", "corpus").assert_outcomes(failed=1)
    run("right", "corpus").assert_outcomes(passed=1)
    note_known(corpus, "y", "new_running_var")
    run("wrong_y_and_var", "corpus").assert_outcomes(xfailed=1)


def test_broken_known_toml_is_named(run: Run, write_case: Write) -> None:
    corpus = write_case("a.json").parent
    (corpus / "known.toml").write_text("finding = 3")
    result = run("wrong_y", "corpus")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*known.toml: finding is one table*"])


def test_unreadable_file_fails_alone(run: Run, write_case: Write) -> None:
    write_case("a.json")
    write_case("bad.json").write_text("{")
    result = run("right", "corpus")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*bad.json: at line 1 column 2:*must be one JSON object"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_foreign_json_is_left_alone(run: Run, write_case: Write, tmp_path: Path) -> None:
    folder = write_case("a.json", folder="elsewhere").parent
    (folder / "package.json").write_text('{"name": "case", "version": "1"}')
    (folder / "schema.json").write_text('{"schema": 1, "case": "lower"}')
    (folder / "list.json").write_text("[1, 2]")
    (folder / "broken.json").write_text('{"schema": 1, "case"')
    (folder / "empty.json").write_text("")
    result = run("right", "elsewhere")
    result.assert_outcomes(passed=1)


def test_one_test_by_node_id_and_by_keyword(run: Run, write_case: Write) -> None:
    write_case("a.json")
    write_case("b.json")
    run(None, "corpus/b.json::numpy").assert_outcomes(passed=1)
    run("right", "corpus", "-k", "b.json").assert_outcomes(passed=1, deselected=1)


def test_what_a_backend_cannot_express_is_skipped_with_the_reason(
    run: Run, write_case: Write, plain_case: Callable[..., Case]
) -> None:
    write_case("a.json")
    write_case("b.json", case=plain_case([1.0, 2.0], channel_axis=0))
    result = run("right", "corpus", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*target:mine.py:right*rank 1 is outside*"])


def test_vacuous_case_is_skipped_rather_than_passed(
    run: Run, write_case: Write, plain_case: Callable[..., Case]
) -> None:
    write_case("a.json", case=plain_case([[float("nan")], [1.0]]))
    result = run("right", "corpus", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*vacuous*"])


def test_runxfail_shows_the_failure(run: Run, write_case: Write) -> None:
    write_case("a.json", expect={"y": "wrong"})
    result = run("wrong_y", "corpus", "--runxfail")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*y *wrong*"])


def test_unknown_backend_is_a_usage_error(run: Run, write_case: Write) -> None:
    write_case("a.json")
    result = run(None, "corpus", "--bnfuzz-backend", "nix")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--bnfuzz-backend: backend 'nix' is unknown; use one of numpy, *"])


def test_header_names_absent_backends_with_the_reason(
    run: Run, write_case: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BNFUZZ_ENVIRONMENTS", "/nowhere")
    write_case("a.json")
    result = run(None, "corpus", "--collect-only")
    result.stdout.fnmatch_lines(["bnfuzz backends: numpy, *", "  without mxnet, *: *bnfuzz backends install mxnet"])


def test_header_where_the_corpus_is_found_late(run: Run, write_case: Write, tmp_path: Path) -> None:
    write_case("a.json")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "corpus").rename(tmp_path / "deep" / "er" / "corpus")
    run(None, "deep", "--collect-only").stdout.fnmatch_lines(["bnfuzz backends: numpy, *"])


def test_other_runs_hear_nothing_of_bnfuzz(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    result = run(None, "test_it.py")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*bnfuzz backends*")


def test_workers_end_with_the_run(run: Run, write_case: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    real = bnfuzz.pytest_session.Session.close
    monkeypatch.setattr(bnfuzz.pytest_session.Session, "close", lambda self: (closed.append(self), real(self)))
    write_case("a.json")
    write_case("b.json")
    run("right", "corpus").assert_outcomes(passed=2)
    assert len(closed) == 1


def test_plain_runs_import_next_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    assert not {'numpy', 'bnfuzz.case', 'bnfuzz.pytest_session'} & sys.modules.keys()\n"
    )
    (tmp_path / "data.json").write_text("{}")
    command = [sys.executable, "-m", "pytest", "-q", *PLUGIN, "-p", "no:hypothesispytest", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not INSTALLED, reason="the plugin is not installed here, only on the path")
def test_switched_off(run: Run, write_case: Write) -> None:
    write_case("a.json")
    assert run(None, "-p", "no:bnfuzz", "corpus").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_side_by_side_with_xdist(run: Run, write_case: Write) -> None:
    for name in ("a.json", "b.json", "c.json"):
        write_case(name)
    run("right", "corpus", "-n", "2").assert_outcomes(passed=3)
