"""Whole cases: small ones drawn value by value, so that they shrink well, larger ones from a plan."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from hypothesis import event
from hypothesis import strategies as st

from bnfuzz import formats
from bnfuzz.case import Array, Case, Inputs, Spec
from bnfuzz.errors import UsageError
from bnfuzz.formats import Format
from bnfuzz.strategies.cotangents import CotangentName
from bnfuzz.strategies.placement import placed
from bnfuzz.strategies.plans import Vocabulary, label, plans, spec_label, vocabulary_strategy
from bnfuzz.strategies.rounding import Float64, stored
from bnfuzz.strategies.value_recipes import ValueName
from bnfuzz.strategies.values import USUAL_EPS

OFFSETS = (0.0, 1.0, -3.0, 10.0, 100.0, -1000.0, 1e4, 1e5, 1e6, -1e7, 1e8, 1e10)
STEP_EXPONENTS = (0, -1, 1, -2, 2, -4, 4, -7, 7, -10, 10, -14, 14)
GAMMAS = (1.0, 2.0, -1.0, 0.5, 3.0, 0.0, -0.1, 100.0, 1e-3)
BETAS = (0.0, 1.0, -1.0, 0.5, 3.0, 0.1, -100.0, 1e4)
VARIANCES = (1.0, 4.0, 0.25, 2.0, 0.1, 1e-3, 100.0, 1e4)
UNDEFINED = (math.nan, math.inf, -math.inf)


@st.composite
def drawn_inputs(
    draw: st.DrawFn, spec: Spec, *, allow_nonfinite: bool = False, allow_negative_variance: bool = False
) -> Inputs:
    """One trial's arrays, every value drawn by itself: an offset and a step per channel, and a whole number of steps.

    * ``spec``: what the arrays are for; meant for up to some dozens of elements.
    * ``allow_nonfinite``: also a NaN or infinity in x; off by default.
    * ``allow_negative_variance``: also negative running variances; off by default.

    Shrinks towards x and cotangent 0, gamma 1, beta 0, running mean 0, running variance 1.

    Drawn: ``x=[[-1.], [3.]]``, ``x=[[1e6, 0.25], [1e6 + 3, -1.5]]``.
    """
    channels, steps = math.prod(spec.statistics_shape), len(spec.steps)
    data, parameter, buffer = map(formats.named, spec.formats)
    offsets = [draw(st.sampled_from(_within(OFFSETS, data))) for _ in range(channels)]
    x = np.empty((steps, channels, spec.n))
    for channel, offset in enumerate(offsets):
        unit = 2.0 ** draw(st.sampled_from(_steps(data)))
        x[:, channel] = offset + unit * _whole_numbers(draw, 16, (steps, spec.n))
    if allow_nonfinite and x.size and draw(st.booleans()):
        x.flat[draw(st.integers(0, x.size - 1))] = draw(st.sampled_from(UNDEFINED))
    g = _whole_numbers(draw, 4, x.shape) if spec.cotangent == "explicit" else None
    eps = USUAL_EPS if spec.eps is None else spec.eps
    variances = (*VARIANCES, *((eps,) if eps > 0 else ()), *((-0.5,) if allow_negative_variance else ()))
    means = [draw(st.sampled_from((0.0, 1.0, offset, -2.0))) for offset in offsets] if spec.has_running else None
    return Inputs(
        x=placed(spec, stored(x, data, keep_infinities=True), 1, repeat=spec.layout_x == "zero_stride"),
        gamma=_listed(draw, GAMMAS, spec.parameter_shape, parameter) if spec.has_gamma else None,
        beta=_listed(draw, BETAS, spec.parameter_shape, parameter) if spec.has_beta else None,
        running_mean=(
            None if means is None else stored(np.reshape(means, (1, *spec.statistics_shape)).astype(np.float64), buffer)
        ),
        running_var=(_listed(draw, variances, spec.statistics_shape, buffer) if spec.has_running else None),
        cotangent=(
            None if g is None else placed(spec, stored(g, data), 1, repeat=spec.layout_cotangent == "zero_stride")
        ),
    )


def _within(numbers: tuple[float, ...], format_: Format) -> tuple[float, ...]:
    return tuple(number for number in numbers if abs(number) < format_.largest / 4)


def _steps(format_: Format) -> tuple[int, ...]:
    """Steps whose sixteenfold squares stay finite."""
    return tuple(e for e in STEP_EXPONENTS if format_.emin < e < format_.emax // 2 - 4)


def _whole_numbers(draw: st.DrawFn, largest: int, shape: tuple[int, ...]) -> Float64:
    number = st.integers(-largest, largest)
    return np.array([draw(number) for _ in range(math.prod(shape))], np.float64).reshape(shape)


def _listed(draw: st.DrawFn, numbers: tuple[float, ...], shape: tuple[int, ...], format_: Format) -> Array:
    """(1, *shape) values out of a list, in the format."""
    number = st.sampled_from(numbers)
    drawn = np.array([draw(number) for _ in range(math.prod(shape))], np.float64)
    return stored(drawn.reshape(1, *shape), format_)


@st.composite
def cases(
    draw: st.DrawFn,
    vocabulary: Vocabulary | None = None,
    *,
    drawn_size: int = 16,
    values: Collection[ValueName] | None = None,
    cotangents: Collection[CotangentName] | None = None,
    allow_nonfinite: bool = False,
    allow_negative_variance: bool = False,
) -> Case:
    """A case, ready to be run and judged. Says by `event` what it is made of, see `label`.

    * ``vocabulary``: a Spec, a sequence of Specs to choose from, or a strategy; `specs()` by default.
    * ``drawn_size``: with up to so many elements half of the cases are drawn value by value; 16 by default, 0 for none.
    * ``values``, ``cotangents``: families for the rest, see `plans`; all by default. With ``values`` or ``cotangents``
      given nothing is drawn value by value.
    * ``allow_nonfinite``, ``allow_negative_variance``: as in `plans`; off by default.

    Shrinks towards the first Spec, values drawn one by one: x and cotangent 0, gamma 1, beta 0.

    Drawn: ``Case(spec=Spec(shape=(2, 2), …), inputs=Inputs(x=[[[0., 0.], [0., 1.]]], gamma=[[1., 1.]], …))``,
    ``Case(spec=Spec(shape=(3, 4, 5), …), inputs=Inputs(x=[[[[1021.2, …]]]], gamma=[[-0.37, …]], …))``.
    """
    if drawn_size < 0:
        raise UsageError(f"drawn_size={drawn_size} must not be negative; 0 draws no case value by value")
    spec = draw(vocabulary_strategy(vocabulary))
    # With eps = 0 values drawn one by one would be constant, thus undefined, too often.
    by_value = spec.size * len(spec.steps) <= drawn_size and spec.eps != 0.0 and values is None and cotangents is None
    if by_value and draw(st.integers(0, 1)) == 0:
        labels: tuple[str, ...] = (*spec_label(spec), "values: one by one")
        inputs = draw(
            drawn_inputs(spec, allow_nonfinite=allow_nonfinite, allow_negative_variance=allow_negative_variance)
        )
    else:
        plan = draw(
            plans(
                spec,
                values=values,
                cotangents=cotangents,
                allow_nonfinite=allow_nonfinite,
                allow_negative_variance=allow_negative_variance,
            )
        )
        labels, inputs = label(plan), plan.expand(1)
    for text in labels:
        event(text)
    return Case(spec=spec, inputs=inputs)
