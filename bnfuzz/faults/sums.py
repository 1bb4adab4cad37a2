"""Orders of summation: (n, C) terms -> (1, C) sums, every addition done in the terms' own format.

np.sum is not used: it accumulates float16 in float32 and chooses its own order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bnfuzz.case import Array

Total = Callable[[Array], Array]

BLOCK = 32


def pairwise(terms: Array) -> Array:
    """A balanced tree: each level adds the second half to the first. Error growth ceil(log2 n)."""
    if not len(terms):
        return np.zeros((1, terms.shape[1]), terms.dtype)
    while len(terms) > 1:
        half = len(terms) // 2
        added = terms[:half] + terms[half : 2 * half]
        terms = added if len(terms) == 2 * half else np.concatenate([added, terms[2 * half :]])
    return terms


def sequential(terms: Array) -> Array:
    """Left to right: ((a + b) + c) + … Error growth n."""
    return np.add.accumulate(terms, axis=0)[-1:] if len(terms) else pairwise(terms)


def blocked(terms: Array) -> Array:
    """Left to right within blocks of 32, then over the blocks."""
    if not len(terms):
        return pairwise(terms)
    blocks = [sequential(terms[start : start + BLOCK]) for start in range(0, len(terms), BLOCK)]
    return sequential(np.concatenate(blocks))


def kahan(terms: Array) -> Array:
    """Left to right, each addition's rounding error carried into the next (Kahan's compensated sum)."""
    total = pairwise(terms[:0])
    carry = total
    for term in terms:
        corrected = term - carry
        grown = total + corrected
        carry = (grown - total) - corrected
        total = grown
    return total


def wide(terms: Array) -> Array:
    """Accumulated in float64, rounded once to the terms' format."""
    return pairwise(terms.astype(np.float64)).astype(terms.dtype)
