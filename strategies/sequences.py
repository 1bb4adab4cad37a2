"""Sequences: several steps of one Spec, the running statistics carried along."""

from __future__ import annotations

from collections.abc import Collection
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


@st.composite
def sequences(draw: st.DrawFn, vocabulary: st.SearchStrategy[Spec], *, modes: Collection[Mode] | None = None) -> Spec:
    """A Spec of two to four steps, at least one of them training.

    * ``vocabulary``: a strategy of Specs; each is given more steps, and running statistics to carry.
    * ``modes``: of the steps; both by default.

    Shrinks towards two training steps of the first Spec.

    Drawn from ``sequences(specs())``: ``Spec(shape=(3, 2), …, steps=('training', 'inference'))``,
    ``Spec(shape=(2, 5), …, steps=('training', 'training', 'inference'))``.
    """
    spec = draw(vocabulary)
    if 0 in spec.shape:
        raise UsageError(f"shape={spec.shape} has no elements; a sequence has state to learn from values")
    return replace(spec, steps=draw(st.sampled_from(_of(modes))), has_running=True)


def _of(modes: Collection[Mode] | None) -> tuple[tuple[Mode, ...], ...]:
    """The sequences without any other mode."""
    chosen = tuple(steps for steps in SEQUENCES if modes is None or set(steps) <= set(modes))
    if not chosen:
        raise UsageError(f"modes={modes!r} leaves no sequence; include training")
    return chosen
