"""A script run as its reader will run it: in a fresh interpreter of the framework's environment, without bnfuzz."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bnfuzz.backends.client import how_ended
from bnfuzz.backends.environments import Environment
from bnfuzz.errors import InfrastructureError, printable
from bnfuzz.report.scripts.checks import NOTHING_SAID, SHOWS, Check, Dies, Hangs

WITHOUT_BNFUZZ = (
    "import runpy, sys; sys.modules['bnfuzz'] = None; sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Runs its first argument as a script that cannot import this project, wherever that is installed."""

LAST_BYTES = 1 << 18
"""Of what a script prints, so much is kept: the end."""


EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt)\b")
"""How the line begins that ends a traceback; a framework may add remarks below it."""


@dataclass(frozen=True, kw_only=True)
class ScriptRun:
    """How a script ended.

    code     exit code, negative the signal that killed it, None where it was stopped at its deadline
    output   what it printed to stdout
    errors   the end of its stderr
    """

    code: int | None
    output: str
    errors: str

    @property
    def ended(self) -> str:
        """In words: `exit code 1`, `killed by SIGSEGV`."""
        if self.code is None:
            return "stopped at its deadline"
        return f"exit code {self.code}" if self.code >= 0 else how_ended(self.code)

    def shows(self, check: Check, inputs: int = 1) -> bool:
        """Whether it ended as the fault makes it end, with every one of its inputs."""
        if isinstance(check, Dies):
            return self.code not in (None, 0, 1, NOTHING_SAID)
        if isinstance(check, Hangs):
            return self.code == 1 and "Timeout (" in self.errors
        lines = self.output.splitlines()
        return self.code == 1 and lines.count(SHOWS) == inputs

    @property
    def last_words(self) -> str:
        """Why it failed otherwise: the last line that names an exception, else the last one that it printed."""
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        named = [line for line in lines if EXCEPTION.match(line)]
        return [*lines, *named][-1] if lines else "it printed nothing"


def run_script(text: str, environment: Environment, *, seconds: float, folder: Path | None = None) -> ScriptRun:
    """Runs the script for at most so many seconds; `folder` is where it stands (a file of the user's is there).

    -I keeps variables and folders of the caller's out; a target's folder is put on the path by its script.
    Raises InfrastructureError where the interpreter cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="bnfuzz-script-") as place:
        path = Path(place) / "script.py"
        path.write_text(text, encoding="utf-8")
        command = [str(environment.python), "-I", "-B", "-c", WITHOUT_BNFUZZ, str(path)]
        try:
            process = subprocess.Popen(
                command,
                cwd=folder or place,
                env={**os.environ, "PYTHONFAULTHANDLER": "0"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise InfrastructureError(
                f"{environment.python} cannot be started ({error.strerror}); see `bnfuzz backends`"
            ) from None
        try:
            output, errors = process.communicate(timeout=max(seconds, 0.1))
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            # Its whole session: a framework may have started helpers that keep the pipes open.
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            code = None
    return ScriptRun(code=code, output=_kept(output, place), errors=_kept(errors, place))


def _kept(data: bytes, place: str) -> str:
    text = data.decode("utf-8", errors="replace")[-LAST_BYTES:]
    return printable(text.replace(f"{place}{os.sep}", "")).rstrip()
