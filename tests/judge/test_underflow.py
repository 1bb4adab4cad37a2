"""Where r³ underflows, a dx without what goes through it is `range`; any other wrong dx is what it is elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.case import Array, batch_norm_spec
from bnfuzz.conventions import Conventions
from bnfuzz.numerics.reference import Reference, reference

from .example import inputs_of, only, verdict

FLUSHING = Conventions(source="test", flushes_subnormals=True)
GRADUAL = Conventions(source="test")


def wide(spread: float, seed: int, conventions: Conventions) -> tuple[Reference, Array]:
    """(reference, the part of dx that goes through the variance) of 8 values with that spread in float32."""
    spec = batch_norm_spec((8, 1), eps=1e-5)
    x = np.random.default_rng(seed).standard_normal(8) * spread
    inputs = inputs_of(spec, seed, x=x, gamma=[1.5])
    deviation, g = (np.asarray(array[0, :, 0], dtype=np.float64) for array in (inputs.x, inputs.cotangent))
    deviation = deviation - deviation.mean()
    root = 1 / np.sqrt(np.mean(deviation**2) + 1e-5)
    return reference(spec, inputs, conventions), 1.5 * root**3 * deviation * np.mean(g * deviation)


def kind(result: Reference, dx: Array) -> str:
    return verdict(result, only(result, "dx", dx), "dx").kind


seeds = st.integers(0, 10_000)
spreads = st.floats(13.0, 17.0).map(lambda exponent: float(10.0**exponent))


@settings(max_examples=60)
@given(spread=spreads, seed=seeds)
def test_what_underflows_may_be_lost(spread: float, seed: int) -> None:
    result, through = wide(spread, seed, FLUSHING)
    exact = result.outputs["dx"].value[0, :, 0]
    assert kind(result, exact) == "ok"
    assert kind(result, exact + through) in ("ok", "range")


@settings(max_examples=60)
@given(spread=spreads, seed=seeds, conventions=st.sampled_from([FLUSHING, GRADUAL]))
def test_nothing_else_is_excused_by_it(spread: float, seed: int, conventions: Conventions) -> None:
    result, through = wide(spread, seed, conventions)
    exact = result.outputs["dx"].value[0, :, 0]
    far = exact + 10 * np.max(np.abs(exact) + np.abs(through))
    assert kind(result, far) == "wrong"
    assert kind(result, np.full(8, np.nan)) == "nonfinite"


@pytest.mark.parametrize(("conventions", "expected"), [(FLUSHING, "range"), (GRADUAL, "wrong")])
def test_gradual_underflow_loses_a_share(conventions: Conventions, expected: str) -> None:
    """At a spread of 1e14 r³ is 1e-42: flushed by some, known to three digits by others."""
    result, through = wide(1e14, 3, conventions)
    assert kind(result, result.outputs["dx"].value[0, :, 0] + through) == expected


def test_a_term_that_overflows_spoils_its_whole_channel() -> None:
    """Found in JAX: it sums g·γ·r² in float16, two terms pass 65504 with opposite signs, and dx is NaN everywhere."""
    spec = batch_norm_spec(
        (4, 1), data_format="float16", parameter_format="float16", statistics_format="float16", eps=1e-5
    )
    x = [0.1, -0.1, 0.05, -0.05]
    inputs = inputs_of(spec, x=x, gamma=[1.0], cotangent=[500.0, 500.0, 0.5, 0.5])
    result = reference(spec, inputs, GRADUAL)
    assert np.isfinite(result.outputs["dx"].value).all()
    assert result.outputs["dx"].flag.all()
    assert kind(result, np.full(4, np.nan)) == "range"
