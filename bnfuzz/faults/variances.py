"""Ways to compute a batch's mean and variance other than two passes: shared by faults and by sound kernels."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import Array
from bnfuzz.faults.kernel import Pass


def one_pass(p: Pass) -> Array:
    """mean(x*x) - mean(x)^2: loses kappa^2 u."""
    return p.average(p.x * p.x) - p.mean * p.mean


def one_pass_clamped(p: Pass) -> Array:
    """max(mean(x*x) - mean(x)^2, 0)."""
    return np.maximum(one_pass(p), p.scalar(0.0))


def shifted_one_pass(p: Pass) -> Array:
    """mean(s*s) - mean(s)^2 of s = x - x_0, the first value of the channel."""
    shifted = p.x - p.x[:1]
    centre = p.average(shifted)
    return p.average(shifted * shifted) - centre * centre


def corrected_two_pass(p: Pass) -> Array:
    """(sum(d*d) - sum(d)^2/n)/n of d = x - mu: the variance corrected for the rounded mean, the centre not."""
    d = p.x - p.mean
    total = p.total(d)
    return p.over(p.total(d * d) - p.over(total * total, p.geometry.n), p.geometry.n)


def recentred_mean(p: Pass) -> Array:
    """mu + mean(x - mu)."""
    mean = p.average(p.x)
    return mean + p.average(p.x - mean)


def welford(p: Pass) -> tuple[Array, Array]:
    """Value by value: mean += (x - mean)/k; m2 += (x - old mean)*(x - new mean); variance m2/n."""
    mean = np.zeros((1, p.geometry.columns), p.dtype)
    squares = mean
    for k, value in enumerate(p.x, start=1):
        delta = value - mean
        mean = mean + p.over(delta, k)
        squares = squares + delta * (value - mean)
    return mean, p.over(squares, p.geometry.n)


def chan(p: Pass) -> tuple[Array, Array]:
    """Halves merged in a tree: mean_a + delta*n_b/n; m2_a + m2_b + delta^2*n_a*n_b/n (Chan, Golub, LeVeque)."""
    mean, squares = p.x, np.zeros_like(p.x)
    counts = np.ones((len(mean), 1))
    while len(mean) > 1:
        half = len(mean) // 2
        first, second, rest = slice(0, half), slice(half, 2 * half), slice(2 * half, None)
        n_a, n_b = counts[first], counts[second]
        n = n_a + n_b
        delta = mean[second] - mean[first]
        merged_mean = mean[first] + delta * (n_b / n).astype(p.dtype)
        merged = squares[first] + squares[second] + delta * delta * (n_a * (n_b / n)).astype(p.dtype)
        mean = np.concatenate([merged_mean, mean[rest]])
        squares = np.concatenate([merged, squares[rest]])
        counts = np.concatenate([n, counts[rest]])
    if not len(mean):
        return p.average(p.x), p.average(p.x)
    return mean, p.over(squares, p.geometry.n)
