"""What people judge with today: one tolerance for everything, or one per format. Each as data, with where it is stated.

An `Allclose` compares element by element, |observed − expected| ≤ atol + rtol·|expected|, as NumPy, PyTorch, chex and
JAX do; a `Norm` compares the gradients only, each by its norm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bnfuzz.case import Array

Flag = NDArray[np.bool_]

GRADIENTS = ("dx", "dgamma", "dbeta")


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One output of K trials beside what is expected, as float64 and with the elements in one axis: (K, size)."""

    output: str
    data_format: str
    observed: NDArray[np.float64]
    expected: NDArray[np.float64]

    @property
    def error(self) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):
            return np.abs(self.observed - self.expected)


@dataclass(frozen=True, kw_only=True)
class Allclose:
    """Element by element. A value that is not finite must be equal.

    tolerances    (rtol, atol) by format, or one pair for all under ""
    nan_is_equal  whether NaN equals NaN
    larger        math.isclose: |observed − expected| ≤ max(rtol·max(|observed|, |expected|), atol)
    """

    name: str
    source: str
    tolerances: Mapping[str, tuple[float, float]]
    nan_is_equal: bool = True
    larger: bool = False

    def flags(self, compared: Compared) -> Flag:
        """Per trial: whether it calls the output wrong."""
        rtol, atol = self.tolerances.get(compared.data_format) or self.tolerances[""]
        observed, expected = compared.observed, compared.expected
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.abs(expected)
            of_both = np.maximum(np.abs(observed), size)
            allowed = np.maximum(rtol * of_both, atol) if self.larger else atol + rtol * size
            close = np.isfinite(observed) & np.isfinite(expected) & (compared.error <= allowed)
        close |= observed == expected
        if self.nan_is_equal:
            close |= np.isnan(observed) & np.isnan(expected)
        flags: Flag = np.logical_not(np.all(close, axis=1))
        return flags


@dataclass(frozen=True, kw_only=True)
class Norm:
    """The relative error of each gradient in the Euclidean norm; what is no gradient passes."""

    name: str
    source: str
    tolerance: float

    def flags(self, compared: Compared) -> Flag:
        """Per trial: whether it calls the output wrong."""
        observed, expected = compared.observed, compared.expected
        if compared.output not in GRADIENTS:
            return np.zeros(len(observed), dtype=bool)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.linalg.norm(observed - expected, axis=1)
            size = np.maximum(np.linalg.norm(observed, axis=1), np.linalg.norm(expected, axis=1))
            close: Flag = error <= self.tolerance * size
        same = (observed == expected) | (np.isnan(observed) & np.isnan(expected))
        return ~(close & np.isfinite(size) | same.all(axis=1))


TORCH = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
JAX = {"float16": (1e-3, 1e-3), "bfloat16": (1e-2, 1e-2), "float32": (1e-6, 1e-6), "float64": (1e-15, 1e-15)}

Judge = Allclose | Norm

JUDGES: tuple[Judge, ...] = (
    Allclose(
        name="numpy assert_allclose",
        source="`numpy.testing.assert_allclose`, defaults: rtol 1e-7, atol 0",
        tolerances={"": (1e-7, 0.0)},
    ),
    Allclose(name="allclose rtol 1e-3", source="rtol 1e-3, atol 0", tolerances={"": (1e-3, 0.0)}),
    Allclose(name="allclose 1e-5", source="rtol = atol = 1e-5", tolerances={"": (1e-5, 1e-5)}),
    Allclose(
        name="torch assert_close",
        source="`torch.testing.assert_close`, documented defaults, rtol/atol: float16 1e-3/1e-5, bfloat16 1.6e-2/1e-5, "
        "float32 1.3e-6/1e-5; NaN is equal to nothing",
        tolerances=TORCH,
        nan_is_equal=False,
    ),
    Allclose(
        name="chex",
        source="`chex.assert_trees_all_close`, defaults: rtol 1e-6, atol 0",
        tolerances={"": (1e-6, 0.0)},
    ),
    Allclose(
        name="JAX's tests",
        source="`_default_tolerance` of `jax/_src/public_test_util.py`, as rtol and as atol, the way `assertAllClose` "
        "of JAX's tests does: float16 1e-3, bfloat16 1e-2, float32 1e-6",
        tolerances=JAX,
    ),
    Allclose(
        name="NNSmith",
        source="`nnsmith/difftest.py`: `assert_allclose` with rtol 1e-2, atol 1e-3",
        tolerances={"": (1e-2, 1e-3)},
    ),
    Allclose(
        name="array-api-tests",
        source="`isclose` of array-api-tests: `math.isclose` with rel_tol 0.25, abs_tol 1",
        tolerances={"": (0.25, 1.0)},
        larger=True,
    ),
    Norm(name="gradients 1e-3", source="relative error of dx, dgamma and dbeta in the norm ≤ 1e-3", tolerance=1e-3),
    Norm(name="gradients 1e-4", source="the same ≤ 1e-4", tolerance=1e-4),
)


def compared(output: str, observed: Array, expected: Array) -> Compared | None:
    """The two beside each other, or None where shape or format differ: everyone sees that."""
    if observed.shape != expected.shape or observed.dtype != expected.dtype:
        return None
    rows = len(expected)
    return Compared(
        output=output,
        data_format=expected.dtype.name,
        observed=observed.astype(np.float64).reshape(rows, -1),
        expected=expected.astype(np.float64).reshape(rows, -1),
    )


def needed(pair: Compared) -> NDArray[np.float64]:
    """Per trial the smallest rtol = atol that passes it; infinite where none does."""
    with np.errstate(invalid="ignore", over="ignore"):
        tolerance = pair.error / (1 + np.abs(pair.expected))
    same = (pair.observed == pair.expected) | (np.isnan(pair.observed) & np.isnan(pair.expected))
    finite = np.isfinite(pair.observed) & np.isfinite(pair.expected)
    return np.where(same, 0.0, np.where(finite, tolerance, np.inf)).max(axis=1, initial=0.0)
