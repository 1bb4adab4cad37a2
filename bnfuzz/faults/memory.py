"""Faults of memory: strides ignored, inputs overwritten, one channel's values reaching another, padding counted."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array, Spec
from bnfuzz.faults import textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass


def in_memory_order(array: Array) -> Array:
    """The buffer behind a view, read from its start in the order of memory, as if the view were contiguous."""
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return np.resize(whole.ravel(order="K"), array.shape)


def x_in_memory_order(spec: Spec, values: Array) -> Array:
    return values if spec.layout_x == "contiguous" else in_memory_order(values)


def cotangent_in_memory_order(spec: Spec, values: Array) -> Array:
    return values if spec.layout_cotangent == "contiguous" else in_memory_order(values)


def normalised_in_place(p: Pass) -> Array:
    xhat = textbook.normalise(p)
    x = p.given["x"]
    x[...] = p.geometry.from_columns(xhat).astype(x.dtype)
    return xhat


def leaking_mean(p: Pass) -> Array:
    """A masked sum over all channels: finite values meet a 0, NaN and Inf survive it."""
    others = p.total(p.x).sum(axis=1, keepdims=True, dtype=p.dtype)
    return textbook.mean(p) + p.scalar(0.0) * others


def padded_variance(p: Pass) -> Array:
    """Rows of a tile beyond n hold 0, so each adds (0 - mean)^2."""
    n = p.geometry.n
    padding = (1 << max(n - 1, 0).bit_length()) - n
    deviation = p.x - p.mean
    return p.over(p.total(deviation * deviation) + p.scalar(padding) * p.mean * p.mean, n)


FAULTS = (
    fault(
        "shape_from_memory",
        "strides are ignored: the buffer of x is read in memory order",
        shows=Example(layout_x="permuted"),
        read_x=x_in_memory_order,
    ),
    fault(
        "grad_layout",
        "strides of the cotangent are ignored",
        shows=Example(layout_cotangent="permuted"),
        read_cotangent=cotangent_in_memory_order,
    ),
    fault("alias_x", "x is normalised in place", judged="mutated", normalise=normalised_in_place),
    fault(
        "cross_channel_leak",
        "a NaN or Inf of one channel reaches the others",
        judged="leak",
        shows=Example(family="nonfinite"),
        mean=leaking_mean,
    ),
    fault(
        "pad_lanes",
        "the zeros that pad n to a power of two count in the variance",
        shows=Example(shape=(5, 3)),
        variance=padded_variance,
    ),
)
