"""Specs of arrays without elements."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from bnfuzz.case import Spec


@st.composite
def empty_specs(draw: st.DrawFn, vocabulary: st.SearchStrategy[Spec]) -> Spec:
    """A Spec with one axis of length 0: no values, or no channels.

    * ``vocabulary``: a strategy of Specs, each of which loses one axis; in C order, nothing being there to lay out.

    Shrinks towards no values of the first Spec.

    Drawn from ``empty_specs(specs())``: ``Spec(shape=(0, 3), …)``, ``Spec(shape=(2, 0, 4), parameter_axes=(1,), …)``.
    """
    spec = draw(vocabulary)
    axis = draw(st.integers(0, spec.rank - 1))
    shape = tuple(0 if place == axis else size for place, size in enumerate(spec.shape))
    return replace(spec, shape=shape, layout_x="contiguous", layout_cotangent="contiguous")
