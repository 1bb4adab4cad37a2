"""The workflow: well formed, asks for no permission, and calls the command with options that it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from bnfuzz.cli.nightly import nightly

PATH = Path(__file__).parents[1] / ".github" / "workflows" / "nightly.yml"


def workflow() -> dict[Any, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    tree: dict[Any, Any] = yaml.safe_load(PATH.read_text("utf-8"))
    return tree


def commands() -> list[str]:
    return [step["run"] for step in workflow()["jobs"]["night"]["steps"] if "run" in step]


def test_the_command_has_the_options_that_the_workflow_gives() -> None:
    calls = [line for text in commands() for line in text.splitlines() if "bnfuzz nightly" in line]
    assert len(calls) == 2
    for call in calls:
        words = shlex.split(call.replace("$MINUTES", "60"))
        context = nightly.make_context("nightly", words[words.index("nightly") + 1 :])
        assert context.params["folder"] == Path("night")
        assert context.params["new_only"] == ("--new-only" in words)


def test_it_reads_only_and_puts_no_text_of_an_event_into_a_shell() -> None:
    tree = workflow()
    assert tree["permissions"] == {"contents": "read"}
    # YAML 1.1 reads the key `on` as true.
    assert set(tree[True]) == {"schedule", "workflow_dispatch", "pull_request"}
    assert not [text for text in commands() if "${{" in text]


def test_the_state_is_kept_also_after_a_night_that_fails_but_not_by_pull_requests() -> None:
    steps = {step["name"]: step for step in workflow()["jobs"]["night"]["steps"] if "name" in step}
    keep = steps["Keep the state"]
    assert keep["if"].startswith("always() && github.event_name != 'pull_request'")
    restore = steps["State of the nights before"]
    assert restore["with"]["path"] == keep["with"]["path"] == "night"
    assert keep["with"]["key"] == restore["with"]["key"]
    assert keep["with"]["key"].startswith(restore["with"]["restore-keys"])
    for name in ("Summary", "Page, issue texts, JUnit XML"):
        assert steps[name]["if"] == "always()"


def test_every_action_is_pinned_to_a_version() -> None:
    for step in workflow()["jobs"]["night"]["steps"]:
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z/-]+@v\d+", step["uses"])
