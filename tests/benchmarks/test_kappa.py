"""The exponents that docs/judging.md states."""

from __future__ import annotations

import pytest

from benchmarks.kappa import KERNELS, ONE_PASS, measured


def test_sound_kernels_err_as_kappa_and_one_pass_ones_as_its_square():
    ladder, bound = measured("float32")
    slopes = {curve.name: curve.slope for curve in ladder.curves}
    assert {name.partition(":")[2] for name in slopes} == {*KERNELS, *ONE_PASS}
    assert bound == pytest.approx(1, abs=0.1)
    for name, slope in slopes.items():
        assert slope == pytest.approx(2 if name.startswith("fault:") else 1, abs=0.1), name
