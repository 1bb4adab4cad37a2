"""Memory layouts: the same values, handed over in another arrangement of memory.

    contiguous   C order
    permuted     rank 2: transposed in memory; rank 3 and more: axis 1 last in memory (channels last)
    sliced       every other element of a buffer twice as long in its last axis
    flipped      negative strides along every axis
    zero_stride  stride 0 along each axis in which all values are equal (one at least)
    offset       starts one element into a larger buffer, so that it is aligned to its element only

What lies between and around the elements has all bits set (NaN in every format): a kernel that reads there
shows.
"""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array, Inputs, Layout, Spec


def equal_axes(array: Array) -> tuple[int, ...]:
    """Axes of more than one element along which all values have the same bits."""
    bits = np.array(array, order="C").view(f"u{array.dtype.itemsize}")
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    return tuple(axis for axis in axes if bool((bits == np.take(bits, [0], axis=axis)).all()))


def inexpressible(array: Array, layout: Layout) -> str | None:
    """Why these values cannot be laid out so, or None."""
    if layout == "zero_stride" and not equal_axes(array):
        return "layout zero_stride needs an axis along which all values are equal"
    return None


def unattainable(spec: Spec, inputs: Inputs) -> str | None:
    """Why some trial, or some step of one, cannot have the layouts that the Spec asks for; None where all can."""
    leading = 1 if len(spec.steps) == 1 else 2
    for name, layout in (("x", spec.layout_x), ("cotangent", spec.layout_cotangent)):
        array = getattr(inputs, name)
        if array is None or layout != "zero_stride":
            continue
        for place in np.ndindex(array.shape[:leading]):
            reason = inexpressible(array[place], layout)
            if reason is not None:
                return f"{name}: {reason}"
    return None


def lay_out(array: Array, layout: Layout) -> Array:
    """A fresh array of the same values in the given layout (zero_stride where expressible, else contiguous)."""
    if layout == "permuted" and array.ndim >= 2:
        order = (1, 0) if array.ndim == 2 else (0, *range(2, array.ndim), 1)
        return np.array(array.transpose(order), order="C").transpose(np.argsort(order))
    if layout == "sliced" and array.ndim >= 1:
        buffer = _poisoned((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        return _filled(buffer[..., ::2], array)
    if layout == "flipped":
        every = (slice(None, None, -1),) * array.ndim
        return np.array(array[every], order="C")[every]
    if layout == "zero_stride":
        return _repeated(array, equal_axes(array))
    if layout == "offset":
        buffer = _poisoned((array.size + 2,), array.dtype)
        return _filled(buffer[1:-1].reshape(array.shape), array)
    return np.array(array, order="C")


def memory(array: Array) -> Array:
    """The whole buffer behind an array, gaps included: where a write of any kind would show."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _poisoned(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    return np.full((*shape, dtype.itemsize), 0xFF, np.uint8).view(dtype).reshape(shape)


def _repeated(array: Array, axes: tuple[int, ...]) -> Array:
    """Stride 0 along `axes`. Writable, as every other layout: who writes into it is told so, not stopped by NumPy."""
    once = np.array(array[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(array.ndim))], order="C")
    bits = once.view(f"u{array.dtype.itemsize}")
    strides = tuple(0 if axis in axes else stride for axis, stride in enumerate(once.strides))
    return np.ndarray(array.shape, bits.dtype, buffer=bits, strides=strides).view(array.dtype)


def _filled(view: Array, values: Array) -> Array:
    view[...] = values
    return view
