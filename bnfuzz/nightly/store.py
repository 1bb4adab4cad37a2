"""The folder of the nights: what is carried from one to the next, and the files that a night writes.

state.json    nights and findings so far; appears whole or not at all, and only when a night is over
flight.json   of the night in flight; left behind where it was killed
cases/        one case file per finding
issues/       one text per finding, and its stand-alone script
planted/      the planted fault of the last night
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bnfuzz.casefile import CaseFile, dumps, read
from bnfuzz.casefile.atomic import locked, make_folder, remove_leftovers, write_atomic
from bnfuzz.casefile.exactjson import PlaceError, parse, render
from bnfuzz.corpus import file_stem
from bnfuzz.errors import CaseFileError, UsageError
from bnfuzz.night import Night, Tracked
from bnfuzz.nightly.tree import from_tree, to_tree

SCHEMA = 1
MAX_BYTES = 64 << 20
KEPT_NIGHTS = 1000
TEXTS = (".md", ".py", ".out", ".svg")

Record = TypeVar("Record")


@dataclass(frozen=True, kw_only=True)
class LastSeen:
    """The last night in which an entry of known.toml was seen."""

    signature: str
    night: int


@dataclass(frozen=True, kw_only=True)
class State:
    """What is carried from night to night. `replay_from`: the case that the next replay starts at."""

    nights: tuple[Night, ...] = ()
    findings: tuple[Tracked, ...] = ()
    known_seen: tuple[LastSeen, ...] = ()
    replay_from: str = ""

    @property
    def next_number(self) -> int:
        return self.nights[-1].number + 1 if self.nights else 1


@dataclass(frozen=True, kw_only=True)
class Flight:
    """The night in flight. `before`: signatures of the open cases that the corpus held when it began."""

    number: int
    seed: int
    started: str
    before: tuple[str, ...] = ()


class Store:
    """The folder `DIR` of `bnfuzz nightly --output DIR`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is no folder; give a folder for the nights with --output")
        for place in (folder, self.cases, self.issues):
            make_folder(place)

    @property
    def cases(self) -> Path:
        return self.folder / "cases"

    @property
    def issues(self) -> Path:
        return self.folder / "issues"

    @property
    def planted(self) -> Path:
        return self.folder / "planted"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One night at a time; raises UsageError where another is running in this folder."""
        with locked(self.folder / ".lock", patience=0.2) as held:
            if not held and _locks():
                raise UsageError(f"another night is running in {self.folder}; wait for it, or give another --output")
            remove_leftovers(self.folder)
            yield

    def load(self) -> State:
        """The stored state; raises UsageError where it cannot be read. It is never overwritten then."""
        return self._read("state.json", State) or State()

    def save(self, state: State) -> None:
        """Puts the state in place, and ends the flight."""
        self._write("state.json", state)
        self.end_flight()

    def end_flight(self) -> None:
        (self.folder / "flight.json").unlink(missing_ok=True)

    def flight(self) -> Flight | None:
        """What a night that was killed has left behind."""
        return self._read("flight.json", Flight)

    def take_off(self, flight: Flight) -> None:
        self._write("flight.json", flight)

    def keep_case(self, signature: str, file: CaseFile) -> str:
        """Stores the case of a finding, in place of an earlier one; the name of its file."""
        name = f"{stem_of(signature)}.json"
        write_atomic(self.cases / name, dumps(file))
        return name

    def case_of(self, row: Tracked) -> CaseFile | None:
        """The stored case of a finding; None where there is none that can be read."""
        if not row.case or Path(row.case).name != row.case:
            return None
        try:
            return read(self.cases / row.case)
        except CaseFileError:
            return None

    def tidy(self, rows: Iterable[Tracked]) -> None:
        """Removes cases and texts that belong to no finding any more."""
        kept = list(rows)
        cases = {row.case for row in kept}
        issues = {Path(row.issue).stem for row in kept if row.issue}
        for path in self.cases.glob("*.json"):
            if path.name not in cases:
                path.unlink(missing_ok=True)
        for path in self.issues.iterdir():
            if path.suffix in TEXTS and path.stem not in issues:
                path.unlink(missing_ok=True)

    def _read(self, name: str, kind: type[Record]) -> Record | None:
        path = self.folder / name
        try:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"{path} cannot be read ({error.strerror}); check its permissions") from None
        if len(data) > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES} bytes; move it away to begin anew")
        try:
            return from_tree(kind, _at_schema(parse(data.decode("utf-8"))))
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: byte {error.start} is no UTF-8; {_REMEDY}") from None
        except PlaceError as error:
            raise UsageError(f"{path}: {error}; {_REMEDY}") from None

    def _write(self, name: str, record: Any) -> None:
        write_atomic(self.folder / name, render({"schema": SCHEMA, **to_tree(record)}))


_REMEDY = "bring back a copy of it, or move it away to begin anew"


def _at_schema(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise PlaceError("$", "it must be one JSON object")
    tree = dict(document)
    number = tree.pop("schema", None)
    if number != SCHEMA:
        raise PlaceError("$.schema", f"{number!r} is not {SCHEMA}, the one that this version of bnfuzz reads")
    return tree


def stem_of(signature: str) -> str:
    """A file name for a signature: readable, and no other's."""
    digest = hashlib.sha256(signature.encode()).hexdigest()[:8]
    return f"{file_stem(signature.partition('/')[2])[:72]}-{digest}"


def _locks() -> bool:
    """Whether this system has locks: without them a lock that is not held says nothing."""
    try:
        import fcntl
    except ImportError:
        return False
    return bool(fcntl)
