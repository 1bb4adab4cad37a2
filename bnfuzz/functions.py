"""Users' functions in stored cases: a case holds the file's name and the function's, and no folder."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bnfuzz.backends import registry
from bnfuzz.backends.target import parsed
from bnfuzz.casefile import CaseFile
from bnfuzz.signature import portable

PATTERNS = frozenset("*?[")


def recorded_functions(file: CaseFile) -> tuple[str, ...]:
    """The functions that the case records findings of, by name; none for a pattern of several."""
    names = [entry.backend for entry in file.expectations if not entry.ok and not PATTERNS & set(entry.backend)]
    names += [name for name, verdicts in file.verdicts.items() if any(verdict.is_finding for verdict in verdicts)]
    return tuple(name for name in dict.fromkeys(names) if name.startswith(registry.TARGET))


def left_out(file: CaseFile, taking_part: Collection[str]) -> tuple[str, ...]:
    """Those of them that are not among the backends that the case is run on."""
    there = {portable(name) for name in taking_part}
    return tuple(name for name in recorded_functions(file) if name not in there)


def not_here(name: str) -> str:
    """Why a recorded function cannot be loaded by its name alone, and the remedy; empty for all that can be tried."""
    if not name.startswith(registry.TARGET):
        return ""
    file, _, _ = parsed(name)
    return "" if Path(file).is_file() else f"{file} is not in this folder; say where it is: {with_folder(name)}"


def with_folder(name: str) -> str:
    """The option that names the function to any command, its folder left to be filled in."""
    return f"--backend {registry.TARGET}FOLDER/{name.removeprefix(registry.TARGET)}"
