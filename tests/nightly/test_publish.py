"""The files of a night; the planted fault has to be in all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bnfuzz.errors import UsageError
from bnfuzz.nightly import publish as publishing
from bnfuzz.nightly.publish import OUTPUTS, publish
from bnfuzz.nightly.store import Store
from tests.nightly.examples import FOUND, hostile_report, report, tracked


def test_all_files_hold_the_planted_fault(tmp_path: Path) -> None:
    published = publish(report(tracked()), Store(tmp_path))
    assert published.exit_code == 1
    for name in ("summary.md", "junit.xml", "night.json", "page.html"):
        assert FOUND in (tmp_path / name).read_text()


@pytest.mark.parametrize("name", list(OUTPUTS))
def test_a_file_that_loses_the_planted_fault_makes_the_night_worthless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write = OUTPUTS[name]
    losing = {
        **OUTPUTS,
        name: lambda night, folder: write(night, folder).replace("target:planted.py", "target:other.py"),
    }
    monkeypatch.setattr(publishing, "OUTPUTS", losing)
    published = publish(report(), Store(tmp_path))
    assert published.exit_code == 3
    assert published.night.troubles == (f"the planted fault eps_missing was found, but is missing in {name}",)
    assert "is missing in" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UsageError("the page needs plotly; install it"), "the page needs plotly; install it"),
        (TypeError("'int' object is not iterable"), "TypeError: 'int' object is not iterable"),
        (RuntimeError(), "RuntimeError: no reason is given"),
    ],
)
def test_a_file_that_cannot_be_made_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def absent(*_: object) -> str:
        raise error

    monkeypatch.setattr(publishing, "OUTPUTS", {**OUTPUTS, "page.html": absent})
    published = publish(report(), Store(tmp_path))
    assert published.exit_code == 3
    assert published.night.troubles == (f"page.html could not be written: {said}",)
    assert {path.name for path in tmp_path.iterdir()} >= {"summary.md", "junit.xml", "night.json"}


def test_the_machine_readable_report_is_strict_json(tmp_path: Path) -> None:
    publish(hostile_report(), Store(tmp_path))

    def refuse(text: str) -> None:
        raise AssertionError(text)

    tree = json.loads((tmp_path / "night.json").read_text(), parse_constant=refuse)
    assert tree["schema"] == 1
    assert tree["exit_code"] == 3
