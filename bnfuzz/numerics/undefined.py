"""Inputs for which an output has no defined value: one table.

    NaN or Inf in x (training)           the channel's outputs, all but dβ of a given cotangent
    NaN or Inf in γ, β, g                what depends on it
    NaN or Inf in the buffers, or        inference: the channel's y, dx, dγ;
      var + ε ≤ 0                        training: the running statistics it is blended into
    σ² = 0 and ε = 0                     y, dγ, dx of the channel; the statistics are as usual
    ε < 0, NaN or Inf                    everything that is divided by the root
    a momentum that is NaN or Inf        training: the new running statistics
    n = 1 with ddof 1                    the new running variance, where the backend's rule says NaN

Undefined elements are never judged, and the values they come from are replaced before the reference is
evaluated, so that they cannot reach other channels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bnfuzz.numerics.problem import Problem
from bnfuzz.numerics.rules import Rules
from bnfuzz.numerics.tracked import Flag
from bnfuzz.numerics.values import Float


@dataclass(frozen=True, eq=False)
class Undefined:
    """`masks`: output name -> boolean, broadcastable to that output with reduced axes kept; `problem` and `rules` are
    what is evaluated: the given ones with harmless values in the place of the undefined."""

    problem: Problem
    rules: Rules
    masks: dict[str, Flag]


def _bad(array: Float | None) -> Flag:
    return np.zeros((), dtype=bool) if array is None else ~np.isfinite(array)


def _cleaned(array: Float | None, fill: float) -> Float | None:
    return None if array is None else np.where(np.isfinite(array), array, fill)


def separate(problem: Problem, rules: Rules, mode: str) -> Undefined:
    """The masks of undefined outputs, and the problem with harmless values in their place."""
    channel_x = np.any(_bad(problem.x), axis=problem.reduced, keepdims=True)
    eps_bad = not (np.isfinite(rules.eps) and rules.eps >= 0)
    bad_mean, bad_var = _bad(problem.running_mean), _bad(problem.running_var)
    if mode == "training":
        low = np.min(problem.x, axis=problem.reduced, keepdims=True, initial=np.inf)
        high = np.max(problem.x, axis=problem.reduced, keepdims=True, initial=-np.inf)
        flat = (low == high) & (problem.centred | (low == 0.0))
        root = channel_x | eps_bad | (flat & (rules.eps == 0.0))
    else:
        assert problem.running_var is not None
        with np.errstate(invalid="ignore"):
            root = bad_mean | bad_var | ~(problem.running_var + rules.eps > 0) | eps_bad
    bad_gamma, bad_beta, bad_g = _bad(problem.gamma), _bad(problem.beta), _bad(problem.cotangent)
    own_x = channel_x if mode == "training" else _bad(problem.x)
    y = root | own_x | bad_gamma | bad_beta
    g = y if problem.loss == "mean_square" else bad_g
    group_g = np.any(np.broadcast_to(g, problem.x.shape), axis=problem.reduced, keepdims=True)
    dgamma_terms = np.broadcast_to(root | own_x | g, problem.x.shape)
    dbeta_terms = np.broadcast_to(g, problem.x.shape)
    group_gamma = np.any(np.broadcast_to(bad_gamma, problem.x.shape), axis=problem.reduced, keepdims=True)
    dx = root | (channel_x | group_g | group_gamma if mode == "training" else g | bad_gamma)
    masks = {
        "batch_mean": channel_x,
        "batch_var": channel_x,
        "y": y,
        "dgamma": np.any(dgamma_terms, axis=problem.parameter, keepdims=True),
        "dbeta": np.any(dbeta_terms, axis=problem.parameter, keepdims=True),
        "dx": dx,
        "new_running_mean": bad_mean | (channel_x if mode == "training" else False),
        "new_running_var": bad_var | (channel_x if mode == "training" else False),
    }
    if mode == "training" and not np.isfinite(rules.momentum):
        masks |= {name: np.ones_like(channel_x) for name in ("new_running_mean", "new_running_var")}
    no_factor = mode == "training" and rules.running_ddof and problem.n <= rules.running_ddof
    if no_factor and rules.single_value_variance == "nan":
        masks["new_running_var"] = np.ones_like(channel_x)
    cleaned = replace(
        problem,
        x=np.where(channel_x, 0.0, problem.x) if mode == "training" else np.where(own_x, 0.0, problem.x),
        gamma=_cleaned(problem.gamma, 1.0),
        beta=_cleaned(problem.beta, 0.0),
        running_mean=_cleaned(problem.running_mean, 0.0),
        running_var=_cleaned(problem.running_var, 1.0),
        cotangent=_cleaned(problem.cotangent, 0.0),
    )
    harmless = replace(
        rules,
        eps=1.0 if eps_bad else rules.eps,
        momentum=rules.momentum if np.isfinite(rules.momentum) else 0.0,
    )
    return Undefined(cleaned, harmless, masks)
