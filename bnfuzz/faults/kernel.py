"""Batch norm as a set of replaceable steps (Kernel), and one run of them over one trial (Pass).

A step is a plain function of the Pass; what it reads there is computed on demand by the other steps, so the order of
computation is the flow of data itself. All arithmetic is done in the Pass's dtype, the COMPUTE format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bnfuzz.case import Array, Mode, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.faults.geometry import Geometry
from bnfuzz.faults.sums import Total
from bnfuzz.formats import FormatName

Step = Callable[["Pass"], Array]
TwoSteps = Callable[["Pass"], tuple[Array, Array]]
Update = Callable[["Pass", Array], Array]
Access = Callable[[Spec, Array], Array]


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The steps of one implementation. (n, C): a value per element; (1, C): one per statistic.

    read_x, read_cotangent   the array handed over -> its values, in x's shape
    write                    values in x's shape -> y or dx as they are given back
    total                    (n, C) -> (1, C): how sums are accumulated
    eps                      scalar in the compute format
    gamma, beta              (1, C), or (n, C) where they vary within a statistic
    buffers                  old running mean and variance, (1, C)
    mean, variance           of the batch
    statistics               mean and variance that normalise
    inverse_deviation        1/sqrt(variance + eps)
    deviation, normalise     x - mean; that times the inverse deviation
    affine                   y
    cotangent                g, the loss's gradient with respect to y
    dbeta, dgamma            (P,), one number per parameter
    dx                       (n, C)
    updates                  how often this step updates the running statistics
    running_mean, running_var   one update: (Pass, old) -> new
    working                  compute format, where it is not the one that the conventions state
    """

    read_x: Access
    read_cotangent: Access
    write: Access
    total: Total
    eps: Step
    gamma: Step
    beta: Step
    buffers: TwoSteps
    mean: Step
    variance: Step
    statistics: TwoSteps
    inverse_deviation: Step
    deviation: Step
    normalise: Step
    affine: Step
    cotangent: Step
    dbeta: Step
    dgamma: Step
    dx: Step
    updates: Callable[[Pass], int]
    running_mean: Update
    running_var: Update
    working: FormatName | None = None


@dataclass(frozen=True, kw_only=True)
class State:
    """What is carried from one step of a sequence to the next.

    running_*      as stored, in the statistics format; None where the Spec has none
    trained        training steps done so far
    gradients      dgamma and dbeta that the step before gave
    """

    running_mean: Array | None = None
    running_var: Array | None = None
    trained: int = 0
    gradients: Mapping[str, Array] = field(default_factory=dict)


@dataclass(kw_only=True)
class Pass:
    """One step over one trial: what it starts from, and each intermediate result, computed when first asked for.

    given     the arrays as handed over, by name; dtype the compute format's
    """

    kernel: Kernel
    spec: Spec
    conventions: Conventions
    geometry: Geometry
    mode: Mode
    dtype: np.dtype[Any]
    given: Mapping[str, Array]
    state: State

    @property
    def training(self) -> bool:
        return self.mode == "training"

    def scalar(self, value: float) -> Array:
        """A number rounded to the compute format."""
        return self.dtype.type(value)

    def columns(self, values: Array) -> Array:
        """An array of x's shape -> (n, C) in the compute format."""
        return self.geometry.to_columns(values).astype(self.dtype)

    def total(self, terms: Array) -> Array:
        return self.kernel.total(terms)

    def average(self, terms: Array) -> Array:
        """Sum over n values, divided by n with one rounding (n itself need not be a number of the format)."""
        return self.over(self.total(terms), self.geometry.n)

    def over(self, total: Array, count: int) -> Array:
        divisor = self.scalar(count)
        if float(divisor) == count:
            return total / divisor
        return (total.astype(np.float64) / count).astype(self.dtype)

    @cached_property
    def eps(self) -> Array:
        return self.kernel.eps(self)

    @cached_property
    def x(self) -> Array:
        return self.columns(self.kernel.read_x(self.spec, self.given["x"]))

    @cached_property
    def gamma(self) -> Array:
        return self.kernel.gamma(self)

    @cached_property
    def beta(self) -> Array:
        return self.kernel.beta(self)

    @cached_property
    def buffers(self) -> tuple[Array, Array]:
        return self.kernel.buffers(self)

    @cached_property
    def mean(self) -> Array:
        return self.kernel.mean(self)

    @cached_property
    def variance(self) -> Array:
        return self.kernel.variance(self)

    @cached_property
    def statistics(self) -> tuple[Array, Array]:
        return self.kernel.statistics(self)

    @cached_property
    def deviation(self) -> Array:
        return self.kernel.deviation(self)

    @cached_property
    def inverse_deviation(self) -> Array:
        return self.kernel.inverse_deviation(self)

    @cached_property
    def xhat(self) -> Array:
        return self.kernel.normalise(self)

    @cached_property
    def y(self) -> Array:
        return self.kernel.affine(self)

    @cached_property
    def g(self) -> Array:
        return self.kernel.cotangent(self)

    @cached_property
    def h(self) -> Array:
        """The cotangent that dx averages: g, or gamma*g where gamma varies within a statistic."""
        return self.g if self.geometry.per_column else self.gamma * self.g

    @cached_property
    def scale(self) -> Array:
        """What dx multiplies by at the end: gamma/sqrt(variance + eps), without gamma where h holds it."""
        return self.gamma * self.inverse_deviation if self.geometry.per_column else self.inverse_deviation

    @cached_property
    def sum_h(self) -> Array:
        return self.total(self.h)

    @cached_property
    def sum_hx(self) -> Array:
        return self.total(self.h * self.xhat)

    @cached_property
    def mean_h(self) -> Array:
        return self.over(self.sum_h, self.geometry.n)

    @cached_property
    def mean_hx(self) -> Array:
        return self.over(self.sum_hx, self.geometry.n)

    def per_parameter(self, terms: Array) -> Array:
        """(n, C) terms summed for each parameter."""
        return self.total(self.geometry.terms_per_parameter(terms))[0]

    @cached_property
    def dbeta(self) -> Array:
        return self.kernel.dbeta(self)

    @cached_property
    def dgamma(self) -> Array:
        return self.kernel.dgamma(self)

    @cached_property
    def dx(self) -> Array:
        return self.kernel.dx(self)

    @cached_property
    def weights(self) -> tuple[Array, Array]:
        """Weights of the old and of the new statistic: the given one, and 1 minus it."""
        given = self.scalar(self.conventions.momentum_given(self.spec))
        other = self.scalar(1.0) - given
        return (other, given) if self.conventions.momentum_weighs == "new" else (given, other)

    @cached_property
    def running(self) -> tuple[Array, Array] | None:
        """New running mean and variance, (1, C); None where this step leaves them alone."""
        count = self.kernel.updates(self)
        if not count:
            return None
        mean, variance = self.buffers
        for _ in range(count):
            mean, variance = self.kernel.running_mean(self, mean), self.kernel.running_var(self, variance)
        return mean, variance
