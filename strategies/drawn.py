"""Arrays of one small trial, every value drawn by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.case import Inputs, Spec
from bnfuzz.formats import Format
from bnfuzz.strategies.placement import placed
from bnfuzz.strategies.rounding import Float64, stored
from bnfuzz.strategies.value_recipes import USUAL_EPS

OFFSETS = (0.0, 1.0, -3.0, 10.0, 100.0, -1000.0, 1e4, 1e5, 1e6, -1e7, 1e8, 1e10)
STEPS = (0, -1, 1, -2, 2, -4, 4, -7, 7, -10, 10, -14, 14)
WHOLE_NUMBERS = (0, *(sign * size for size in range(1, 17) for sign in (1, -1)))
GAMMAS = (1.0, 2.0, -1.0, 0.5, 3.0, 0.0, -0.1, 100.0, 1e-3)
BETAS = (0.0, 1.0, -1.0, 0.5, 3.0, 0.1, -100.0, 1e4)
VARIANCES = (1.0, 4.0, 0.25, 2.0, 0.1, 1e-3, 100.0, 1e4)
UNDEFINED = (math.nan, math.inf, -math.inf)
"""What values are drawn from, the simplest first. Exponents of 2 for the steps."""


ROOM = 32
"""Bytes drawn for an array, and the most elements that one of a case drawn value by value should have."""


@st.composite
def drawn_inputs(
    draw: st.DrawFn, spec: Spec, *, allow_nonfinite: bool = False, allow_negative_variance: bool = False
) -> Inputs:
    """One trial's arrays, every value drawn by itself: an offset and a step per channel, and a whole number of steps.

    * ``spec``: what the arrays are for; meant for up to some hundreds of elements.
    * ``allow_nonfinite``: also a NaN or infinity in x; off by default.
    * ``allow_negative_variance``: also negative running variances; off by default.

    Shrinks towards x and cotangent 0, gamma 1, beta 0, running mean 0, running variance 1.

    Drawn: ``x=[[-1.], [3.]]``, ``x=[[1e6, 0.25], [1e6 + 3, -1.5]]``.
    """
    data, parameter, buffer = map(formats.named, spec.formats)
    shape = (len(spec.steps), math.prod(spec.statistics_shape), spec.n)
    channels, parameters = shape[1], math.prod(spec.parameter_shape)
    eps = USUAL_EPS if spec.eps is None else spec.eps
    variances = (*VARIANCES, *((eps,) if eps > 0 else ()), *((-0.5,) if allow_negative_variance else ()))

    # One draw per array, present or not: then this has fewer draws than a plan, and Hypothesis finds it the simpler.
    offset = draw(_listed(_within(OFFSETS, data), channels))[:, None]
    step = 2.0 ** draw(_listed(_steps(data), channels))[:, None]
    x = offset + step * draw(_listed(WHOLE_NUMBERS, math.prod(shape))).reshape(shape)
    g = draw(_listed(WHOLE_NUMBERS, math.prod(shape))).reshape(shape)
    gamma, beta = draw(_listed(GAMMAS, parameters)), draw(_listed(BETAS, parameters))
    mean = draw(_listed((0.0, 1.0, -2.0, math.inf), channels))
    mean = np.where(np.isinf(mean), offset[:, 0], mean)
    variance = draw(_listed(variances, channels))
    if allow_nonfinite and x.size and draw(st.booleans()):
        x.flat[draw(st.integers(0, x.size - 1))] = draw(st.sampled_from(UNDEFINED))
    x_stored, g_stored = stored(x, data, keep_infinities=True), stored(g, data)
    affine, statistics = (1, *spec.parameter_shape), (1, *spec.statistics_shape)
    explicit, running = spec.cotangent == "explicit", spec.has_running
    return Inputs(
        x=placed(spec, x_stored, 1, repeat=spec.layout_x == "zero_stride"),
        gamma=stored(gamma.reshape(affine), parameter) if spec.has_gamma else None,
        beta=stored(beta.reshape(affine), parameter) if spec.has_beta else None,
        running_mean=stored(mean.reshape(statistics), buffer) if running else None,
        running_var=stored(variance.reshape(statistics), buffer) if running else None,
        cotangent=placed(spec, g_stored, 1, repeat=spec.layout_cotangent == "zero_stride") if explicit else None,
    )


def _within(numbers: Sequence[float], format_: Format) -> tuple[float, ...]:
    return tuple(number for number in numbers if abs(number) < format_.largest / 4)


def _steps(format_: Format) -> tuple[int, ...]:
    """Steps whose sixteenfold squares stay finite."""
    return tuple(e for e in STEPS if format_.emin < e < format_.emax // 2 - 4)


def _listed(numbers: Sequence[float], count: int) -> st.SearchStrategy[Float64]:
    """So many of these numbers, each shrinking by itself towards the first; as bytes they are a single draw.

    Some bytes may be left over: a length that does not depend on the shape survives when the shape shrinks.
    """
    table, length = np.array(numbers, np.float64), max(count, ROOM)
    return st.binary(min_size=length, max_size=length).map(
        lambda drawn: table[np.frombuffer(drawn, np.uint8, count) % len(table)]
    )
