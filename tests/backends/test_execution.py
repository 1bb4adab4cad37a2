"""What a step of a sequence does not give is marked in every memory order and shape."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bnfuzz import formats
from bnfuzz.backends.execution import _absent, is_absent


@pytest.mark.parametrize("name", sorted(formats.FORMATS))
@pytest.mark.parametrize("shape", [(), (1,), (3, 2), (2, 0, 3)])
def test_the_mark_has_the_shape_and_format_of_the_output(name: formats.FormatName, shape: tuple[int, ...]) -> None:
    like = np.zeros(shape, formats.named(name).dtype)
    marked = _absent(like)
    assert (marked.shape, marked.dtype) == (like.shape, like.dtype)
    assert is_absent(marked) == (like.size > 0)
    assert not is_absent(like)


@pytest.mark.parametrize("order", ["transposed", "strided", "Fortran"])
def test_outputs_that_are_not_in_c_order_are_marked_too(order: str) -> None:
    rows: NDArray[np.float32] = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    like = {"transposed": np.moveaxis(rows, 0, -1), "strided": rows[:, ::2], "Fortran": np.asfortranarray(rows)}[order]
    assert is_absent(_absent(like))
    assert _absent(like).shape == like.shape
