"""What is evaluated: the arrays of a block of trials, and the intermediate result that outputs and gradients share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnfuzz.case import Array, Cotangent, Inputs, Spec
from bnfuzz.numerics.rules import Rules
from bnfuzz.numerics.tracked import Tracked
from bnfuzz.numerics.values import Float


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Finite float64 arrays that broadcast against x, and which axes (negative) are summed over.

    reduced     axes of the statistics
    parameter   axes that gradients of gamma and beta are summed over
    centred     False for RMS norm, where μ = 0
    """

    x: Float
    gamma: Float | None
    beta: Float | None
    running_mean: Float | None
    running_var: Float | None
    cotangent: Float | None
    loss: Cotangent
    size: int
    n: int
    reduced: tuple[int, ...]
    parameter: tuple[int, ...]
    centred: bool = True

    @property
    def gamma_varies(self) -> bool:
        """γ is not one number per statistic, as in layer norm: it cannot be taken out of the means of dx."""
        return self.gamma is not None and any(self.gamma.shape[axis] > 1 for axis in self.reduced)


@dataclass(frozen=True, eq=False)
class Normalised:
    """What both modes hand on: the centred data, 1/√(var + ε), and their product."""

    deviation: Tracked
    root: Tracked
    xhat: Tracked


def problem_of(spec: Spec, inputs: Inputs, rules: Rules) -> Problem:
    """The arrays as float64, parameters and statistics with their missing axes as length 1."""
    rank = spec.rank
    trials = inputs.trials

    def along(array: Array | None, axes: tuple[int, ...]) -> Float | None:
        if array is None:
            return None
        wide = np.asarray(array, dtype=np.float64)
        order = sorted(range(len(axes)), key=lambda position: axes[position])
        wide = np.transpose(wide, (0, *(1 + position for position in order)))
        return wide.reshape(trials, *(spec.shape[axis] if axis in axes else 1 for axis in range(rank)))

    gamma = None if rules.fix_gamma else along(inputs.gamma, spec.affine_axes)
    return Problem(
        x=np.asarray(inputs.x, dtype=np.float64),
        gamma=gamma,
        beta=along(inputs.beta, spec.affine_axes),
        running_mean=along(inputs.running_mean, spec.kept_axes),
        running_var=along(inputs.running_var, spec.kept_axes),
        cotangent=None if inputs.cotangent is None else np.asarray(inputs.cotangent, dtype=np.float64),
        loss=spec.cotangent,
        size=spec.size,
        n=spec.n,
        reduced=tuple(axis - rank for axis in spec.reduced_axes),
        parameter=tuple(axis - rank for axis in range(rank) if axis not in spec.affine_axes),
        centred=spec.operation != "rms_norm",
    )


def parameter_order(spec: Spec, array: Array) -> Array:
    """(K, sizes along ascending parameter axes) -> (K, *parameter_shape), in the order the Spec names the axes."""
    axes = spec.affine_axes
    ascending = sorted(axes)
    return np.transpose(array, (0, *(1 + ascending.index(axis) for axis in axes)))
