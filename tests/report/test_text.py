"""The text of a failure: everything needed, on one screen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bnfuzz.case import Case
from bnfuzz.judge.verdict import Verdict
from bnfuzz.report.text import failure_text, summary

WRONG_Y = Verdict(
    output="y",
    kind="wrong",
    severity=50.0,
    information="informative",
    regime="offset",
    index=(1, 0),
    exact=1.5,
    observed=2.0,
    bound=0.01,
    raw_bound=0.02,
    failing=2,
    kappa=123.0,
    n=3,
    ulps=4e6,
    tolerance=0.2,
    why="because",
)
ZERO_DX = Verdict(
    output="dx", kind="unstable", severity=3.0, index=(0, 0), exact=0.0, observed=3e-6, bound=1e-6, raw_bound=1e-6, n=3
)
FINE = Verdict(output="dbeta", kind="ok", severity=0.25, index=(0,), n=3)
EMPTY = Verdict(output="dgamma", kind="vacuous")


def test_everything_is_told_once(plain_case: Callable[..., Case]) -> None:
    text = failure_text(plain_case(), "flax", (WRONG_Y, EMPTY, FINE, ZERO_DX), version="0.12", where="a.json")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "flax 0.12: y wrong, dx unstable"
    assert "x [[1.0], [2.0], [4.0]]" in lines
    for wanted in (
        "output at exact observed bound error/bound ULPs kind",
        "y [1, 0] 1.5 2 0.01 50 4e+06 wrong",
        "dx [0, 0] 0 3e-06 1e-06 3 - unstable",
        "within the bound (error/bound): dbeta 0.25",
        "vacuous, nothing can be said: dgamma",
        "why: because",
        "dx[0, 0]: the exact value is zero: noise up to 1e-06 is expected, typically near 5.8e-07; "
        "this is 3 times that",
        "y: 2 of 3 elements wrong; n = 3, κ = 123 (condition number of that channel), regime offset",
        "bound without the hard limit: 0.02",
        "smallest tolerance that would pass all of y: rtol = atol = 0.2",
        "signature: v1/flax/batch_norm/training/y/wrong/float32-float32-float32/offset",
        "case: a.json",
    ):
        assert lines.count(wanted) == 1, wanted
    assert len(lines) < 40
    assert all(len(line) <= 130 for line in text.splitlines())


def test_one_screen_for_large_cases(plain_case: Callable[..., Case]) -> None:
    case = plain_case(np.arange(4000.0).reshape(500, 8))
    text = failure_text(case, "flax", (WRONG_Y,) * 8)
    assert len(text.splitlines()) < 40
    assert max(map(len, text.splitlines())) < 160


def test_failures_without_numbers(plain_case: Callable[..., Case]) -> None:
    verdicts = (Verdict(output="call", kind="crash", why="killed by SIGSEGV"),)
    text = failure_text(plain_case(), "mxnet", verdicts)
    assert "  call: crash, killed by SIGSEGV" in text.splitlines()
    assert "exact" not in text


def test_notes_that_say_something_are_told(plain_case: Callable[..., Case]) -> None:
    notes = {"cause": "one-pass", "confirmed": "", "origin": "a test"}
    text = failure_text(plain_case(), "flax", (WRONG_Y,), version="0.12", where="x.json", notes=notes)
    assert text.startswith("flax 0.12: y wrong")
    assert "  cause: one-pass\n  origin: a test\n  signature: " in text
    assert text.endswith("\n  case: x.json")


def test_no_tolerance_for_a_nan(plain_case: Callable[..., Case]) -> None:
    verdict = Verdict(
        output="y",
        kind="nonfinite",
        severity=np.inf,
        index=(0, 0),
        exact=1.0,
        observed=np.nan,
        bound=1e-6,
        tolerance=np.inf,
        n=3,
    )
    text = failure_text(plain_case(), "jax", (verdict,))
    assert "no tolerance would pass y" in text
    assert "∞" in text


def test_nothing_that_fails_passes() -> None:
    assert summary((FINE,)) == "passes"
