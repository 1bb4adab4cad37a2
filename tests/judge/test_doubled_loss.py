"""With the loss mean(y²) the gradients are flagged where y + y, which XLA forms before it divides, may overflow."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.case import batch_norm_spec
from bnfuzz.conventions import Conventions
from bnfuzz.formats import named
from bnfuzz.numerics.reference import Reference, reference

from .example import changed, exact_outputs, inputs_of, verdict

LARGEST = named("float16").largest
GRADIENTS = ("dgamma", "dbeta", "dx")


def half_loss(share: float, n: int) -> Reference:
    """n values ±1 about 0, so that |y| = γ = share·largest/2 in float16, with a deviation of 1."""
    spec = batch_norm_spec((n, 1), eps=1e-5, data_format="float16", cotangent="mean_square")
    x = np.resize([1.0, -1.0], (n, 1))
    return reference(spec, inputs_of(spec, x=x, gamma=[share * LARGEST / 2]), Conventions(source="test"))


sizes = st.integers(1, 8).map(lambda pairs: 2 * pairs)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(share=st.floats(1.05, 1.9), n=sizes)
def test_the_flag_is_set_where_the_sum_overflows(share: float, n: int) -> None:
    result = half_loss(share, n)
    assert all(np.isfinite(result.outputs[name].value).all() for name in GRADIENTS)
    assert all(result.outputs[name].flag.all() for name in GRADIENTS)
    assert not result.outputs["y"].flag.any()


@settings(max_examples=40, derandomize=True, deadline=None)
@given(share=st.floats(1e-3, 0.95), n=sizes)
def test_the_flag_is_not_set_below(share: float, n: int) -> None:
    assert not half_loss(share, n).outputs["dbeta"].flag.any()


def test_an_infinite_gradient_of_the_scale_is_range() -> None:
    """Found in flax: y = ±60064 in float16, dgamma infinite where 2405 is exact."""

    def kind(share: float) -> str:
        result = half_loss(share, 2)
        return verdict(result, changed(exact_outputs(result), "dgamma", (0, 0), np.inf), "dgamma").kind

    assert kind(1.8) == "range"
    assert kind(0.9) == "nonfinite"
