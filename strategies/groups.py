"""Specs of group norm."""

from __future__ import annotations

from hypothesis import strategies as st

from bnfuzz.case import Spec
from bnfuzz.strategies.formats import format_triples
from bnfuzz.strategies.parameters import eps_values

_EPS, _TRIPLES = eps_values(minimum=1e-12), format_triples()
_SAMPLES, _GROUPS, _CHANNELS, _POSITIONS = (st.integers(1, most) for most in (3, 4, 4, 5))


@st.composite
def group_norms(draw: st.DrawFn) -> Spec:
    """A group norm of one training step: x is (samples, groups, channels of a group, positions), the last two reduced.

    gamma and beta hold one number per channel. Shrinks towards one sample, one group, one channel, one position.

    Drawn: ``Spec(operation='group_norm', shape=(2, 3, 1, 4), reduced_axes=(2, 3), parameter_axes=(1, 2), …)``,
    ``Spec(operation='group_norm', shape=(1, 2, 4, 5), reduced_axes=(2, 3), parameter_axes=(1, 2), …)``.
    """
    shape = (draw(_SAMPLES), draw(_GROUPS), draw(_CHANNELS), draw(_POSITIONS))
    data_format, parameter_format, statistics_format = draw(_TRIPLES)
    return Spec(
        operation="group_norm",
        shape=shape,
        reduced_axes=(2, 3),
        parameter_axes=(1, 2),
        data_format=data_format,
        parameter_format=parameter_format,
        statistics_format=statistics_format,
        eps=draw(_EPS),
        has_running=False,
    )
