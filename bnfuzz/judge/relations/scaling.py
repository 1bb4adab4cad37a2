"""Scaling: x → 2^k·x, ε → 4^k·ε leaves x̂ and y unchanged.

Every operation up to x̂ then meets its old operands times a power of two, and rounds alike: mean and deviations by
2^k, variance and ε by 4^k, 1/√ by 2^-k. Likewise dx by 2^-k, and the buffers with the statistics. In exact numbers
this is an identity; bit for bit it holds wherever nothing overflows or becomes subnormal.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Inputs, Spec
from bnfuzz.judge.relations.relation import Draws, Relation, Variant

LARGEST_EXPONENT = 4

POWERS = {
    "x": 1,
    "running_mean": 1,
    "batch_mean": 1,
    "new_running_mean": 1,
    "running_var": 2,
    "batch_var": 2,
    "new_running_var": 2,
    "dx": -1,
}
"""Input or output -> the power of 2^k that it is multiplied by; the others stay."""


def vary(spec: Spec, inputs: Inputs, draws: Draws) -> Variant | str:
    if spec.size == 0:
        return "there are no values"
    if spec.eps is None:
        return "eps is the backend's default, which cannot be scaled"
    k = int(draws[0].integers(1, LARGEST_EXPONENT + 1) * draws[0].choice((-1, 1)))
    scaled, exact = {}, np.ones(inputs.trials, dtype=bool)
    for name, array in inputs.items():
        scaled[name], same = _scaled(array, POWERS.get(name, 0) * k)
        exact &= same
    if not exact.any():
        return f"times 2^{k} the values leave their format"

    def back(name: str, array: Array) -> Array:
        return np.ldexp(np.asarray(array, np.float64), -POWERS.get(name, 0) * k)

    return Variant(
        spec=replace(spec, eps=float(np.ldexp(spec.eps, 2 * k))),
        inputs=Inputs(**scaled),
        what=tuple(f"x times 2^{k}, eps times 4^{k}" if same else "" for same in exact),
        back=back,
    )


def _scaled(array: Array, exponent: int) -> tuple[Array, Array]:
    """(array·2^exponent, per trial: whether that is exact, with every value normal and finite, or 0, NaN or Inf)."""
    wide = np.asarray(array, np.float64)
    with np.errstate(over="ignore", under="ignore"):
        moved = np.ldexp(wide, exponent)
        new = moved.astype(array.dtype)
    fmt = formats.of(array)
    size = np.abs(moved)
    normal = (size >= fmt.smallest_normal) & (size <= fmt.largest)
    fits = normal | (wide == 0) | ~np.isfinite(wide)
    return new, fits.reshape(len(array), -1).all(axis=1)


SCALING = Relation(
    name="scaling",
    says="x times 2^k with eps times 4^k leaves y unchanged, within bounds; bit for bit barring over- and underflow",
    exact=False,
    vary=vary,
)
