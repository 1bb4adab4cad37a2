"""dx is flagged where d·Σg·x̂, which oneDNN forms before it divides by n, may overflow; and not far below that."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.case import batch_norm_spec
from bnfuzz.conventions import Conventions
from bnfuzz.formats import named
from bnfuzz.numerics.reference import reference

from .example import changed, exact_outputs, inputs_of, verdict

PLAIN = Conventions(source="test")
LARGEST = named("float32").largest


def outlier(n: int, scale: float, gamma: float, share: float):
    """(reference, inputs): a channel of n values about 0 with one far out, which makes max|d| = √(n−1)·σ; the
    cotangent along x̂, so that Σ|g·x̂| = Σg·x̂ = share·largest/max|d|, and Σ|g·d| is √(n−1) times less than their product.
    """
    x = np.array([*(-1.0) ** np.arange(n - 1) * 0.1, 20.0]) * scale
    deviation = x - x.mean()
    xhat = deviation / np.sqrt(np.mean(deviation**2))
    cotangent = xhat * (share * LARGEST / np.abs(deviation).max() / np.sum(xhat**2))
    spec = batch_norm_spec((n, 1), eps=1e-3)
    inputs = inputs_of(spec, x=x, gamma=[gamma], cotangent=cotangent)
    return reference(spec, inputs, PLAIN)


plain = {"n": st.integers(12, 40), "scale": st.floats(1.0, 100.0), "gamma": st.floats(1e-7, 1e-3)}


@settings(max_examples=60, derandomize=True, deadline=None)
@given(**plain, share=st.floats(1.05, 2.0))
def test_the_flag_is_set_where_the_product_overflows(n, scale, gamma, share):
    result = outlier(n, scale, gamma, share)
    dx = result.outputs["dx"]
    assert np.isfinite(dx.value).all()
    assert dx.flag[0, n - 1, 0], "the outlier's own product overflows"


@settings(max_examples=60, derandomize=True, deadline=None)
@given(**plain, share=st.floats(1e-12, 0.5))
def test_the_flag_is_not_set_below(n, scale, gamma, share):
    assert not outlier(n, scale, gamma, share).outputs["dx"].flag.any()


@settings(max_examples=60, derandomize=True, deadline=None)
@given(**plain, share=st.floats(1.05, 2.0), at=st.integers(0, 11))
def test_only_the_elements_whose_product_overflows_are_flagged(n, scale, gamma, share, at):
    """The others' deviations are some √(n−1) times smaller, and their products stay far below the largest number."""
    dx = outlier(n, scale, gamma, share).outputs["dx"]
    assert not dx.flag[0, at % (n - 1), 0]


def test_a_campaign_s_case_is_range():
    """Found in oneDNN: with x̂ = −2 and d = −1121 at the last value, Σg·x̂ is 4e35, d times it overflows, and dx is NaN
    where some 1e26 is exact."""
    x = [934.9, 138.6, 806.9, 119.9, 490.8, 321.2, -838.8]
    spec = batch_norm_spec((7, 1), eps=1e-3)

    def kind(cotangent):
        result = reference(spec, inputs_of(spec, x=x, gamma=[-1.8e-6], cotangent=[0.0] * 6 + [cotangent]), PLAIN)
        return verdict(result, changed(exact_outputs(result), "dx", (0, 6, 0), np.nan), "dx").kind

    assert kind(-2e35) == "range"
    assert kind(-2e34) == "nonfinite"
