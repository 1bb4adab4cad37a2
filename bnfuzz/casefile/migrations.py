"""Older structures of case files, and the way from each to the next: a chain of pure functions on JSON trees.

`schemas/N.json` is the structure number N. A tree is checked against the structure of its own number before a step
sees it, so a step may rely on that, and against the newest one at the end. To change the structure: add
`schemas/N+1.json`, leave the older ones as they are, and add the step from N to STEPS.

    1  the first
    2  `cause` of an expectation (what bnfuzz found to explain a failure), beside `why` (a person's reason), which in
       files of campaigns had held it; `descent` of a shrunk case
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from bnfuzz.casefile.exactjson import PlaceError, shown

SCHEMA = 2
"""The number of the structure that is written."""

Tree = dict[str, Any]
Step = Callable[[Tree], Tree]


def migrated(document: Any) -> Tree:
    """The tree in the newest structure, itself unchanged; raises PlaceError where it has no structure of ours."""
    if not isinstance(document, dict):
        raise PlaceError("$", f"{shown(document)} is no case file; it must be one JSON object")
    tree: Tree = document
    number = _number(tree)
    check(tree, number)
    for older in range(number, SCHEMA):
        tree = {**STEPS[older](tree), "schema": older + 1}
    if number < SCHEMA:
        check(tree, SCHEMA)
    return tree


def _number(tree: Tree) -> int:
    number = tree.get("schema")
    if not isinstance(number, int) or isinstance(number, bool):
        raise PlaceError("$.schema", f"{shown(number)} is no schema number; give the integer {SCHEMA}")
    if number > SCHEMA:
        raise PlaceError("$.schema", f"{number} is newer than {SCHEMA}, all that this version reads; upgrade bnfuzz")
    if number < min(STEPS):
        problem = f"{number} is older than {min(STEPS)}, the oldest that is read; take the file from its source again"
        raise PlaceError("$.schema", problem)
    return number


def check(tree: Tree, number: int) -> None:
    """Raises PlaceError where the tree has not the structure of that number."""
    error = next(validator(number).iter_errors(tree), None)
    if error is not None:
        problem = error.message if len(error.message) <= 300 else error.message[:200] + " … " + error.message[-90:]
        raise PlaceError(error.json_path, f"{problem}; correct it (structure: bnfuzz/casefile/schemas/{number}.json)")


@cache
def validator(number: int) -> Any:
    """The jsonschema validator of that structure."""
    from jsonschema import Draft202012Validator

    text = resources.files("bnfuzz.casefile").joinpath("schemas", f"{number}.json").read_text("utf-8")
    return Draft202012Validator(json.loads(text))


def _cause_of_its_own(tree: Tree) -> Tree:
    """1 to 2: what a campaign wrote as `why` of its finding was the cause."""
    if "campaign" not in tree.get("origin", {}) or "expectations" not in tree:
        return tree
    renamed = [
        {"cause" if name == "why" and entry.get("confirmed") else name: value for name, value in entry.items()}
        for entry in tree["expectations"]
    ]
    return {**tree, "expectations": renamed}


STEPS: Mapping[int, Step] = MappingProxyType({1: _cause_of_its_own})
"""Schema number -> the step that turns its tree into the next number's."""
