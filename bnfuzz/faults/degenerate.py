"""Faults on one value or none."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.faults import textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass, Update


def unguarded_bessel(p: Pass, old: Array) -> Array:
    n = p.geometry.n
    if n != 1:
        return textbook.running_var(p, old)
    factor = np.float64(n) / np.float64(n - 1)
    return textbook.blend(p, old, p.variance * p.scalar(float(factor)))


def learning_nothing(update: Update) -> Update:
    """`update` without the guard for n = 0: the new statistic is then 0/0."""

    def learned(p: Pass, old: Array) -> Array:
        weight_old, weight_new = p.weights
        return update(p, old) if p.geometry.n else weight_old * old + weight_new * p.mean

    return learned


def divided_by_count(p: Pass) -> Array:
    size = p.spec.size
    values = size // p.geometry.columns
    channels = size // values
    return p.over(p.total(p.x), size // channels)


EMPTY = Example(shape=(0, 3))

FAULTS = (
    fault(
        "bessel_n1",
        "n/(n-1) without a guard: the running variance becomes NaN at n = 1",
        judged="nonfinite",
        admitted="single_value_variance='nan'",
        needs={"running_ddof": 1, "single_value_variance": "biased"},
        shows=Example(shape=(1, 3)),
        running_var=unguarded_bessel,
    ),
    fault(
        "empty_updates_stats",
        "the mean of nothing, NaN, is written to the buffers",
        judged="nonfinite",
        admitted="empty_statistics='nan' or 'unspecified'",
        needs={"empty": "value", "empty_statistics": "keep"},
        shows=EMPTY,
        running_mean=learning_nothing(textbook.running_mean),
        running_var=learning_nothing(textbook.running_var),
    ),
    fault(
        "empty_crash",
        "an integer division by n or by C",
        judged="error",
        admitted="empty='refused'",
        needs={"empty": "value"},
        shows=EMPTY,
        mean=divided_by_count,
    ),
)
