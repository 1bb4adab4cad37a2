"""The example in docs/reporting.md: its script is whole, and still shows the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from bnfuzz.backends import environments, registry
from bnfuzz.report.scripts.checks import SHOWS
from bnfuzz.report.scripts.run import run_script

PAGE = Path(__file__).parents[2] / "docs" / "reporting.md"


def test_the_example_s_script_shows_the_fault() -> None:
    if environments.absence(registry.get("flax")) is not None:
        pytest.skip("flax is not installed here")
    generated = PAGE.read_text("utf-8").split("<!-- generated: begin -->")[1].split("<!-- generated: end -->")[0]
    script = generated.split("```python\n")[1].split("\n```")[0]
    run = run_script(script, environments.locate("main"), seconds=240)
    assert run.code == 1, run.errors
    assert run.output.splitlines()[-1] == SHOWS
    assert f"\n{run.output.splitlines()[-1]}\n" in generated
