"""Sequences: several steps of one Spec, the running statistics carried along."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from bnfuzz.case import Mode, Spec
from bnfuzz.errors import UsageError

SEQUENCES: tuple[tuple[Mode, ...], ...] = (
    ("training", "training"),
    ("training", "inference"),
    ("training", "training", "inference"),
    ("training", "inference", "training"),
    ("inference", "training"),
    ("training", "training", "training", "inference"),
)
"""Short ones: a fault of the state carried along shows by the third step, and every step costs as much as a trial."""

_STEPS = st.sampled_from(SEQUENCES)


@st.composite
def sequences(draw: st.DrawFn, vocabulary: st.SearchStrategy[Spec]) -> Spec:
    """A Spec of two to four steps, at least one of them training.

    * ``vocabulary``: a strategy of Specs; each is given more steps, and running statistics to carry.

    Shrinks towards two training steps of the first Spec.

    Drawn from ``sequences(specs())``: ``Spec(shape=(3, 2), …, steps=('training', 'inference'))``,
    ``Spec(shape=(2, 5), …, steps=('training', 'training', 'inference'))``.
    """
    spec = draw(vocabulary)
    if 0 in spec.shape:
        raise UsageError(f"shape={spec.shape} has no elements; a sequence has state to learn from values")
    return replace(spec, steps=draw(_STEPS), has_running=True)
