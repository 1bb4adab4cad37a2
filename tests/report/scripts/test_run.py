"""Scripts in a fresh interpreter: how they end, and that a harmless one is never taken for a fault."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bnfuzz.backends import environments
from bnfuzz.conventions import Conventions
from bnfuzz.report.scripts.block import Part
from bnfuzz.report.scripts.checks import NOTHING_SAID, SHOWS, Check, Dies, Expected, Hangs, Raises, Values
from bnfuzz.report.scripts.run import ScriptRun, run_script
from bnfuzz.report.scripts.script import Around, script_text
from bnfuzz.report.scripts.writers import writer_of
from tests.report.faulty import case_of, write_source

MAIN = environments.locate("main")
OFFSET = case_of([[10000.195], [9999.581]])
VALUES = Values(outputs={"y": (Expected(index=(0, 0), exact=3.0, bound=0.1),)})


def script(folder: Path, function: str, check: Check) -> str:
    path = write_source(folder)
    writer = writer_of(f"target:{path}:{function}")
    return script_text(
        writer, Conventions(source="a test"), [Part(case=OFFSET, check=check)], Around(title="t", needs="n")
    )


def run(folder: Path, text: str, seconds: float = 60) -> ScriptRun:
    return run_script(text, MAIN, seconds=seconds, folder=folder)


def test_a_fault_shows_and_a_harmless_input_does_not(tmp_path: Path) -> None:
    text = script(tmp_path, "one_pass", VALUES)
    assert run(tmp_path, text).shows(VALUES)
    tampered = text.replace("10000.195", "0.307").replace("9999.581", "-0.307")
    assert tampered != text
    harmless = run(tmp_path, tampered)
    assert harmless.code == 0
    assert not harmless.shows(VALUES)


def test_a_script_that_breaks_shows_nothing(tmp_path: Path) -> None:
    text = script(tmp_path, "one_pass", VALUES).replace("import numpy as np", "import numpy_of_old as np")
    broken = run(tmp_path, text)
    assert broken.code == NOTHING_SAID
    assert not broken.shows(VALUES)
    assert broken.last_words == "ModuleNotFoundError: No module named 'numpy_of_old'"


@pytest.mark.parametrize("check", [VALUES, Raises(exception="RuntimeError"), Dies(), Hangs(seconds=60)], ids=repr)
def test_a_function_that_is_missing_is_neither_the_fault_nor_its_absence(tmp_path: Path, check: Check) -> None:
    """A bisection over the function's history skips what cannot be asked."""
    text = script(tmp_path, "one_pass", check)
    (tmp_path / "mine.py").write_text("raise RuntimeError('it does not get so far')")
    broken = run(tmp_path, text)
    assert broken.code == NOTHING_SAID
    assert not broken.shows(check)


def test_a_script_takes_the_folder_of_the_function_as_its_argument(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere" / "script.py"
    path.parent.mkdir()
    for name in ("mine.py", "my-file.py"):
        source = write_source(tmp_path, name)
        writer = writer_of(f"target:{source}:one_pass")
        around = Around(title="t", needs="n", beside=name)
        path.write_text(script_text(writer, Conventions(source="a test"), [Part(case=OFFSET, check=VALUES)], around))
        assert f"Run it in the folder of {name}, or give it that folder as its argument." in path.read_text()
        given, not_given = (
            subprocess.run([MAIN.python, path, *more], cwd="/", capture_output=True, text=True, check=False)
            for more in ([str(tmp_path)], [])
        )
        assert given.returncode == 1, given.stderr
        assert given.stdout.splitlines()[-1] == SHOWS
        assert not_given.returncode == NOTHING_SAID


def test_this_project_cannot_be_imported() -> None:
    found = run_script("import bnfuzz", MAIN, seconds=60)
    assert found.code == 1
    assert "ModuleNotFoundError" in found.errors


def test_exceptions_of_another_type_are_not_the_fault(tmp_path: Path) -> None:
    text = script(tmp_path, "raises", Raises(exception="RuntimeError"))
    assert run(tmp_path, text).shows(Raises(exception="RuntimeError"))
    other = script(tmp_path, "raises", Raises(exception="ValueError"))
    raised = run(tmp_path, other)
    assert not raised.shows(Raises(exception="ValueError"))
    assert raised.code == NOTHING_SAID


def test_a_call_that_does_not_return(tmp_path: Path) -> None:
    check = Hangs(seconds=1)
    hung = run(tmp_path, script(tmp_path, "stays", check))
    assert hung.shows(check)
    assert not run(tmp_path, script(tmp_path, "right", check)).shows(check)


def test_a_script_is_stopped_at_its_deadline(tmp_path: Path) -> None:
    stopped = run(tmp_path, script(tmp_path, "stays", VALUES), seconds=0.5)
    assert stopped.code is None
    assert stopped.ended == "stopped at its deadline"
    assert not any(stopped.shows(check) for check in (VALUES, Dies(), Hangs(seconds=1)))


@pytest.mark.parametrize(
    ("code", "dies"), [(-11, True), (3, True), (0, False), (1, False), (125, False), (None, False)]
)
def test_a_death_is_a_signal_or_an_exit_code_of_its_own(code: int | None, dies: bool) -> None:
    """Exit code 1 is what an exception gives, 125 where the script has set its hook."""
    assert ScriptRun(code=code, output="", errors="").shows(Dies()) is dies


@pytest.mark.parametrize("name", ["mine", "numpy", "my-file", "random", "class"])
def test_a_file_of_any_name_can_be_imported(tmp_path: Path, name: str) -> None:
    path = write_source(tmp_path, f"{name}.py")
    writer = writer_of(f"target:{path}:one_pass")
    around = Around(title="t", needs="n")
    text = script_text(writer, Conventions(source="a test"), [Part(case=OFFSET, check=VALUES)], around)
    assert ("from mine import one_pass" in text) == (name == "mine")
    assert (f"run_path(folder + {f'/{name}.py'!r})" in text) == (name != "mine")
    assert str(tmp_path) not in text
    assert run(tmp_path, text).shows(VALUES)
