"""Where each environment's Python is, and how an isolated one is made.

`main` is the running interpreter. The others are virtual environments in the user's cache folder (or in
the folder that the variable BNFUZZ_ENVIRONMENTS names), each made by `install` from a pinned list.
A marker file, written last, says that one is complete and from which list it was made.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bnfuzz.backends.base import Backend
from bnfuzz.errors import InfrastructureError, UsageError

OVERRIDE = "BNFUZZ_ENVIRONMENTS"
MARKER = "bnfuzz-environment.json"
ISOLATED = ("mxnet", "torch")
VERSIONED = ("mxnet", "torch", "jax", "flax")
LAST_LINES = 15


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A Python to run workers with; `isolated` when it is not the running one."""

    name: str
    python: Path
    isolated: bool


def root() -> Path:
    """The folder of the isolated environments."""
    override = os.environ.get(OVERRIDE)
    if override:
        return Path(override).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("bnfuzz") / "environments"


def requirements(name: str) -> tuple[str, ...]:
    """What is installed in the environment `name` (`mxnet`, `torch`, or `NAME@VERSION` of those, jax and flax).

    Raises UsageError for other names and InfrastructureError where this Python is too new for it.
    """
    framework, _, version = name.partition("@")
    if framework not in (VERSIONED if version else ISOLATED):
        raise UsageError(
            f"environment {name!r} is unknown; use one of {', '.join(ISOLATED)}, "
            f"or {', '.join(f'{other}@VERSION' for other in VERSIONED)}"
        )
    if framework == "mxnet":
        return (f"mxnet=={version or '1.9.1'}", f"numpy=={_numpy_for_mxnet()}")
    if framework == "torch":
        return (f"torch=={version or '2.13.0'}", "numpy")
    return (f"{framework}=={version}", *(("flax",) if framework == "jax" else ("jax",)), "numpy")


def _numpy_for_mxnet() -> str:
    # MXNet 1.9.1 is retired: it wants names that NumPy 1.24 removed, and 1.26 is the last NumPy 1.
    if sys.version_info < (3, 12):
        return "1.23.5"
    if sys.version_info < (3, 13):
        return "1.26.4"
    raise InfrastructureError(
        f"MXNet runs on Python 3.11 and 3.12, this is {sys.version.split()[0]}; run bnfuzz with one of those"
    )


def locate(name: str) -> Environment:
    """The environment `name`; raises InfrastructureError with the remedy where it is not installed."""
    if name == "main" or (name == "torch" and not _complete(name) and _importable("torch")):
        return Environment(name="main", python=Path(sys.executable), isolated=False)
    if not _complete(name):
        raise InfrastructureError(
            f"environment {name} is not installed in {root()}; install it with: bnfuzz backends install {name}"
        )
    return Environment(name=name, python=_python(root() / name), isolated=True)


def absence(backend: Backend) -> str | None:
    """Why the backend cannot run here and what to do about it, or None. Imports no framework."""
    try:
        environment = locate(backend.environment)
    except (InfrastructureError, UsageError) as error:
        return str(error)
    missing = [package for package in backend.packages if not _importable(package)]
    if not environment.isolated and missing:
        return f"{', '.join(missing)} cannot be imported here; install with: pip install {backend.framework}"
    return None


def install(name: str, progress: Callable[[str], None] = lambda line: None) -> Environment:
    """Makes the environment `name` unless it is complete already; `progress` gets a line per step.

    Raises UsageError for an unknown name, InfrastructureError with pip's last lines where it fails. Two
    processes that ask at once make it once.
    """
    wanted = requirements(name)
    folder = root() / name
    if OVERRIDE in os.environ:
        progress(f"environments are in {root()} ({OVERRIDE})")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InfrastructureError(
            f"{folder.parent} cannot be made ({error}); set {OVERRIDE} to a folder that can"
        ) from error
    with _locked(folder.with_name(f"{name}.lock"), progress):
        if _complete(name):
            progress(f"{name}: already in {folder}")
            return locate(name)
        if folder.exists():
            progress(f"{name}: removing what an interrupted or older installation left in {folder}")
            shutil.rmtree(folder)
        progress(f"{name}: making a virtual environment in {folder}")
        _run([sys.executable, "-m", "venv", str(folder)], name)
        progress(f"{name}: installing {' '.join(wanted)}")
        pip = [str(_python(folder)), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        _run([*pip, *wanted], name)
        _write_marker(folder, wanted)
        progress(f"{name}: ready")
    return locate(name)


def _importable(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _complete(name: str) -> bool:
    """The marker is there and of the list that is wanted now."""
    try:
        marker = json.loads((root() / name / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(marker == _marker(requirements(name)))


def _marker(wanted: tuple[str, ...]) -> dict[str, object]:
    return {"requirements": list(wanted), "python": f"{sys.version_info.major}.{sys.version_info.minor}"}


def _write_marker(folder: Path, wanted: tuple[str, ...]) -> None:
    partial = folder / f"{MARKER}.partial"
    partial.write_text(json.dumps(_marker(wanted)) + "\n", encoding="utf-8")
    partial.replace(folder / MARKER)


def _run(command: list[str], name: str) -> None:
    # PYTHONPATH would let the caller's packages into the environment.
    outside = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, env=outside, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-LAST_LINES:])
        raise InfrastructureError(
            f"environment {name} cannot be made: {' '.join(command[1:4])} failed with exit code "
            f"{done.returncode}; its last lines:\n{last}\nRun the command again once that is mended."
        )


@contextmanager
def _locked(path: Path, progress: Callable[[str], None]) -> Iterator[None]:
    import fcntl

    with path.open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"waiting for another process that holds {path}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
