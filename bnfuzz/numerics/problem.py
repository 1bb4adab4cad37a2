"""What is evaluated: the arrays of a block of trials, and the intermediate result that outputs and gradients share."""

from __future__ import annotations

from dataclasses import dataclass

from bnfuzz.case import Cotangent
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
