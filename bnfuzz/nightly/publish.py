"""The files that a night writes (summary, JUnit XML, JSON, page), and whether the planted fault is in all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from bnfuzz.casefile.atomic import write_atomic
from bnfuzz.casefile.exactjson import render
from bnfuzz.errors import BnfuzzError
from bnfuzz.night import NightReport
from bnfuzz.nightly.store import SCHEMA, Store
from bnfuzz.nightly.tree import to_tree
from bnfuzz.report.night.junit import junit
from bnfuzz.report.night.page import page
from bnfuzz.report.night.summary import summary

Write = Callable[[NightReport, Path], str]


def _machine_readable(report: NightReport, folder: Path) -> str:
    del folder
    return render({"schema": SCHEMA, "exit_code": report.exit_code, **to_tree(replace(report, history=()))})


OUTPUTS: Mapping[str, Write] = MappingProxyType(
    {
        "night.json": _machine_readable,
        "summary.md": lambda report, folder: summary(report),
        "junit.xml": lambda report, folder: junit(report),
        "page.html": page,
    }
)
"""File -> what writes it, from the report and the folder that it stands in."""


def publish(report: NightReport, store: Store) -> NightReport:
    """Writes all outputs. Where the planted fault is missing in one, that is trouble, and is said in all of them."""
    troubles = _written(report, store.folder)
    if troubles:
        report = replace(report, night=replace(report.night, troubles=(*report.night.troubles, *troubles)))
        _written(report, store.folder)
    return report


def _written(report: NightReport, folder: Path) -> list[str]:
    """Writes the files; what went wrong. One that cannot be made stops no other."""
    troubles = []
    planted = report.night.planted
    for name, write in OUTPUTS.items():
        try:
            write_atomic(folder / name, write(report, folder))
        except Exception as error:
            # Whatever is wrong with a text, the night and its state are worth more.
            said = str(error).partition("\n")[0] or "no reason is given"
            kind = "" if isinstance(error, BnfuzzError) else f"{type(error).__name__}: "
            troubles.append(f"{name} could not be written: {kind}{said}")
            continue
        if planted.arrived and not any(mark in (folder / name).read_text("utf-8") for mark in planted.signatures):
            troubles.append(f"the planted fault {planted.fault} was found, but is missing in {name}")
    return troubles
