"""Case files: one Case with its origin and what is expected of each backend, as exact and readable JSON.

    text = dumps(from_finding(finding))
    file = read("corpus/found/flax-y-wrong-1a2b3c4d.json")

Reading never executes anything, is bounded in time and memory, and raises CaseFileError with the file, the place in
it and the remedy. Arrays keep their exact bits (exactarray.py), save that every NaN becomes the plain quiet NaN.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from bnfuzz.casefile.exactarray import INLINE_READ, decode_array, decode_number, encode_array, encode_number
from bnfuzz.casefile.exactjson import PlaceError, below, parse, render
from bnfuzz.casefile.migrations import SCHEMA, migrated
from bnfuzz.casefile.stored import CaseFile, Expectation, Origin
from bnfuzz.casefile.tree import case_from_tree, case_tree, clipped, verdict_from_tree, verdict_tree
from bnfuzz.errors import CaseFileError, InternalError, UsageError
from bnfuzz.finding import Descent

MAX_BYTES = 64 << 20
MAX_STEPS = 1000
MAX_STEP = 500
"""Steps of a descent, and characters of one."""


def dumps(file: CaseFile) -> str:
    """The text of a case file; read back and compared before it is returned."""
    text = render(_tree(file))
    size = len(text.encode("utf-8"))
    if size > MAX_BYTES:
        raise UsageError(f"case {file.id} takes {size} bytes; the limit is {MAX_BYTES}: shrink it first")
    if loads(text, f"case {file.id}").id != file.id:
        raise InternalError(f"case {file.id} does not read back to the same bits; please report this")
    return text


def _tree(file: CaseFile) -> dict[str, Any]:
    origin = {
        "title": clipped(file.origin.title, 300),
        "link": file.origin.link,
        "campaign": clipped(file.origin.campaign, 1000),
        "note": clipped(file.origin.note),
        "seed": file.origin.seed,
    }
    tree: dict[str, Any] = {
        "schema": SCHEMA,
        "id": file.id,
        "state": file.state,
        "case": case_tree(file.case),
        "origin": {name: value for name, value in origin.items() if value not in ("", None)},
        "descent": _descent_tree(file.descent) if file.descent else {},
        "expectations": [_expectation_tree(entry) for entry in file.expectations],
        "environment": {clipped(name, 200): clipped(value) for name, value in file.environment.items()},
        "verdicts": {name: [verdict_tree(verdict) for verdict in group] for name, group in file.verdicts.items()},
        # Larger ones tell a human reader nothing.
        "reference": {name: encode_array(array) for name, array in file.reference.items() if array.size <= INLINE_READ},
    }
    return {name: value for name, value in tree.items() if value not in ({}, [])}


def _descent_tree(descent: Descent) -> dict[str, Any]:
    # The last steps: they say how the case at hand came about.
    steps = [clipped(step, MAX_STEP) for step in descent.steps[-MAX_STEPS:]]
    severity = encode_number(descent.severity)
    return {"from": descent.origin, "severity": severity, "steps": steps, "finished": descent.finished}


def _expectation_tree(entry: Expectation) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "backend": entry.backend,
        "expect": dict(entry.findings) or "ok",
        "versions": entry.versions,
        "signature": entry.signature,
        "also": list(entry.also),
        "why": clipped(entry.why),
        "cause": clipped(entry.cause),
        "link": entry.link,
        "confirmed": entry.confirmed,
    }
    return {name: value for name, value in tree.items() if value not in ("", False, [])}


def loads(text: str, where: str | Path) -> CaseFile:
    """The case file of a text, in the newest structure or an older one; `where` names it in errors."""
    try:
        return _from_tree(migrated(parse(text)))
    except PlaceError as error:
        raise CaseFileError(f"{where}: {error}") from None


def _from_tree(tree: dict[str, Any]) -> CaseFile:
    file = CaseFile(
        case=case_from_tree(tree["case"], "$.case"),
        state=tree["state"],
        origin=_origin(tree.get("origin", {})),
        descent=_descent(tree["descent"]) if "descent" in tree else None,
        expectations=tuple(
            _expectation(entry, f"$.expectations[{i}]") for i, entry in enumerate(tree.get("expectations", []))
        ),
        environment=tree.get("environment", {}),
        verdicts={
            backend: tuple(
                verdict_from_tree(entry, f"{below('$.verdicts', backend)}[{i}]") for i, entry in enumerate(group)
            )
            for backend, group in tree.get("verdicts", {}).items()
        },
        reference={
            name: decode_array(entry, below("$.reference", name), limit=INLINE_READ)
            for name, entry in tree.get("reference", {}).items()
        },
    )
    if tree.get("id", file.id) != file.id:
        problem = f"{tree['id']} is not the id of this spec and these numbers, which is {file.id}"
        raise PlaceError("$.id", problem + "; if the edit is meant, leave the line `id` out")
    return file


def _origin(tree: dict[str, Any]) -> Origin:
    # 1e3 is an integer in JSON, and a float in Python.
    return Origin(**tree) if "seed" not in tree else Origin(**{**tree, "seed": int(tree["seed"])})


def _descent(tree: dict[str, Any]) -> Descent:
    return Descent(
        origin=tree["from"],
        severity=decode_number(tree["severity"], "$.descent.severity"),
        steps=tuple(tree.get("steps", ())),
        finished=tree.get("finished", False),
    )


def _expectation(tree: dict[str, Any], place: str) -> Expectation:
    values = {**tree, "also": tuple(tree.get("also", ()))}
    expect = values.pop("expect")
    try:
        return Expectation(findings={} if expect == "ok" else expect, **values)
    except UsageError as error:
        raise PlaceError(place, str(error)) from None


def read(path: str | Path) -> CaseFile:
    """The case file at `path`: a regular UTF-8 file of at most MAX_BYTES."""
    path = Path(path)
    try:
        # Non-blocking: opening a named pipe must not wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise CaseFileError(f"{path}: is no regular file; remove it or move it out of the corpus")
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CaseFileError(f"{path}: cannot be read ({reason}); check the name and its permissions") from None
    if len(data) > MAX_BYTES:
        raise CaseFileError(f"{path}: is larger than {MAX_BYTES} bytes, the limit; shrink the case")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CaseFileError(f"{path}: byte {error.start} is no UTF-8; save the file as UTF-8") from None
    return loads(text, path)
