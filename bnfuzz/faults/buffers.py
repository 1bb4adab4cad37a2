"""Faults of the running statistics: what they learn, when, and with which weights."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.faults import textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass, Update


def learns_deviation(p: Pass, old: Array) -> Array:
    return textbook.blend(p, old, np.sqrt(textbook.learned_variance(p)))


def learns_biased(p: Pass, old: Array) -> Array:
    return textbook.blend(p, old, p.variance)


def learns_unbiased(p: Pass, old: Array) -> Array:
    n = p.geometry.n
    return textbook.blend(p, old, p.variance * p.scalar(n / (n - 1)) if n > 1 else p.variance)


def bessel_of_batch(p: Pass, old: Array) -> Array:
    batch = p.geometry.batch
    return textbook.blend(p, old, p.variance * p.scalar(batch / (batch - 1)) if batch > 1 else p.variance)


def learns_with_eps(p: Pass, old: Array) -> Array:
    return textbook.blend(p, old, textbook.learned_variance(p) + p.eps)


def kept(p: Pass, old: Array) -> Array:
    del p
    return old


def swapped_weights(p: Pass, old: Array, new: Array) -> Array:
    weight_old, weight_new = p.weights
    return weight_new * old + weight_old * new


def simple_average(p: Pass, old: Array, new: Array) -> Array:
    return old + p.over(new - old, p.state.trained + 1)


def first_copied(p: Pass, old: Array, new: Array) -> Array:
    return textbook.blend(p, old, new) if p.state.trained else new


def undecayed(p: Pass, old: Array, new: Array) -> Array:
    return old + p.weights[1] * new


def mean_by(rule: textbook.Blend) -> Update:
    return lambda p, old: rule(p, old, p.mean)


def variance_by(rule: textbook.Blend) -> Update:
    return lambda p, old: rule(p, old, textbook.learned_variance(p))


def swapped_mean(p: Pass, old: Array) -> Array:
    del old
    return textbook.running_var(p, p.buffers[1])


def swapped_variance(p: Pass, old: Array) -> Array:
    del old
    return textbook.running_mean(p, p.buffers[0])


def twice(p: Pass) -> int:
    return 2 * textbook.updates(p)


def always(p: Pass) -> int:
    del p
    return 1


def never(p: Pass) -> int:
    del p
    return 0


def debiased(p: Pass) -> tuple[Array, Array]:
    if p.training:
        return textbook.statistics(p)
    decay = p.scalar(1.0) - p.weights[0] ** p.scalar(p.state.trained)
    return p.buffers[0] / decay, p.buffers[1] / decay


INFERENCE = Example(steps=("inference",))
LEARNING = Example(shape=(4, 4), momentum=0.9)
TWO_STEPS = Example(steps=("training", "training"))

FAULTS = (
    fault(
        "rv_std", "the running variance learns the deviation, its root", shows=LEARNING, running_var=learns_deviation
    ),
    fault(
        "rv_biased",
        "the running variance learns the variance with ddof 0",
        admitted="running_ddof=0",
        needs={"running_ddof": 1},
        shows=LEARNING,
        running_var=learns_biased,
    ),
    fault(
        "rv_unbiased",
        "the running variance learns the variance with ddof 1",
        admitted="running_ddof=1",
        needs={"running_ddof": 0},
        shows=LEARNING,
        running_var=learns_unbiased,
    ),
    fault(
        "rv_bessel_batch_only",
        "the running variance learns N/(N-1)*var, N the batch size without the spatial positions",
        shows=Example(shape=(2, 3, 4), momentum=0.7),
        running_var=bessel_of_batch,
    ),
    fault(
        "momentum_swapped",
        "the two weights of the update change places",
        admitted="the other momentum_weighs",
        running_mean=mean_by(swapped_weights),
        running_var=variance_by(swapped_weights),
    ),
    fault(
        "cumulative",
        "a simple average over all steps instead of an exponential one",
        shows=TWO_STEPS,
        running_mean=mean_by(simple_average),
        running_var=variance_by(simple_average),
    ),
    fault(
        "first_batch_overwrites",
        "the first update copies the batch's statistics",
        running_mean=mean_by(first_copied),
        running_var=variance_by(first_copied),
    ),
    fault(
        "update_plus",
        "the old statistic is not decayed: old + m*new",
        running_mean=mean_by(undecayed),
        running_var=variance_by(undecayed),
    ),
    fault("rv_not_updated", "only the running mean is updated", running_var=kept),
    fault(
        "rm_rv_swapped",
        "the new mean is written to the variance and the reverse",
        running_mean=swapped_mean,
        running_var=swapped_variance,
    ),
    fault(
        "rv_has_eps",
        "the running variance learns var + eps",
        shows=Example(family="near_eps"),
        running_var=learns_with_eps,
    ),
    fault(
        "ema_debias_zero",
        "inference divides the buffers by 1 - (1-m)^k, with k = 0 before any training",
        judged="nonfinite",
        shows=INFERENCE,
        statistics=debiased,
    ),
    fault("update_in_eval", "the buffers are updated in inference too", shows=INFERENCE, updates=always),
    fault("update_lost_rebind", "the new statistics are made, but not stored", updates=never),
    fault("update_twice", "each training step updates the buffers twice", updates=twice),
)
