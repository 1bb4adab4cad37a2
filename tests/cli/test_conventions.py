"""`bnfuzz conventions`: the card, its exit code, its JSON, the table, and departures saved as cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bnfuzz.cli import bnfuzz
from bnfuzz.corpus import Corpus
from bnfuzz.diagnosis.probes import PROBES

KEPT = "y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + np.float32(eps))"
OUTSIDE = "y = (x - mean.reshape(shape)) / (np.sqrt(var.reshape(shape)) + np.float32(eps))"


def conventions(*arguments: str) -> Result:
    return CliRunner().invoke(bnfuzz, ["conventions", *arguments])


@pytest.fixture
def outside(implementations: Path) -> str:
    """`right`, with eps outside the root and momentum weighing the old statistic."""
    source = implementations.read_text()
    assert KEPT in source
    source = source.replace(KEPT, OUTSIDE).replace("m = np.float32(momentum)", "m = 1 - np.float32(momentum)")
    implementations.write_text(source)
    return f"{implementations}:right"


@pytest.mark.parametrize("few", [["place of eps", "momentum weighs", "a NaN"]])
def test_a_card_of_a_function(outside: str, few: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("bnfuzz.cli.conventions.PROBES", [probe for probe in PROBES if probe.name in few])
    result = conventions("--target", outside, "--save", str(tmp_path / "kept"))
    assert result.exit_code == 1, result.output
    lines = result.stdout.splitlines()
    assert "! place of eps: added to the root   (documented: inside the root)" in lines
    assert "! momentum weighs: the old statistic   (documented: the new statistic)" in lines
    assert "= a NaN: stays in its channel" in lines
    saved = Corpus(tmp_path / "kept").entries
    assert {entry.file.expectations[0].cause for entry in saved} == {
        "place of eps: added to the root",
        "momentum weighs: the old statistic",
    }
    assert all(not entry.file.expectations[0].ok and entry.file.expectations[0].confirmed for entry in saved)


def test_json_and_table_of_a_whole_card(implementations: Path) -> None:
    target = f"{implementations}:right"
    result = conventions("--target", target, "--json")
    (card,) = json.loads(result.stdout)
    assert (card["backend"], card["source"]) == (f"target:{target}", "the function's signature")
    assert [row["name"] for row in card["rows"]] == [probe.name for probe in PROBES]
    assert {row["agrees"] for row in card["rows"]} <= {True, False, None}
    assert card["departures"] == sum(row["agrees"] is False for row in card["rows"])
    assert result.exit_code == (1 if card["departures"] else 0)


def test_the_table_names_every_line_once(implementations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [probe for probe in PROBES if probe.name in ("default eps", "gamma is")]
    monkeypatch.setattr("bnfuzz.cli.conventions.PROBES", few)
    result = conventions("numpy", "--target", f"{implementations}:right", "--table")
    head, rule, *lines = result.stdout.splitlines()
    assert (head, rule) == ("| convention | observed | backends |", "| --- | --- | --- |")
    # The function stores eps in float32, so its default is another number: a second answer to one question.
    assert [line.split("|")[1].strip() for line in lines] == ["default eps", "", "gamma is"]
    assert lines[0].endswith("| 1e-05 | numpy |")
    assert "the float32 nearest to 1e-05" in lines[1]
    assert lines[1].endswith(f"| **target:{implementations}:right** (documented: 1e-05) |")
    assert lines[2].endswith(f"| used and learned | numpy, target:{implementations}:right |")
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "backend 'nothing' is unknown"),
        (["numpy", "--json", "--table"], "--json and --table"),
        (["--target", "nowhere.py:f"], "there is no file"),
        (["numpy", "--timeout", "1e9"], "timeout"),
    ],
)
def test_misuse(arguments: list[str], message: str) -> None:
    result = conventions(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
