"""The table of a comparison where the two print zeros, and numbers that only look different."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case, Inputs, batch_norm_spec
from bnfuzz.diagnosis.contrast.contrast import contrast
from bnfuzz.report.contrast.text import contrast_text

SOURCE = """
def batch_norm(x, gamma, beta, *, eps, axis):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    mean, gamma, beta = x.mean(axes, keepdims=True), gamma.reshape(shape), beta.reshape(shape)
    root = (((x - mean) ** 2).mean(axes, keepdims=True) + x.dtype.type(eps)) ** x.dtype.type(0.5)
    return {value}
"""
USUAL = SOURCE.format(value="(x - mean) / root * gamma + beta")
NEGATED = SOURCE.format(value="-((mean - x) / root * gamma - beta)")
"""The same function; where all is zero it gives -0."""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool


def test_zeros_have_no_ratio_and_their_signs_are_no_difference(pool: Pool, tmp_path: Path) -> None:
    names = []
    for name, source in (("usual", USUAL), ("negated", NEGATED)):
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        names.append(f"target:{path}:batch_norm")
    # One value per channel, so that every normalized value is zero.
    spec = batch_norm_spec((1, 2, 1), 1, eps=1e-5)
    x, ones = np.array([[[[3.0], [5.0]]]], np.float32), np.ones((1, 2), np.float32)
    inputs = Inputs(x=x, gamma=ones, beta=0 * ones, running_mean=0 * ones, running_var=ones, cotangent=x)
    text = contrast_text(contrast(pool, *names, Case(spec=spec, inputs=inputs), seed=0), drawn="")
    assert "THE SAME FUNCTION up to rounding." in text
    (line,) = [line.split() for line in text.splitlines() if line.startswith("  y[")]
    assert line[-7:-3] == ["0", "-0", "–", "0"]
    assert "nan" not in text
    assert "y: the same numbers; only the signs of zeros differ." in text
    assert "noise" not in text
