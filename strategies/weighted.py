"""Choosing among named things with stated weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from hypothesis import strategies as st

from bnfuzz.errors import UsageError

T = TypeVar("T")


def weighted(weights: Mapping[T, int]) -> st.SearchStrategy[T]:
    """One of the keys, each as often as its weight says.

    * ``weights`` maps each key to a whole number; a key of weight 0 is never drawn.

    Shrinks towards the first key that can be drawn.

    Drawn from ``weighted({"plain": 9, "rare": 1})``: ``'plain'``, ``'rare'``.
    """
    repeated = tuple(key for key, weight in weights.items() for _ in range(weight))
    if not repeated:
        raise UsageError(f"weights={dict(weights)!r} leave nothing to draw; give at least one a weight of 1 or more")
    return st.sampled_from(repeated)


def subset(
    name: str,
    weights: Mapping[T, int],
    allowed: object,
) -> st.SearchStrategy[T]:
    """`weighted` over the keys that the caller allows.

    * ``name`` is what the argument is called, for the message.
    * ``allowed`` is None (all keys) or a collection of keys; one that has weight 0 by default is drawn as often as
      the rarest.

    Shrinks towards the first allowed key in the order of ``weights``.

    Drawn from ``subset("modes", {"training": 3, "inference": 1}, ("inference",))``: ``'inference'``, ``'inference'``.
    """
    if allowed is None:
        return weighted(weights)
    if isinstance(allowed, str) or not hasattr(allowed, "__iter__"):
        raise UsageError(f"{name}={allowed!r} must be a collection; write ({allowed!r},)")
    chosen = tuple(allowed)
    for key in chosen:
        if key not in weights:
            raise UsageError(f"{name} holds {key!r}, which is not known; use some of {', '.join(map(str, weights))}")
    if not chosen:
        raise UsageError(f"{name}={allowed!r} is empty; allow at least one of {', '.join(map(str, weights))}")
    return weighted({key: max(weight, 1) for key, weight in weights.items() if key in chosen})
