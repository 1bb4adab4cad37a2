"""What can be said of each output before anything is computed: the ranges that a bound must beat to say something.

Training:   |y| ≤ |γ|√(n−1) + |β|     |dγ| ≤ √n·‖g‖₂     |dβ| ≤ Σ|g|     |dx| ≤ r·‖γg‖₂
            |μ| ≤ max|x|              σ² ≤ spread²/4     (RMS norm: √n, max x²)
Inference:  the sums of the magnitudes of what is added up.
"""

from __future__ import annotations

import numpy as np

from bnfuzz.numerics.problem import Problem
from bnfuzz.numerics.rules import Rules
from bnfuzz.numerics.values import Float


def ranges(problem: Problem, rules: Rules, variance: Float, y: Float, mode: str) -> dict[str, Float]:
    """output name -> a-priori range, broadcastable against the output with its missing axes as length 1.

    variance   exact, of each group (of the buffers in inference)
    y          exact: what the loss mean(y²) takes its cotangent from
    """
    with np.errstate(all="ignore"):
        gamma = np.ones(()) if problem.gamma is None else np.abs(problem.gamma)
        beta = np.zeros(()) if problem.beta is None else np.abs(problem.beta)
        spread = variance + rules.eps
        root = np.where(spread > 0, 1.0 / np.sqrt(np.where(spread > 0, spread, 1.0)), np.inf)
        cotangent = np.broadcast_to(np.abs(_cotangent(problem, y)), problem.x.shape)
        magnitude = np.abs(problem.x)
        found = {"dbeta": np.sum(cotangent, axis=problem.parameter, keepdims=True)}
        if mode == "training":
            norm, scaled = (
                np.sqrt(np.sum(terms * terms, axis=problem.reduced, keepdims=True))
                for terms in (cotangent, np.broadcast_to(gamma * cotangent, problem.x.shape))
            )
            largest = np.max(magnitude, axis=problem.reduced, keepdims=True)
            half = (
                np.max(problem.x, axis=problem.reduced, keepdims=True)
                - np.min(problem.x, axis=problem.reduced, keepdims=True)
            ) / 2
            found |= {
                "batch_mean": largest,
                "batch_var": half * half if problem.centred else largest * largest,
                "y": gamma * np.sqrt(max(problem.n - problem.centred, 0)) + beta,
                "dgamma": _over_groups(np.sqrt(problem.n) * norm, problem),
                "dx": root * scaled,
            }
        else:
            assert problem.running_mean is not None
            reach = (magnitude + np.abs(problem.running_mean)) * root
            found |= {
                "y": gamma * reach + beta,
                "dgamma": np.sum(cotangent * reach, axis=problem.parameter, keepdims=True),
                "dx": gamma * root * cotangent,
            }
        found |= _running(problem, rules, found)
        return found


def _cotangent(problem: Problem, y: Float) -> Float:
    if problem.loss == "sum":
        return np.ones(())
    if problem.loss == "mean_square":
        return 2.0 * y / problem.size
    assert problem.cotangent is not None
    return problem.cotangent


def _over_groups(per_group: Float, problem: Problem) -> Float:
    """Summed over the groups that share a parameter (layer norm's rows; none for batch norm)."""
    extra = tuple(axis for axis in problem.parameter if per_group.shape[axis] > 1)
    return np.sum(per_group, axis=extra, keepdims=True) if extra else per_group


def _running(problem: Problem, rules: Rules, found: dict[str, Float]) -> dict[str, Float]:
    if problem.running_mean is None or problem.running_var is None:
        return {}
    old_mean, old_var = np.abs(problem.running_mean), np.abs(problem.running_var)
    if "batch_mean" not in found:
        return {"new_running_mean": old_mean, "new_running_var": old_var}
    given, other = abs(rules.momentum), abs(1.0 - rules.momentum)
    new, old = (given, other) if rules.momentum_weighs == "new" else (other, given)
    factor = problem.n / max(problem.n - rules.running_ddof, 1)
    return {
        "new_running_mean": old * old_mean + new * found["batch_mean"],
        "new_running_var": old * old_var + new * found["batch_var"] * factor,
    }
