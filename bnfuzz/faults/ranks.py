"""Faults of synchronised batch norm, on one process: two simulated ranks of unlike size share the samples."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.faults import textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass


def ranks(p: Pass) -> list[slice]:
    """Rows (n) of each rank: two thirds of the samples and the rest; one rank for a single sample."""
    view = p.geometry
    if view.batch < 2:
        return [slice(0, view.n)]
    split = max(1, 2 * view.batch // 3) * view.spatial
    return [slice(0, split), slice(split, view.n)]


def rank_means(p: Pass, values: Array) -> list[Array]:
    return [p.over(p.total(values[rows]), len(values[rows])) for rows in ranks(p)]


def _plain_average(p: Pass, parts: list[Array]) -> Array:
    return p.over(p.total(np.concatenate(parts)), len(parts))


def equal_weights(p: Pass) -> tuple[Array, Array]:
    if not p.training:
        return p.buffers
    mean = _plain_average(p, rank_means(p, p.x))
    deviation = p.x - mean
    return mean, _plain_average(p, rank_means(p, deviation * deviation))


def mean_of_variances(p: Pass) -> tuple[Array, Array]:
    if not p.training:
        return p.buffers
    own = np.concatenate([p.x[rows] - mean for rows, mean in zip(ranks(p), rank_means(p, p.x), strict=True)])
    return p.mean, p.average(own * own)


def own_terms_only(p: Pass) -> Array:
    if not p.training:
        return textbook.dx(p)
    n, parts = p.geometry.n, []
    for rows in ranks(p):
        h, xhat = p.h[rows], p.xhat[rows]
        parts.append(h - p.over(p.total(h), n) - xhat * p.over(p.total(h * xhat), n))
    return p.scale * np.concatenate(parts)


def refused(p: Pass) -> Array:
    if p.training and p.geometry.n > 1 and any(rows.stop - rows.start == 1 for rows in ranks(p)):
        raise ValueError("Expected more than 1 value per channel when training")
    return textbook.mean(p)


def dgamma_twice(p: Pass) -> Array:
    return p.scalar(2.0) * textbook.dgamma(p)


def dbeta_twice(p: Pass) -> Array:
    return p.scalar(2.0) * textbook.dbeta(p)


SIX = Example(shape=(6, 3))

FAULTS = (
    fault(
        "world_size_x2",
        "dgamma and dbeta are reduced over two ranks twice",
        dgamma=dgamma_twice,
        dbeta=dbeta_twice,
    ),
    fault("sync_equal_weights", "the mean of rank means, whatever the counts", shows=SIX, statistics=equal_weights),
    fault(
        "sync_mean_of_vars",
        "the average of rank variances, without the part between ranks",
        shows=SIX,
        statistics=mean_of_variances,
    ),
    fault("sync_stopgrad", "dx lacks the other rank's terms", shows=SIX, dx=own_terms_only),
    fault(
        "one_value_raises",
        "an error where one rank holds a single value, although the batch holds more",
        judged="error",
        admitted="nothing; for n = 1 in all, single_value='refused'",
        shows=Example(shape=(2, 3)),
        mean=refused,
    ),
)
