"""pytest over a corpus: every stored case on every installed backend, one test each.

    pytest corpus/
    pytest "corpus/questions/offset.json::flax"
    pytest corpus/ --bnfuzz-backend jax --bnfuzz-backend target:mine.py:batch_norm

A known finding is a strict expected failure, as narrow as its record: exactly the recorded outputs fail, with the
recorded kinds. Where it passes, the test fails and says so: the fault is fixed.

Collected are *.json files below a folder with a known.toml, and case files elsewhere. Nothing of bnfuzz is imported
before the first of them; runs without any pay for a look at the names of their JSON files only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bnfuzz.casefile import CaseFile
    from bnfuzz.pytest_session import Session

HEAD = 4096
"""Bytes of a JSON file outside any corpus that are looked at before it is taken for foreign."""

MAX_BYTES = 64 << 20
"""Of a case file."""

_SESSION: pytest.StashKey[Session] = pytest.StashKey()
_SHOWN: pytest.StashKey[bool] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bnfuzz", "stored cases of bnfuzz")
    group.addoption(
        "--bnfuzz-backend",
        action="append",
        default=[],
        metavar="NAME",
        dest="bnfuzz_backends",
        help="Run stored cases on this backend only; may be repeated.",
    )


def session_of(config: pytest.Config) -> Session:
    """The backends and workers of this pytest run, made on first use."""
    if _SESSION not in config.stash:
        from bnfuzz.errors import BnfuzzError
        from bnfuzz.pytest_session import Session

        try:
            config.stash[_SESSION] = Session(config.getoption("bnfuzz_backends"))
        except BnfuzzError as error:
            raise pytest.UsageError(f"--bnfuzz-backend: {error}") from None
    return config.stash[_SESSION]


def pytest_unconfigure(config: pytest.Config) -> None:
    if _SESSION in config.stash:
        config.stash[_SESSION].close()
        del config.stash[_SESSION]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Which backends take part and why the others do not, where a corpus is in sight."""
    if not config.getoption("bnfuzz_backends") and not any(_holds_corpus(config, given) for given in config.args):
        return []
    config.stash[_SHOWN] = True
    return session_of(config).lines()


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """The same, where cases turned up that nothing had announced."""
    if config.stash.get(_SHOWN, False) or not any(isinstance(item, CaseItem | UnrunItem) for item in items):
        return []
    return session_of(config).lines()


def _holds_corpus(config: pytest.Config, given: str) -> bool:
    path = Path(config.invocation_params.dir, given.partition("::")[0])
    return in_corpus(path / "any") or any(path.glob("*/known.toml"))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".json" or file_path.name.startswith(".") or not file_path.is_file():
        return None
    if not in_corpus(file_path) and not looks_like_case(file_path):
        return None
    return CaseCollector.from_parent(parent, path=file_path)


def in_corpus(path: Path) -> bool:
    """Whether a folder above the path holds a known.toml."""
    return any((folder / "known.toml").is_file() for folder in path.parents)


def looks_like_case(path: Path) -> bool:
    """Whether the file is JSON of the structure of a case file; foreign files are told by their first bytes."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
        if not head.lstrip().startswith(b"{") or (b'"schema"' not in head and b'"case"' not in head):
            return False
        if path.stat().st_size > MAX_BYTES:
            return False
        import json

        tree = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    case = tree.get("case")
    return isinstance(tree.get("schema"), int) and isinstance(case, dict) and {"spec", "inputs"} <= case.keys()


class CaseCollector(pytest.File):
    """One case file: an item per backend, or one that fails where the file cannot be read.

    A user's function that the file records a finding of, and that nobody asked for, is skipped with a hint.
    """

    def collect(self) -> Iterator[pytest.Item]:
        from bnfuzz.casefile import read
        from bnfuzz.errors import CaseFileError

        session = session_of(self.config)
        try:
            file = read(self.path)
        except CaseFileError as error:
            yield UnreadableItem.from_parent(self, name="unreadable", message=str(error))
            return
        for backend in session.roster.names:
            yield CaseItem.from_parent(self, name=backend, file=file)
        if not self.config.getoption("bnfuzz_backends"):
            from bnfuzz.functions import left_out, with_folder

            for function in left_out(file, session.roster.names):
                option = with_folder(function).replace("--backend", "--bnfuzz-backend")
                yield UnrunItem.from_parent(self, name=function, reason=f"a finding is recorded; to run it: {option}")


class Failure(Exception):
    """What is printed for a failing case, without a traceback."""


class _Item(pytest.Item):
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from bnfuzz.errors import BnfuzzError

        if isinstance(excinfo.value, Failure | BnfuzzError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        # pytest would rewrite the dots of a text that ends the node id.
        return self.path, None, f"{self.path.name} on {self.name}"


class CaseItem(_Item):
    """One stored case on one backend."""

    def __init__(self, *, file: CaseFile, **others: Any) -> None:
        super().__init__(**others)
        self.file = file

    def runtest(self) -> None:
        session = session_of(self.config)
        outcome = session.run(self.path, self.file, self.name)
        if outcome.standing in ("unsupported", "undecided"):
            pytest.skip(f"{outcome.title}: {outcome.reason}")
        if outcome.standing == "known":
            # With --runxfail this does nothing, and the failure below is shown.
            pytest.xfail(f"{outcome.reason} {outcome.link}".rstrip())
        if outcome.standing != "ok":
            raise Failure(session.text(self.path, self.file, outcome))


class UnrunItem(_Item):
    """A recorded function of a user's own: the case does not say in which folder it is."""

    def __init__(self, *, reason: str, **others: Any) -> None:
        super().__init__(**others)
        self.reason = reason

    def runtest(self) -> None:
        pytest.skip(self.reason)


class UnreadableItem(_Item):
    """A case file that cannot be read: fails with the file, the place in it and the remedy."""

    def __init__(self, *, message: str, **others: Any) -> None:
        super().__init__(**others)
        self.message = message

    def runtest(self) -> None:
        raise Failure(self.message)
