"""The public names, and the examples of the documentation that use them."""

from __future__ import annotations

import re
import subprocess
import sys
from inspect import ismodule
from pathlib import Path

import pytest

import bnfuzz
from bnfuzz.judge import judge
from bnfuzz.judge.compare import judge as compare

ROOT = Path(__file__).parents[1]

MINE = """
import numpy as np
from hypothesis import Phase, settings

settings.register_profile("short", max_examples=30, phases=[Phase.generate], deadline=None, derandomize=True)
settings.load_profile("short")

def my_batch_norm(spec, inputs):
    axes = tuple(axis % spec.rank + 1 for axis in spec.reduced_axes)
    shape = (1, *(size if i in spec.affine_axes else 1 for i, size in enumerate(spec.shape)))
    eps = 1e-5 if spec.eps is None else spec.eps
    x = inputs.x.astype(np.float64)
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps + MORE)
    gamma = 1 if inputs.gamma is None else inputs.gamma.reshape(shape)
    beta = 0 if inputs.beta is None else inputs.beta.reshape(shape)
    return (y * gamma + beta).astype(np.float32)
"""


@pytest.mark.parametrize("name", bnfuzz.__all__)
def test_a_public_name_is_no_module(name: str) -> None:
    assert not ismodule(getattr(bnfuzz, name))


def test_the_judge_is_public() -> None:
    assert judge is compare


@pytest.mark.parametrize(("more", "code"), [("0.0", 0), ("0.1", 1)])
def test_the_example_for_tests_of_your_own(tmp_path: Path, more: str, code: int) -> None:
    example = re.findall(r"```python\n(.*?)```", (ROOT / "docs/targets.md").read_text(), re.DOTALL)[-1]
    (tmp_path / "test_mine.py").write_text(MINE.replace("MORE", more) + example)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert ("Verdict(" in done.stdout) == bool(code)
