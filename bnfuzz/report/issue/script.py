"""The script of a report: the simplest one that shows the fault when it is run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bnfuzz.backends import environments, registry
from bnfuzz.backends.client import worker_variables
from bnfuzz.backends.pool import Pool
from bnfuzz.backends.target import parsed
from bnfuzz.report.clock import Clock
from bnfuzz.report.scripts.block import Part
from bnfuzz.report.scripts.run import ScriptRun, run_script
from bnfuzz.report.scripts.script import Around, script_text
from bnfuzz.report.scripts.writers import Writer

SCRIPT_SECONDS = 300.0
"""Longest run of a script, frameworks' imports and compilation included."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "MXNET_ENGINE_TYPE", "XLA_FLAGS")
"""Variables of a worker that decide how a result is rounded: put into a script that needs them."""


def shown_script(
    pool: Pool, backend: str, writer: Writer, parts: Sequence[Part], title: str, clock: Clock
) -> tuple[str, ScriptRun | None]:
    """The simplest script that shows the fault, else the last one tried; nothing where there is nothing to show."""
    if not parts:
        return "", None
    folder = Path(parsed(backend)[0]).absolute().parent if backend.startswith(registry.TARGET) else None
    environment = environments.locate(pool.backend(backend).environment)
    tried: set[str] = set()
    text, run = "", None
    for around, everything in _attempts(pool, backend, title):
        text = script_text(writer, pool.conventions(backend), parts, around, everything=everything)
        if text in tried:
            continue
        tried.add(text)
        run = run_script(text, environment, seconds=clock.left(SCRIPT_SECONDS), folder=folder)
        if run.shows(parts[0].check, len(parts)):
            break
    return text, run


def _attempts(pool: Pool, backend: str, title: str) -> Iterator[tuple[Around, bool]]:
    """What is looked at alone; then with everything that a campaign computes; then with its environment variables."""
    adapter = pool.backend(backend)
    packages = [package for package in adapter.packages if package != "jaxlib"]
    own = Path(parsed(backend)[0]).name if backend.startswith(registry.TARGET) else ""
    words = ["NumPy", *packages, *filter(None, (own,))]
    needs = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    versions = pool.versions(backend)
    plain = Around(title=title, needs=needs, beside=own, versions=versions)
    yield plain, False
    yield plain, True
    every = worker_variables(os.environ, x64=False)
    wanted = {name: every[name] for name in THREAD_VARIABLES if (name == "XLA_FLAGS") == ("jax" in packages)}
    yield replace(plain, variables=wanted), True
