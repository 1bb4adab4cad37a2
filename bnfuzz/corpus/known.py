"""Known findings: the list in known.toml of what is accepted (known, still shown) or ignored (not even shown).

    [[finding]]
    signature = "v1/flax/batch_norm/*/y/*/offset"
    versions = "<0.13"
    link = "https://github.com/google/flax/issues/0"
    reason = "the default fast variance is a one-pass formula"
    status = "accepted"

`signature` is a signature or a pattern with `*` and `?`; `backend` (default `*`) and `versions` (default: every
version) narrow it down.
"""

from __future__ import annotations

import fnmatch
import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from bnfuzz.casefile import versions
from bnfuzz.casefile.atomic import locked, make_folder, write_atomic
from bnfuzz.errors import UsageError
from bnfuzz.signature import backend_of

MAX_BYTES = 1 << 20
MAX_LINE = 8_000
"""Characters of one line: the time to read a dotted key grows with the square of its length."""

MAX_TEXT = 2_000
"""Characters of one field: even with every character escaped it fits on a line."""

Status = Literal["accepted", "ignored"]


@dataclass(frozen=True, kw_only=True)
class KnownFinding:
    """One entry: which signatures, of which backends and versions, why, and where that is written down."""

    signature: str
    reason: str
    backend: str = "*"
    versions: str = ""
    link: str = ""
    status: Status = "accepted"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str):
                raise UsageError(f"{field.name}={value!r} is no text; put it in quotes")
            if len(value) > MAX_TEXT:
                raise UsageError(f"{field.name} has {len(value)} characters; the limit is {MAX_TEXT}: shorten it")
            if any(ord(char) < 32 or ord(char) == 127 for char in value):
                raise UsageError(f"{field.name}={value!r} has control characters; write it on one line")
        if not re.match(r"v\d+/[^/]", self.signature):
            rule = "it must start with its recipe version and a backend, as in v1/flax/batch_norm/*"
            raise UsageError(f"signature={self.signature!r} is no signature: {rule}")
        if not self.reason.strip():
            raise UsageError("reason is empty; say why the finding is known")
        if self.status not in get_args(Status):
            raise UsageError(f"status={self.status!r} is not known; use one of {', '.join(get_args(Status))}")
        if self.link and not self.link.startswith(("https://", "http://")):
            raise UsageError(f"link={self.link!r} is no address; start it with https://")
        if not self.backend:
            raise UsageError("backend is empty; name one, use a pattern such as jax*, or leave it out")
        named = backend_of(self.signature)
        if not re.search(r"[*?\[]", self.signature) and not fnmatch.fnmatchcase(named, self.backend):
            raise UsageError(f"backend={self.backend!r} never fits the signature's backend {named!r}; make them agree")
        versions.check_range(self.versions)

    def matches(self, signature: str, version: str | None = None) -> bool:
        """Whether the entry speaks of this signature, at this version of its backend (None: any)."""
        return (
            (signature == self.signature or fnmatch.fnmatchcase(signature, self.signature))
            and fnmatch.fnmatchcase(backend_of(signature), self.backend)
            and versions.within(version, self.versions)
        )


def find(entries: tuple[KnownFinding, ...], signature: str, version: str | None = None) -> KnownFinding | None:
    """The first entry that speaks of the signature at this version."""
    return next((entry for entry in entries if entry.matches(signature, version)), None)


def read(path: str | Path) -> tuple[KnownFinding, ...]:
    """The entries of a known.toml; none where there is no file. Raises UsageError with file, entry and field."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); check its permissions") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES} bytes, the limit; use patterns instead of long lists")
    try:
        return loads(data.decode("utf-8"), path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is no UTF-8; save the file as UTF-8") from None


def loads(text: str, where: str | Path) -> tuple[KnownFinding, ...]:
    """The entries of a text; `where` names it in errors."""
    longest = max(enumerate(map(len, text.splitlines()), start=1), key=lambda line: line[1], default=(0, 0))
    if longest[1] > MAX_LINE:
        problem = f"line {longest[0]} has {longest[1]} characters; the limit is {MAX_LINE}"
        raise UsageError(f"{where}: {problem}: use patterns, and shorter reasons")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{where}: no TOML: {error}; see the example in corpus/README.md") from None
    for name in document:
        if name != "finding":
            raise UsageError(f"{where}: {name!r} is not known at the top; entries start with [[finding]]")
    entries = document.get("finding", [])
    if not isinstance(entries, list):
        raise UsageError(f"{where}: finding is one table; write [[finding]] with two brackets")
    return tuple(_entry(table, f"{where}: finding {number}") for number, table in enumerate(entries, start=1))


def _entry(table: Any, where: str) -> KnownFinding:
    if not isinstance(table, dict):
        raise UsageError(f"{where}: {table!r} is no table; start the entry with [[finding]]")
    allowed = [field.name for field in fields(KnownFinding)]
    for name in table:
        if name not in allowed:
            raise UsageError(f"{where}: field {name!r} is not known; use {', '.join(allowed)}")
    for name in ("signature", "reason"):
        if name not in table:
            raise UsageError(f"{where}: field {name} is missing; add it")
    try:
        return KnownFinding(**table)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def append(path: str | Path, entry: KnownFinding) -> None:
    """Adds an entry at the end of a known.toml, comments and all else kept; the file appears whole or not at all."""
    path = Path(path)
    make_folder(path.parent)
    with locked(path.parent / ".lock"):
        present = read(path)
        if entry in present:
            raise UsageError(f"{path}: finding {present.index(entry) + 1} says the same already; nothing to add")
        text = path.read_text("utf-8") if path.exists() else ""
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        write_atomic(path, text + gap + dumps(entry))


def dumps(entry: KnownFinding) -> str:
    """One entry as TOML."""
    lines = ["[[finding]]"]
    for field in fields(entry):
        value = getattr(entry, field.name)
        if value != field.default:
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'{field.name} = "{escaped}"')
    return "\n".join(lines) + "\n"


HEADER = re.compile(r"^\s*\[\[\s*finding\s*\]\]")


def remove(path: str | Path, entry: KnownFinding) -> None:
    """Takes an entry out of a known.toml, with the comment right above it; all else is kept as it is written.

    Raises UsageError where the file has no such entry, or is written so that the entry's lines cannot be told.
    """
    path = Path(path)
    make_folder(path.parent)
    with locked(path.parent / ".lock"):
        present = read(path)
        if entry not in present:
            raise UsageError(f"{path}: no entry says this of {entry.signature}; nothing to take out")
        number = present.index(entry)
        text = _without(path.read_text("utf-8"), number)
        try:
            left = loads(text, path)
        except UsageError:
            left = None
        if left != present[:number] + present[number + 1 :]:
            raise UsageError(f"{path}: the lines of finding {number + 1} cannot be told from others; edit it by hand")
        write_atomic(path, text)


def _without(text: str, number: int) -> str:
    """The text without its entry of that number (from 0), if every `[[finding]]` that starts a line starts one."""
    lines = text.splitlines(keepends=True)
    heads = [i for i, line in enumerate(lines) if HEADER.match(line)]
    if number >= len(heads):
        return text
    starts = [_comment_above(lines, head) for head in heads]
    start, end = starts[number], [*starts, len(lines)][number + 1]
    # What stands apart below the entry belongs to nobody, and stays.
    last = max((i for i in range(heads[number], end) if lines[i].strip() and lines[i][0] != "#"), default=start)
    if start == 0:
        return "".join(lines[last + 1 :]).lstrip("\n")
    # The blank line that set the entry apart goes with it.
    apart = not lines[start - 1].strip() and not "".join(lines[last + 1 : last + 2]).strip()
    return "".join([*lines[: start - apart], *lines[last + 1 :]])


def _comment_above(lines: list[str], head: int) -> int:
    start = head
    while start and lines[start - 1].startswith("#"):
        start -= 1
    # One at the top of the file speaks of all of it.
    return head if start == 0 else start
