"""Faults of the batch's mean and variance, and of which statistics normalise."""

from __future__ import annotations

from types import MappingProxyType

from bnfuzz.case import Array
from bnfuzz.conventions import Summation
from bnfuzz.faults import scopes, sums, textbook, variances
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass

PAIRWISE = MappingProxyType({"summation": Summation("pairwise")})


def naive_mean(p: Pass) -> Array:
    return p.over(sums.sequential(p.x), p.geometry.n)


def ddof1(p: Pass) -> tuple[Array, Array]:
    mean, variance = textbook.statistics(p)
    n = p.geometry.n
    return (mean, variance * p.scalar(n / (n - 1))) if p.training and n > 1 else (mean, variance)


def running(p: Pass) -> tuple[Array, Array]:
    return p.buffers


def blended(p: Pass) -> tuple[Array, Array]:
    return p.running if p.training and p.running is not None else textbook.statistics(p)


def batch(p: Pass) -> tuple[Array, Array]:
    return p.mean, p.variance


def of_all_channels(p: Pass) -> tuple[Array, Array]:
    if not p.training:
        return p.buffers
    channels = p.geometry.columns
    mean = p.over(p.mean.sum(axis=1, keepdims=True, dtype=p.dtype), channels)
    deviation = p.x - mean
    squares = p.average(deviation * deviation)
    return mean, p.over(squares.sum(axis=1, keepdims=True, dtype=p.dtype), channels)


def bfloat16_variance(p: Pass) -> Array:
    import ml_dtypes

    return textbook.variance(p).astype(ml_dtypes.bfloat16).astype(p.dtype)


OFFSET = Example(family="offset", shape=(4, 8))
LONG_CONSTANT = Example(family="constant", shape=(10_000, 2))
INFERENCE = Example(steps=("inference",))

FAULTS = (
    fault(
        "onepass",
        "var = mean(x*x) - mean(x)^2 in the compute format",
        judged="unstable",
        scope=scopes.pure,
        shows=OFFSET,
        variance=variances.one_pass,
    ),
    fault(
        "onepass_clamp",
        "var = max(mean(x*x) - mean(x)^2, 0): finite, and as wrong",
        judged="unstable",
        scope=scopes.pure,
        shows=OFFSET,
        variance=variances.one_pass_clamped,
    ),
    fault(
        "naive_mean",
        "the mean's sum runs left to right in the compute format",
        judged="unstable",
        admitted="summation in any order",
        needs=PAIRWISE,
        scope=scopes.pure,
        shows=LONG_CONSTANT,
        mean=naive_mean,
    ),
    fault("ddof1_norm", "the batch is normalised with n/(n-1)*var", shows=Example(shape=(3, 3)), statistics=ddof1),
    fault("stats_from_running", "training output is normalised with the old running statistics", statistics=running),
    fault(
        "blend_running_in_train",
        "training output is normalised with the updated running statistics",
        statistics=blended,
    ),
    fault("eval_uses_batch", "inference normalises with the batch's statistics", shows=INFERENCE, statistics=batch),
    fault(
        "global_stats_all_channels",
        "one mean and variance for all channels",
        statistics=of_all_channels,
    ),
    fault(
        "variance_in_bfloat16",
        "the variance is rounded to bfloat16 on the way",
        scope=scopes.kept_single,
        variance=bfloat16_variance,
    ),
)
