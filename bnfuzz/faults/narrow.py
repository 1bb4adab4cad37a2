"""Faults that round to the data's narrow format (float16, bfloat16) what belongs in the compute format."""

from __future__ import annotations

from bnfuzz import formats
from bnfuzz.case import Array
from bnfuzz.faults import scopes, sums, textbook
from bnfuzz.faults.example import Example
from bnfuzz.faults.fault import fault
from bnfuzz.faults.kernel import Pass, Update


def through_data_format(p: Pass, values: Array) -> Array:
    """Rounded to the data's format and back."""
    return values.astype(formats.named(p.spec.data_format).dtype).astype(p.dtype)


def accumulated(p: Pass, terms: Array) -> Array:
    """The mean of terms whose sum is kept in the data's format, left to right."""
    narrow = terms.astype(formats.named(p.spec.data_format).dtype)
    return p.over(sums.sequential(narrow).astype(p.dtype), p.geometry.n)


def accumulated_mean(p: Pass) -> Array:
    return accumulated(p, p.x)


def accumulated_variance(p: Pass) -> Array:
    deviation = p.x - p.mean
    return accumulated(p, deviation * deviation)


def squared_in_data_format(p: Pass) -> Array:
    deviation = (p.x - p.mean).astype(formats.named(p.spec.data_format).dtype)
    return p.average((deviation * deviation).astype(p.dtype))


def rounded_eps(p: Pass) -> Array:
    return through_data_format(p, textbook.eps(p))


def rounded_gamma(p: Pass) -> Array:
    return through_data_format(p, textbook.gamma(p))


def rounded_buffers(p: Pass) -> tuple[Array, Array]:
    mean, variance = textbook.buffers(p)
    return through_data_format(p, mean), through_data_format(p, variance)


def in_bfloat16(update: Update) -> Update:
    """The update done and kept in bfloat16: a change below half a unit in the last place is lost."""

    def updated(p: Pass, old: Array) -> Array:
        import ml_dtypes

        half = ml_dtypes.bfloat16
        new = p.mean if update is textbook.running_mean else textbook.learned_variance(p)
        weight_old, weight_new = (weight.astype(half) for weight in p.weights)
        blended: Array = weight_old * old.astype(half) + weight_new * new.astype(half)
        return blended.astype(p.dtype)

    return updated


FAULTS = (
    fault(
        "accumulate_in_half",
        "the sums of mean and variance are kept in the data's half format",
        judged="unstable",
        scope=scopes.wider_compute,
        shows=Example(family="constant", shape=(5000, 2)),
        mean=accumulated_mean,
        variance=accumulated_variance,
    ),
    fault(
        "square_overflow",
        "deviations are squared in float16, where 256 squared is infinite",
        scope=scopes.wider_than_float16,
        shows=Example(family="large"),
        variance=squared_in_data_format,
    ),
    fault(
        "eps_in_half",
        "eps is rounded to the data's half format before the root: 1e-8 is 0 in float16",
        scope=scopes.wider_shown,
        shows=Example(family="near_eps", eps=1e-8),
        eps=rounded_eps,
    ),
    fault(
        "stats_cast_down",
        "running statistics and gamma are rounded to the data's half format",
        scope=scopes.wider_statistics,
        shows=Example(family="large_buffers", steps=("inference",)),
        gamma=rounded_gamma,
        buffers=rounded_buffers,
    ),
    fault(
        "ema_in_half",
        "running statistics are updated and kept in bfloat16",
        scope=scopes.kept_single,
        shows=Example(momentum=0.001),
        running_mean=in_bfloat16(textbook.running_mean),
        running_var=in_bfloat16(textbook.running_var),
    ),
)
