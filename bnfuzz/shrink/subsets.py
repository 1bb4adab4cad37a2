"""Which positions along an axis to keep: few, and likely to keep what matters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from bnfuzz.case import Array

MOST = 24
"""Subsets of one size that are tried at most."""

_PATIENCE = 4
"""Halvings between the largest size that failed to serve and the smallest that served."""


def sizes(n: int, smallest: int) -> tuple[int, ...]:
    """Sizes to try in place of n, the most hopeful reduction first: 1 or 2, 3, 4, then doubling, then n - 1."""
    ladder = [1, 2, 3, 4]
    while 2 * ladder[-1] < n:
        ladder.append(2 * ladder[-1])
    ladder += [n - n // 2**k for k in range(2, _PATIENCE + 1)] + [n - 1]
    return tuple(sorted({size for size in ladder if smallest <= size < n}))


def subsets(values: Array, size: int, worst: int | None) -> tuple[tuple[int, ...], ...]:
    """Up to MOST ascending index tuples of this size: extremes, neighbours of the worst, ends, chunks, leaving out."""
    n = len(values)
    if size >= n:
        return (tuple(range(n)),) if size == n else ()
    found: dict[tuple[int, ...], None] = {}
    for candidate in _proposals(values, size, worst):
        chosen = tuple(sorted(set(candidate)))
        if len(chosen) == size and chosen[0] >= 0 and chosen[-1] < n:
            found.setdefault(chosen)
        if len(found) >= MOST:
            break
    return tuple(found)


def _proposals(values: Array, size: int, worst: int | None) -> Iterator[tuple[int, ...]]:
    n = len(values)
    order = [int(i) for i in np.argsort(values, kind="stable")]
    low, high = size // 2, size - size // 2
    if worst is not None:
        others = [i for i in order if i != worst]
        yield (worst, *others[: size - 1])
        yield (worst, *others[len(others) - (size - 1) :])
        with np.errstate(all="ignore"):
            distance = np.nan_to_num(np.abs(values - values[worst]), nan=np.inf)
        near = sorted(others, key=lambda i: (distance[i], i))
        yield (worst, *near[: size - 1])
        yield (worst, *near[len(near) - (size - 1) :])
    yield (*order[:low], *order[n - high :])
    yield tuple(order[:size])
    yield tuple(order[n - size :])
    yield tuple(range(size))
    yield tuple(range(n - size, n))
    yield tuple(np.linspace(0, n - 1, size).round().astype(int).tolist())
    if math.comb(n, size) <= MOST:
        yield from combinations(range(n), size)
    if size == 2 and worst is not None:
        yield from ((worst, other) for other in order if other != worst)
    if n - size <= size:
        # Close to n: leave out one chunk after the other.
        gap = n - size
        yield from ((*range(start), *range(start + gap, n)) for start in range(0, n, gap))
    yield from (tuple(range(start, start + size)) for start in range(0, n - size + 1, size))
    yield from (tuple(order[start : start + size]) for start in range(0, n - size + 1, max(1, size // 2)))
