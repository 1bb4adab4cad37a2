"""Which keywords a script may hand to a user's function: read from the file, which is not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bnfuzz.report.scripts.run import ScriptRun
from bnfuzz.report.scripts.target import taken_by


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x, gamma, beta): ...", {"x", "gamma", "beta"}),
        ("def f(x, gamma, beta, *, eps): ...", {"x", "gamma", "beta", "eps"}),
        ("def f(x, gamma, beta, eps=1e-5, /, axis=1): ...", {"x", "gamma", "beta", "eps", "axis"}),
        ("f = lambda x, gamma, beta, axis: x", {"x", "gamma", "beta", "axis"}),
        ("def f(x): ...\nf.backward = lambda x, eps: x", {"x"}),
        ("def f(x, **others): ...", None),
        ("f = jit(g)", None),
        ("def g(x): ...", None),
        ("def f(x", None),
    ],
)
def test_what_a_function_takes(tmp_path: Path, source: str, expected: set[str] | None) -> None:
    path = tmp_path / "mine.py"
    path.write_text(source)
    assert taken_by(path, "f") == (None if expected is None else frozenset(expected))


def test_the_last_words_name_the_exception() -> None:
    errors = (
        "Traceback (most recent call last):\n  …\nTypeError: f() got an unexpected keyword\n------\nA remark below it."
    )
    assert ScriptRun(code=125, output="", errors=errors).last_words == "TypeError: f() got an unexpected keyword"
    assert ScriptRun(code=1, output="a\nb", errors="").last_words == "b"
    assert ScriptRun(code=1, output="", errors="").last_words == "it printed nothing"
