"""pytest's own test bench, for the tests of our plugin, and a writer of small corpora."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from bnfuzz.case import Array, Case, Inputs, batch_norm_spec
from bnfuzz.casefile import CaseFile, Expectation, Origin, dumps

pytest_plugins = ["pytester"]

# How long an example takes says nothing of what it shows; machines are slow at times.
settings.register_profile("untimed", parent=settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("untimed")

IMPLEMENTATIONS = """\
import numpy as np

def _statistics(x, axis):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    return x.mean(axes), x.var(axes), shape

def right(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training):
    mean, var, shape = _statistics(x, axis) if training else (running_mean, running_var, _statistics(x, axis)[2])
    y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + np.float32(eps))
    y = y * gamma.reshape(shape) + beta.reshape(shape)
    if not training:
        return y, running_mean, running_var
    m = np.float32(momentum)
    return y, (1 - m) * running_mean + m * mean, (1 - m) * running_var + m * var

def wrong_y(x, *others, **options):
    y, mean, var = right(x, *others, **options)
    return y + y.dtype.type(1), mean, var

def wrong_y_and_var(x, *others, **options):
    y, mean, var = right(x, *others, **options)
    return y + y.dtype.type(1), mean, var * 2

def raises(x, *others, **options):
    raise RuntimeError("no kernel for this")
"""

SIGNATURE = "x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training"


@pytest.fixture
def implementations(tmp_path: Path) -> Path:
    """A file of batch norms in NumPy: `right`, `wrong_y`, `wrong_y_and_var`, `raises`."""
    path = tmp_path / "mine.py"
    text = IMPLEMENTATIONS
    for name in ("wrong_y", "wrong_y_and_var", "raises"):
        text = text.replace(f"def {name}(x, *others, **options):", f"def {name}({SIGNATURE}):")
    call = "right(x, gamma, beta, running_mean, running_var, eps=eps, momentum=momentum, axis=axis, training=training)"
    path.write_text(text.replace("right(x, *others, **options)", call))
    return path


def small_case(x: object = ((1.0,), (2.0,), (4.0,)), **spec: Any) -> Case:
    """A batch-norm case of float32 data with plain parameters."""
    data = np.asarray(x, np.float32)
    built = batch_norm_spec(data.shape, **spec)
    channels = built.statistics_shape
    ones: Array = np.ones((1, *channels), np.float32)
    inputs = Inputs(
        x=data[np.newaxis],
        gamma=ones,
        beta=ones * 0,
        running_mean=ones * 0,
        running_var=ones,
        cotangent=np.arange(data.size, dtype=np.float32).reshape((1, *data.shape)),
    )
    if built.cotangent != "explicit":
        inputs = replace(inputs, cotangent=None)
    return Case(spec=built, inputs=inputs)


@pytest.fixture
def write_case(tmp_path: Path) -> Callable[..., Path]:
    """Writes a case file into `corpus/`, a corpus beside the implementations; its path.

    write_case("a.json", expect={"y": "wrong"}, backend="target:*", state="open")
    """

    def write(
        name: str,
        *,
        case: Case | None = None,
        expect: dict[str, str] | None = None,
        backend: str = "target:*",
        versions: str = "",
        state: Any = "open",
        folder: str = "corpus",
    ) -> Path:
        expectations = ()
        if expect is not None:
            expectations = (
                Expectation(
                    backend=backend, findings=expect, versions=versions, why="planted", link="https://example.org/7"
                ),
            )
        file = CaseFile(case=case or small_case(), state=state, origin=Origin(title="t"), expectations=expectations)
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if folder == "corpus":
            (path.parent / "known.toml").touch()
        path.write_text(dumps(file))
        return path

    return write


@pytest.fixture
def plain_case() -> Callable[..., Case]:
    """`small_case`: a case of the given x and Spec fields."""
    return small_case
