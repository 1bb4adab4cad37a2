"""Faults of gamma and beta."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.faults import scopes, textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass


def folded(p: Pass) -> Array:
    scale = p.gamma * p.inverse_deviation
    return scale * p.x + (p.beta - scale * p.statistics[0])


def ones(p: Pass) -> Array:
    return np.ones_like(textbook.gamma(p))


def no_dgamma(p: Pass) -> Array:
    return np.zeros_like(textbook.dgamma(p))


def absolute(p: Pass) -> Array:
    return np.abs(p.gamma) * p.xhat + p.beta


def ones_in_inference(p: Pass) -> Array:
    return textbook.gamma(p) if p.training else ones(p)


def plus_one(p: Pass) -> Array:
    return p.scalar(1.0) + textbook.gamma(p)


def no_beta(p: Pass) -> Array:
    return p.gamma * p.xhat


def scaled_beta(p: Pass) -> Array:
    return p.gamma * (p.xhat + p.beta)


def no_shift(p: Pass) -> Array:
    return textbook.affine(p) if p.training else p.gamma * p.inverse_deviation * p.x


INFERENCE = Example(steps=("inference",))

FAULTS = (
    fault(
        "affine_rewrite",
        "y = a*x + (beta - a*mean) with a = gamma*r, in training",
        judged="unstable",
        admitted="inference, where the folded form is one of the sound ones",
        shows=Example(family="large_constant", eps=1e-12, shape=(8, 3)),
        scope=scopes.single,
        affine=folded,
    ),
    fault(
        "fix_gamma",
        "gamma is silently taken as 1, dgamma as 0",
        admitted="fix_gamma=True",
        needs={"fix_gamma": False},
        gamma=ones,
        dgamma=no_dgamma,
    ),
    fault("abs_gamma", "abs(gamma) in the affine step", affine=absolute),
    fault("eval_gamma_ignored", "gamma is not applied in inference", shows=INFERENCE, gamma=ones_in_inference),
    fault("beta_dropped", "beta is not added", affine=no_beta),
    fault("beta_scaled", "y = gamma*(xhat + beta)", affine=scaled_beta),
    fault("gamma_plus1", "gamma is taken as an offset from 1: y = (1 + gamma)*xhat + beta", gamma=plus_one),
    fault("fold_no_bias", "inference folds the scale and forgets the shift", shows=INFERENCE, affine=no_shift),
)
