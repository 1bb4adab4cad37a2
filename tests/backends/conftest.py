"""What the backend tests share: one pool, drawn inputs, and skipping with the doctor's reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.backends import environments, registry
from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.case import Inputs, Spec, expected_arrays


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    with Pool(Limits(call_seconds=120.0, compile_seconds=300.0)) as shared:
        yield shared


@pytest.fixture(scope="session")
def inputs_for() -> Callable[..., Inputs]:
    """(spec, trials=2, seed=0) -> normal random inputs with variances away from 0."""

    def draw(spec: Spec, trials: int = 2, seed: int = 0) -> Inputs:
        random = np.random.default_rng(seed)
        arrays = {}
        for name, (shape, format_name) in expected_arrays(spec).items():
            values = random.standard_normal((trials, *shape))
            if name == "running_var":
                values = np.abs(values) + 0.25
            arrays[name] = values.astype(formats.named(format_name).dtype)
        return Inputs(**arrays)

    return draw


@pytest.fixture(scope="session")
def installed() -> Callable[[str], str]:
    """name -> name, or a skip that says why that backend cannot run here."""

    def check(name: str) -> str:
        reason = environments.absence(registry.get(name))
        if reason is not None:
            pytest.skip(reason)
        return name

    return check


@pytest.fixture
def target(tmp_path: Path) -> Callable[..., str]:
    """(source of a file, function="f") -> the name of that target."""

    def write(source: str, function: str = "f") -> str:
        path = tmp_path / "mine.py"
        path.write_text(source, encoding="utf-8")
        return f"target:{path}:{function}"

    return write
