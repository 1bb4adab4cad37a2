"""Faults of the backward pass: dx, dgamma, dbeta."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.faults import textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass, Step


def in_training(step: Step) -> Step:
    """dx by `step` in training, as the textbook says in inference."""
    return lambda p: step(p) if p.training else textbook.dx(p)


def no_gamma(p: Pass) -> Array:
    return p.inverse_deviation * (p.h - p.mean_h - p.xhat * p.mean_hx)


def no_mean_term(p: Pass) -> Array:
    return p.scale * (p.h - p.xhat * p.mean_hx)


def no_variance_term(p: Pass) -> Array:
    return p.scale * (p.h - p.mean_h)


def mean_twice(p: Pass) -> Array:
    return p.scale * (p.h - p.mean_h - p.mean_h - p.xhat * p.mean_hx)


def sign_flipped(p: Pass) -> Array:
    return p.scale * (p.h - p.mean_h + p.xhat * p.mean_hx)


def statistics_constant(p: Pass) -> Array:
    return p.scale * p.h


def batch_terms_always(p: Pass) -> Array:
    return p.scale * (p.h - p.mean_h - p.xhat * p.mean_hx)


def running_scale(p: Pass) -> Array:
    return p.gamma * p.h / np.sqrt(p.buffers[1] + p.eps)


def no_eps(p: Pass) -> Array:
    inverse = p.scalar(1.0) / np.sqrt(p.statistics[1])
    xhat = p.deviation * inverse
    return p.gamma * inverse * (p.h - p.mean_h - xhat * p.average(p.h * xhat))


def batch_xhat(p: Pass) -> Array:
    if p.training:
        return textbook.dgamma(p)
    xhat = (p.x - p.mean) / np.sqrt(p.variance + p.eps)
    return p.per_parameter(p.g * xhat)


def against_x(p: Pass) -> Array:
    return p.per_parameter(p.g * p.x)


def against_deviation(p: Pass) -> Array:
    return p.per_parameter(p.g * p.deviation)


def times_deviation(p: Pass) -> Array:
    return p.per_parameter(p.g * p.deviation * np.sqrt(p.statistics[1] + p.eps))


def averaged(p: Pass) -> Array:
    return p.over(p.sum_hx, p.geometry.n)[0]


def first_position(p: Pass) -> Array:
    view = p.geometry
    terms = (p.g * p.xhat).reshape(view.batch, view.spatial, view.columns)
    return p.total(terms[:, 0] if view.spatial else terms.reshape(-1, view.columns))[0]


def sum_of_x(p: Pass) -> Array:
    return p.per_parameter(p.x)


def dgamma_added(p: Pass) -> Array:
    return p.state.gradients.get("dgamma", p.scalar(0.0)) + textbook.dgamma(p)


def dbeta_added(p: Pass) -> Array:
    return p.state.gradients.get("dbeta", p.scalar(0.0)) + textbook.dbeta(p)


INFERENCE = Example(steps=("inference",))

FAULTS = (
    fault(
        "eval_bwd_batch_terms",
        "the backward pass of inference keeps the two mean terms",
        shows=INFERENCE,
        dx=batch_terms_always,
    ),
    fault("eval_dgamma_batch_xhat", "dgamma of inference uses the batch's xhat", shows=INFERENCE, dgamma=batch_xhat),
    fault(
        "dx_running_stats_in_train",
        "dx = gamma*g/sqrt(running_var + eps) in training",
        dx=in_training(running_scale),
    ),
    fault("dx_no_gamma", "gamma is left out of dx", dx=in_training(no_gamma)),
    fault("dx_no_mean_term", "dx lacks mean(g)", dx=in_training(no_mean_term)),
    fault("dx_no_var_term", "dx lacks xhat*mean(g*xhat)", dx=in_training(no_variance_term)),
    fault("dx_mean_twice", "mean(g) is subtracted twice", dx=in_training(mean_twice)),
    fault("dx_sign", "xhat*mean(g*xhat) is added instead of subtracted", dx=in_training(sign_flipped)),
    fault("dx_stopgrad", "dx treats mean and variance as constants", dx=in_training(statistics_constant)),
    fault(
        "dx_stopgrad_var",
        "dx treats the variance as a constant (the same numbers as dx_no_var_term)",
        dx=in_training(no_variance_term),
    ),
    fault(
        "dx_eps_dropped_bwd",
        "eps in the forward pass, none in dx",
        shows=Example(family="near_eps"),
        dx=in_training(no_eps),
    ),
    fault("dgamma_uses_x", "dgamma = sum(g*x)", dgamma=against_x),
    fault("dgamma_no_invstd", "dgamma = sum(g*(x - mean))", dgamma=against_deviation),
    fault("dgamma_mul_std", "dgamma multiplies by the deviation instead of dividing by it", dgamma=times_deviation),
    fault("dgamma_mean", "dgamma is a mean instead of a sum", dgamma=averaged),
    fault("dgamma_batch_only", "dgamma sums one spatial position only", dgamma=first_position),
    fault("dbeta_uses_input", "dbeta = sum(x)", dbeta=sum_of_x),
    fault(
        "gradient_accumulates",
        "dgamma and dbeta are added to those of the step before",
        shows=Example(steps=("training", "training")),
        dgamma=dgamma_added,
        dbeta=dbeta_added,
    ),
)
