"""Faults of eps and of the inverse deviation 1/sqrt(var + eps)."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.faults import scopes, textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass, Step


def outside(p: Pass) -> Array:
    return p.scalar(1.0) / (np.sqrt(p.statistics[1]) + p.eps)


def missing(p: Pass) -> Array:
    return p.scalar(1.0) / np.sqrt(p.statistics[1])


def missing_in_inference(p: Pass) -> Array:
    return textbook.inverse_deviation(p) if p.training else missing(p)


def larger_of_both(p: Pass) -> Array:
    return p.scalar(1.0) / np.sqrt(np.maximum(p.statistics[1], p.eps))


def squared(p: Pass) -> Array:
    floored = p.statistics[1] + p.eps
    return p.scalar(1.0) / (floored * floored)


def root_missing(p: Pass) -> Array:
    return p.scalar(1.0) / (p.statistics[1] + p.eps)


def hard_wired(value: float) -> Step:
    return lambda p: p.scalar(value)


def clamped(p: Pass) -> Array:
    return p.scalar(max(p.conventions.eps_given(p.spec), 1e-5))


def twelve_bits(p: Pass) -> Array:
    return textbook.inverse_deviation(p) * p.scalar(1.0 + 2.0**-12)


NEAR_EPS = Example(family="near_eps")
TINY_EPS = Example(family="near_eps", eps=1e-7)

FAULTS = (
    fault("eps_outside", "r = 1/(sqrt(var) + eps)", shows=NEAR_EPS, inverse_deviation=outside),
    fault("eps_missing", "r = 1/sqrt(var)", shows=NEAR_EPS, inverse_deviation=missing),
    fault("eps_max", "r = 1/sqrt(max(var, eps))", shows=NEAR_EPS, inverse_deviation=larger_of_both),
    fault("eps_hard1e_5", "the argument is ignored, eps is always 1e-5", shows=NEAR_EPS, eps=hard_wired(1e-5)),
    fault(
        "eps_default_1e_3",
        "the argument is ignored, eps is another framework's default, 1e-3",
        shows=Example(family="near_eps", eps=1e-5),
        eps=hard_wired(1e-3),
    ),
    fault("eps_clamp_min", "eps = max(eps, 1e-5)", shows=TINY_EPS, eps=clamped),
    fault(
        "eval_no_eps",
        "eps is left out in inference only",
        shows=Example(family="near_eps", steps=("inference",)),
        inverse_deviation=missing_in_inference,
    ),
    fault("sq_not_sqrt", "divides by (var + eps)^2", inverse_deviation=squared),
    fault("std_missing_sqrt", "divides by var + eps", inverse_deviation=root_missing),
    fault(
        "rsqrt_12_bits",
        "a hardware estimate of 1/sqrt without the refining step: 2^-12 off",
        scope=scopes.kept_single,
        inverse_deviation=twelve_bits,
    ),
)
