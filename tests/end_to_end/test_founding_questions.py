"""The two questions that the project began with, asked as their authors' own files: right, and on one screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bnfuzz.backends import environments, registry
from bnfuzz.cli import bnfuzz

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def answer(first: str, second: str, *options: str) -> tuple[int, str]:
    """(exit code, text) of `bnfuzz compare`, checked to fit one screen."""
    sides = [f"{EXAMPLES / name}.py:batch_norm" for name in (first, second)]
    done = CliRunner().invoke(bnfuzz, ["compare", *sides, *options])
    lines = done.output.splitlines()
    assert len(lines) <= 40, done.output
    assert [line for line in lines[2:] if len(line) > 120] == []
    return done.exit_code, done.output


def flat(text: str) -> str:
    """Without line breaks."""
    return re.sub(r"\s+", " ", text)


def row(text: str, output: str) -> list[float]:
    """The numbers of an output's row in the table."""
    (line,) = re.findall(rf"^  {output}\[[\d, ]*\](.*)$", text, re.MULTILINE)
    return [float(word) for word in line.split()]


def test_mxnet_from_scratch_against_the_operator():
    reason = environments.absence(registry.get("mxnet"))
    if reason is not None:
        pytest.skip(reason)
    code, text = answer(
        "mxnet_scratch", "mxnet_operator", "--shape", "2,16,4,4", "--values", "uniform:1:2", "--cotangent", "sum"
    )
    said = flat(text)
    assert code == 1
    # (a) dx is exactly 0: its ratio means nothing.
    a, b, ratio, exact_a, exact_b, bound, *_ = row(text, "dx")
    assert exact_a == exact_b == 0
    assert a != b
    assert max(abs(a), abs(b)) < bound
    assert ratio == pytest.approx(a / b, rel=1e-3)
    assert "dx: the exact value is 0 (the cotangent g is constant in each channel" in said
    assert "Both print noise, at worst ±0.0002" in said
    assert re.search(r"ratios, \S+ to \S+ here, mean nothing", said)
    # (b) the forward outputs are those of two eps.
    assert "THEY DIFFER: A normalises with eps 1e-05, B with eps 0.001." in said
    assert "B: eps 0.001, its own: the documented default of mx.nd.BatchNorm." in said
    # (c) with eps equal and a varied cotangent both agree.
    equal = re.search(
        r"With eps 0\.001 in both, and varied data, gamma, beta and cotangent, both agree with the exact values of y "
        r"and of all gradients: error/bound at most (\S+) \(A\) and (\S+) \(B\)\.",
        said,
    )
    assert equal is not None
    assert all(float(number) < 1 for number in equal.groups())
    # (d) the next trap.
    assert "fix_gamma would be the next trap" in said
    assert said.count("fix_gamma would be") == 1
    assert "as B does" in said


def test_jax_under_vmap_against_the_plain_function():
    pytest.importorskip("jax")
    code, text = answer(
        "jax_pmean", "jax_plain", "--shape", "20,30,40,5", "--channel-axis", "-1", "--cotangent", "mean_square"
    )
    said = flat(text)
    assert code == 0
    assert "THE SAME FUNCTION up to rounding." in said
    # d shift is exactly 0.
    a, b, _, exact, bound, off_a, off_b = row(text, "dbeta")
    assert exact == 0
    assert max(abs(a), abs(b)) < bound
    assert max(off_a, off_b) < 1
    assert "dbeta: the exact value is 0 (2·Σy/size: the mean of y is beta, and beta is 0)" in said
    # d scale is 2·σ²/(σ²+ε)/5.
    a, b, _, exact, bound, off_a, off_b = row(text, "dgamma")
    assert exact == pytest.approx(0.4 * (1 - 1e-5), rel=2e-6)
    assert max(abs(a - exact), abs(b - exact)) < bound
    assert max(off_a, off_b) < 1
    assert "rounding, within the bound on both sides" in said
    # Worth adding.
    assert "mean(y·y) gives x almost no gradient: all but about eps/(σ²+eps) = 1e-05 of it cancels" in said
    assert "grad INSIDE vmap would give 20 times the gradient" in said
    assert "A's momentum weighs the OLD value: new = 0.1·old + 0.9·batch." in said
