"""A script computes what the backend computes: the same bits, in a fresh interpreter that cannot import bnfuzz."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bnfuzz.backends import environments, registry
from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case, Inputs, Spec, batch_norm_spec, expected_arrays
from bnfuzz.formats import named
from bnfuzz.report.scripts.block import Part
from bnfuzz.report.scripts.checks import SHOWS_NOT, Expected, Values
from bnfuzz.report.scripts.run import run_script
from bnfuzz.report.scripts.script import Around, script_text
from bnfuzz.report.scripts.writers import WRITERS, writer_of

BACKENDS = registry.names()

HALF: dict[str, Any] = {"data_format": "float16"}
PURE_HALF: dict[str, Any] = {**HALF, "parameter_format": "float16", "statistics_format": "float16"}
BRAIN: dict[str, Any] = {"data_format": "bfloat16"}
PURE_BRAIN: dict[str, Any] = {**BRAIN, "parameter_format": "bfloat16", "statistics_format": "bfloat16"}

SPECS: tuple[Spec, ...] = (
    batch_norm_spec((4, 3)),
    batch_norm_spec((2, 3, 4), -1, eps=None, momentum=None),
    batch_norm_spec((3, 2, 2), cotangent="sum", steps=("inference",)),
    batch_norm_spec((3, 2, 2), cotangent="mean_square", has_gamma=False, has_running=False),
    batch_norm_spec((3, 2), has_beta=False, steps=("inference",)),
    batch_norm_spec((3, 2), steps=("training", "inference", "training")),
    batch_norm_spec((4, 3, 2), layout_x="permuted", layout_cotangent="offset"),
    batch_norm_spec((40, 3), layout_x="flipped"),
    *(batch_norm_spec((3, 2), **kinds) for kinds in (HALF, PURE_HALF, BRAIN, PURE_BRAIN)),
    batch_norm_spec((3, 2, 2), layout_x="sliced", **BRAIN),
)
VARIANTS = ("jax-eager", "jax-pmean", "flax-slow-variance", "mxnet-defaults")
"""Their calls differ little from another backend's, or take long to compile: every fourth Spec will do."""

WIDE = batch_norm_spec((3, 2), data_format="float64", parameter_format="float64", statistics_format="float64")


def drawn(spec: Spec) -> Case:
    """A case of ordinary noise; variances are positive."""
    rng = np.random.default_rng(len(spec.shape) + spec.size)
    arrays = {}
    for name, (shape, kind) in expected_arrays(spec).items():
        values = rng.standard_normal((1, *shape)) + (3.0 if name == "x" else 0.0)
        arrays[name] = (np.abs(values) if name == "running_var" else values).astype(named(kind).dtype)
    return Case(spec=spec, inputs=Inputs(**arrays))


def parts_of(pool: Pool, backend: str, specs: tuple[Spec, ...]) -> list[Part]:
    """What the backend gives for each Spec that it takes, every element of every output, with no error allowed."""
    parts = []
    for spec in specs:
        if pool.conventions(backend).unsupported(spec) is not None:
            continue
        case = drawn(spec)
        outputs = pool.run((backend,), spec, case.inputs)[backend].outputs
        assert outputs is not None
        step = len(spec.steps) - 1
        elements = {}
        for name, array in outputs.items():
            one = array[0] if len(spec.steps) == 1 else array[0, step]
            elements[name] = tuple(
                Expected(index=tuple(map(int, index)), exact=float(one[index]), bound=0.0)
                for index in np.ndindex(one.shape)
            )
        parts.append(Part(case=case, check=Values(outputs=elements), step=step))
    return parts


def test_every_backend_has_a_writer() -> None:
    assert set(WRITERS) == set(BACKENDS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_same_bits(backend: str) -> None:
    compare(backend, SPECS[::4] if backend in VARIANTS else SPECS)


@pytest.mark.parametrize("backend", ["numpy", "jax", "flax", "mxnet-scratch", "torch"])
def test_the_same_bits_in_float64(backend: str) -> None:
    compare(backend, (WIDE, replace(WIDE, cotangent="mean_square")))


def compare(backend: str, specs: tuple[Spec, ...]) -> None:
    """The script of all Specs that the backend takes, as one of several inputs."""
    if environments.absence(registry.get(backend)) is not None:
        pytest.skip(f"{backend} is not installed here")
    with Pool() as pool:
        parts = parts_of(pool, backend, specs)
        versions = pool.versions(backend)
        conventions = pool.conventions(backend)
    # The workers' own number of threads, on which the order of sums may depend.
    around = Around(title="the same bits", needs="NumPy", versions=versions, variables={"OMP_NUM_THREADS": "1"})
    text = script_text(writer_of(backend), conventions, parts, around, everything=True)
    run = run_script(text, environments.locate(registry.get(backend).environment), seconds=240)
    assert run.code == 0, f"{run.output}\n{run.errors}"
    assert run.output.splitlines().count(SHOWS_NOT) == len(parts)
    assert max(map(len, text.splitlines())) <= 120
    assert "bnfuzz" not in text.replace("bnfuzz's NumPy kernel", "")
