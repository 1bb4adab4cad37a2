"""The layers: what imports what, imports for type checkers included, goes one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BELOW_REPORTS = (
    "evaluation",
    "relating",
    "replay",
    "corpus",
    "casefile",
    "campaign",
    "shrink",
    "diagnosis",
    "backends",
)


def modules() -> dict[str, Path]:
    """Full name -> file, of the package and of the strategies, which are a part of it by a link."""
    found = {}
    for folder, package in ((ROOT / "bnfuzz", ("bnfuzz",)), (ROOT / "strategies", ("bnfuzz", "strategies"))):
        for path in folder.rglob("*.py"):
            names = (*package, *path.relative_to(folder).with_suffix("").parts)
            found[".".join(names[:-1] if names[-1] == "__init__" else names)] = path
    return found


MODULES = modules()


def imported(name: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def layer(name: str) -> str:
    """The package or module right below `bnfuzz`; empty for the root, which loads its public names only when asked."""
    return name.split(".")[1] if "." in name else ""


def layers() -> dict[str, set[str]]:
    below: dict[str, set[str]] = {}
    for name in MODULES:
        needs = {layer(other) for other in imported(name)} - {layer(name), ""}
        below.setdefault(layer(name), set()).update(needs)
    del below[""]
    return below


def test_no_layer_needs_one_that_needs_it() -> None:
    try:
        order = tuple(TopologicalSorter(layers()).static_order())
    except CycleError as error:
        pytest.fail(f"layers import each other: {' <- '.join(error.args[1])}")
    assert order.index("numerics") < order.index("judge") < order.index("report") < order.index("cli")


@pytest.mark.parametrize("name", BELOW_REPORTS)
def test_what_is_reported_knows_nothing_of_reports(name: str) -> None:
    assert "report" not in layers()[name]
