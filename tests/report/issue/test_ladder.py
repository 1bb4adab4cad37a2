"""The offset ladder: slope 1 for two-pass kernels, 2 for one-pass ones, in every compute format wide enough to tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.case import Array, Spec, batch_norm_spec
from bnfuzz.conventions import ALL_FORMATS, Conventions
from bnfuzz.faults import backend as kernels
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.kernel import Kernel
from bnfuzz.faults.sound import SOUND
from bnfuzz.numerics.reference import reference
from bnfuzz.report.issue.ladder import Ladder, applies, ladder_inputs, ladder_of, ladder_spec, slope_of
from bnfuzz.report.issue.ladder_plot import ladder_image

PURE = Conventions(source="a test", formats=ALL_FORMATS, ranks=(1, 8))
SINGLE = batch_norm_spec((4, 2))
DOUBLE = replace(SINGLE, data_format="float64", parameter_format="float64", statistics_format="float64")


def ladder_with(kernels_by_name: dict[str, Kernel], spec: Spec) -> Ladder:
    inputs = ladder_inputs(spec, PURE)
    conventions = replace(PURE, outputs=("y",))
    observed: dict[str, Array] = {}
    for name, kernel in kernels_by_name.items():
        y = kernels.run(kernel, spec, inputs, conventions).y
        assert y is not None
        observed[name] = y
    return ladder_of(reference(spec, inputs, PURE), observed)


@pytest.mark.parametrize("spec", [SINGLE, DOUBLE], ids=["float32", "float64"])
def test_the_slope_names_the_class_of_the_algorithm(spec: Spec) -> None:
    ladder = ladder_with(
        {
            "one pass": CATALOGUE["onepass"].kernel,
            "pairwise": SOUND["pairwise"].kernel,
            "sequential": SOUND["sequential_autodiff"].kernel,
        },
        ladder_spec(spec, PURE),
    )
    slopes = {curve.name: curve.slope for curve in ladder.curves}
    assert slopes["one pass"] == pytest.approx(2, abs=0.25)
    assert slopes["pairwise"] == pytest.approx(1, abs=0.15)
    assert slopes["sequential"] == pytest.approx(1, abs=0.15)
    # The fault is beyond its bound from some offset on; a sound kernel never is.
    assert 1 < ladder.beyond < 1e3 / np.sqrt(ladder.unit_roundoff)
    sound = ladder_with({"pairwise": SOUND["pairwise"].kernel}, ladder_spec(spec, PURE))
    assert np.isnan(sound.beyond)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_a_power_law_is_read_off_between_rounding_and_saturation(power: float) -> None:
    unit = 2.0**-24
    kappa = 2.0 ** np.arange(24)
    error = np.minimum(unit * kappa**power, 1.0)
    assert slope_of(kappa, error, unit) == pytest.approx(power)


def test_too_few_points_give_no_slope() -> None:
    assert np.isnan(slope_of(2.0 ** np.arange(3), np.full(3, 1e-3), 2.0**-24))
    assert np.isnan(slope_of(2.0 ** np.arange(20), np.full(20, 2.0**-24), 2.0**-24))


def test_the_ladder_is_of_the_case_s_own_kind() -> None:
    half = batch_norm_spec((2, 3, 1), -1, data_format="bfloat16", steps=("training",), layout_x="sliced")
    spec = ladder_spec(half, replace(PURE, compute=(("bfloat16", "float32"),)))
    assert spec.formats == ("float32",) * 3
    assert spec.parameter_axes == (-1,)
    assert spec.n >= 32
    assert spec.layout_x == "contiguous"
    assert applies(half)
    assert not applies(replace(half, steps=("inference",)))


def test_the_drawing_is_the_same_every_time() -> None:
    ladder = ladder_with({"one <pass> & more": CATALOGUE["onepass"].kernel}, ladder_spec(SINGLE, PURE))
    first, second = (ladder_image(ladder, title="a & b", kappa=100.0) for _ in range(2))
    assert first == second
    assert first.startswith(b"<?xml")
    assert b"one &lt;pass&gt; &amp; more" in first
    assert ladder_image(ladder, title="a", form="png").startswith(b"\x89PNG")
