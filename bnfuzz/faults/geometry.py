"""Axes: x of any rank as textbook columns (n values of each of C statistics), and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bnfuzz.case import Array, Spec


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """Where the elements of x lie once the reduced axes come first and the others last.

    n, columns     values of one statistic, number of statistics
    batch          length of the first reduced axis (the samples; 1 where nothing is reduced); n = batch * spatial
    per_column     gamma and beta hold one number per statistic, in the same order (batch norm)
    """

    n: int
    columns: int
    batch: int
    per_column: bool
    shape: tuple[int, ...]
    order: tuple[int, ...]
    back: tuple[int, ...]
    affine_axes: tuple[int, ...]

    @property
    def spatial(self) -> int:
        return self.n // self.batch if self.batch else 0

    def to_columns(self, array: Array) -> Array:
        """x's shape -> (n, C)."""
        return array.transpose(self.order).reshape(self.n, self.columns)

    def from_columns(self, columns: Array) -> Array:
        """(n, C) -> x's shape."""
        return columns.reshape([self.shape[axis] for axis in self.order]).transpose(self.back)

    def parameter_to_columns(self, parameter: Array) -> Array:
        """gamma or beta -> (1, C), or (n, C) where it varies within a statistic (layer norm)."""
        if self.per_column:
            return parameter.reshape(1, self.columns)
        ascending = parameter.transpose(sorted(range(parameter.ndim), key=self.affine_axes.__getitem__))
        widened = ascending.reshape([size if axis in self.affine_axes else 1 for axis, size in enumerate(self.shape)])
        return self.to_columns(np.broadcast_to(widened, self.shape))

    def terms_per_parameter(self, columns: Array) -> Array:
        """(n, C) terms of a gradient -> (m, P): the m terms that each of P parameters sums."""
        if self.per_column:
            return columns
        others = [axis for axis in range(len(self.shape)) if axis not in self.affine_axes]
        terms = math.prod(self.shape[axis] for axis in others)
        parameters = math.prod(self.shape[axis] for axis in self.affine_axes)
        return self.from_columns(columns).transpose([*others, *self.affine_axes]).reshape(terms, parameters)


@lru_cache(maxsize=256)
def geometry(spec: Spec) -> Geometry:
    """The Geometry of a Spec."""
    order = (*spec.reduced_axes, *spec.kept_axes)
    return Geometry(
        n=spec.n,
        columns=math.prod(spec.statistics_shape),
        batch=spec.shape[spec.reduced_axes[0]] if spec.reduced_axes else 1,
        per_column=spec.affine_axes == spec.kept_axes,
        shape=spec.shape,
        order=order,
        back=tuple(sorted(range(len(order)), key=order.__getitem__)),
        affine_axes=spec.affine_axes,
    )
