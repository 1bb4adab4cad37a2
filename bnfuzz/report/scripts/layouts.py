"""Memory layouts in NumPy alone: the lines that arrange an array as bnfuzz.layouts does."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array, Layout
from bnfuzz.layouts import equal_axes


def layout_lines(name: str, layout: Layout, array: Array, gap: str = "np.nan") -> list[str]:
    """Lines that put the NumPy array called `name`, of these values, into another arrangement of memory.

    gap   the value between and around the elements, where the arrangement has room for one
    """
    rank = array.ndim
    if layout == "permuted" and rank >= 2:
        order = (1, 0) if rank == 2 else (0, *range(2, rank), 1)
        back = tuple(int(axis) for axis in np.argsort(order))
        return [f"{name} = np.ascontiguousarray({name}.transpose({order})).transpose({back})"]
    if layout == "sliced":
        shape = (*array.shape[:-1], 2 * array.shape[-1])
        return [
            f"buffer = np.full({shape}, {gap}, {name}.dtype)",
            f"buffer[..., ::2] = {name}",
            f"{name} = buffer[..., ::2]",
        ]
    if layout == "flipped":
        every = ", ".join(["::-1"] * rank)
        return [f"{name} = np.ascontiguousarray({name}[{every}])[{every}]"]
    if layout == "zero_stride":
        equal = equal_axes(array)
        first = ", ".join(":1" if axis in equal else ":" for axis in range(rank))
        return [f"{name} = np.broadcast_to({name}[{first}].copy(), {name}.shape)"]
    if layout == "offset":
        return [
            f"buffer = np.full({name}.size + 2, {gap}, {name}.dtype)",
            f"buffer[1:-1] = {name}.ravel()",
            f"{name} = buffer[1:-1].reshape({name}.shape)",
        ]
    return []
