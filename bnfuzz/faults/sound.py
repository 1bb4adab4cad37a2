"""Sound kernels written in other ways than the textbook, and a few near-sound ones with the verdict they earn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from bnfuzz.case import Array
from bnfuzz.conventions import Conventions
from bnfuzz.faults import affine, sums, textbook, variances
from bnfuzz.faults.buffers import mean_by, variance_by
from bnfuzz.faults.kernel import Kernel, Pass
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.formats import FormatName


@dataclass(frozen=True, kw_only=True, eq=False)
class Sound:
    """A kernel that computes batch norm.

    verdict     "ok": no finding on any input, but `range` where its own intermediates overflow or underflow;
                "unstable": beyond the bound on some inputs, `why` says on which; "wrong": likewise, beyond every bound
    overflows   where its own intermediates overflow, and a sound kernel's do not, it is `nonfinite`
    needs       fields of Conventions under which it is so
    """

    name: str
    description: str
    kernel: Kernel
    verdict: Literal["ok", "unstable", "wrong"] = "ok"
    why: str = ""
    overflows: bool = False
    needs: Mapping[str, Any] = field(default_factory=dict)

    def conventions(self, base: Conventions) -> Conventions:
        """`base`, with the fields that it needs."""
        return replace(base, **self.needs)


def _sound(name: str, description: str, *, working: FormatName | None = None, **steps: Any) -> Sound:
    return Sound(name=name, description=description, kernel=replace(CLEAN, working=working, **steps))


def _unstable(name: str, description: str, why: str, **steps: Any) -> Sound:
    kernel = replace(CLEAN, **steps)
    return Sound(name=name, description=description, kernel=kernel, verdict="unstable", why=why)


def autodiff_dx(p: Pass) -> Array:
    """As reverse mode builds it.

    dvar = -sum(h*d)*s*r^2/2;  dmean = -sum(h*s);  dx = h*s + 2*d*dvar/n + dmean/n, with s = gamma*r.
    """
    if not p.training:
        return textbook.dx(p)
    n, d, r = p.geometry.n, p.deviation, p.inverse_deviation
    direct = p.h * p.scale
    dvar = -p.total(direct * d) * r * r * p.scalar(0.5)
    through_variance = p.over(dvar, n) * (d + d)
    return direct + through_variance - p.over(p.total(direct), n)


def scale_first(p: Pass) -> Array:
    """y = (x - mean)*(gamma*r) + beta."""
    return p.deviation * (p.gamma * p.inverse_deviation) + p.beta


def divided(p: Pass) -> Array:
    """xhat = (x - mean)/sqrt(variance + eps)."""
    return p.deviation / np.sqrt(p.statistics[1] + p.eps)


def reciprocal_mean(p: Pass) -> Array:
    """sum(x)*(1/n)."""
    return p.total(p.x) * p.scalar(1.0 / max(p.geometry.n, 1))


def reciprocal_variance(p: Pass) -> Array:
    deviation = p.x - p.mean
    return p.total(deviation * deviation) * p.scalar(1.0 / max(p.geometry.n, 1))


def fused(a: Array, b: Array, c: Array) -> Array:
    """a*b + c rounded once, emulated in float64; for float64 itself rounded twice."""
    exact: Array = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    return exact.astype(a.dtype)


def fused_variance(p: Pass) -> Array:
    """Squares of the second half fused into those of the first, then pairwise."""
    d = p.x - p.mean
    half = len(d) // 2
    first, second, rest = d[:half], d[half : 2 * half], d[2 * half :]
    squares = np.concatenate([fused(second, second, first * first), rest * rest])
    return p.over(p.total(squares), p.geometry.n)


def fused_affine(p: Pass) -> Array:
    return fused(p.xhat, np.broadcast_to(p.gamma, p.xhat.shape), p.beta)


def fused_dx(p: Pass) -> Array:
    if not p.training:
        return textbook.dx(p)
    return p.scale * fused(-p.xhat, np.broadcast_to(p.mean_hx, p.xhat.shape), p.h - p.mean_h)


def scaled_variance(p: Pass) -> Array:
    """Deviations scaled by a power of two before they are squared: s^2*mean((d/s)^2), s the largest one's exponent."""
    scale, squares = _scaled_squares(p)
    return p.average(squares) * scale * scale


def scaled_inverse_deviation(p: Pass) -> Array:
    """(1/s)/sqrt(mean((d/s)^2) + eps/s/s): finite where the variance is not."""
    if not p.training:
        return textbook.inverse_deviation(p)
    scale, squares = _scaled_squares(p)
    return p.scalar(1.0) / scale / np.sqrt(p.average(squares) + p.eps / scale / scale)


def _scaled_squares(p: Pass) -> tuple[Array, Array]:
    deviation = p.x - p.mean
    largest = np.abs(deviation).max(axis=0, keepdims=True, initial=p.scalar(0.0))
    exponent = np.frexp(np.maximum(largest.astype(np.float64), 1.0))[1] - 1
    scale = np.ldexp(1.0, exponent).astype(p.dtype)
    scaled = deviation / scale
    return scale, scaled * scaled


def lerp(p: Pass, old: Array, new: Array) -> Array:
    """old + w_new*(new - old)."""
    return textbook.blend(p, old, new) if p.geometry.n == 0 else old + p.weights[1] * (new - old)


def stored_parts_dx(p: Pass) -> Array:
    """s*h and s*(mean(h) + xhat*mean(h*xhat)), rounded to the data's format and subtracted there."""
    if not p.training:
        return textbook.dx(p)
    data = p.given["x"].dtype
    direct = (p.scale * p.h).astype(data)
    through_statistics = (p.scale * (p.mean_h + p.xhat * p.mean_hx)).astype(data)
    return (direct - through_statistics).astype(p.dtype)


OFF_CENTRE = "nearly constant channels with a large mean: the centre subtracted is not the one the variance is about"

KERNELS = (
    _sound("pairwise", "the textbook: two passes, pairwise sums"),
    _sound("sequential", "sums left to right", total=sums.sequential),
    _sound("blocked", "sums in blocks of 32", total=sums.blocked),
    _sound("kahan", "compensated sums", total=sums.kahan),
    _sound("wide_sums", "sums accumulated in float64", total=sums.wide),
    _sound("double_inside", "everything in float64, rounded once at the end", working="float64"),
    _sound("autodiff", "dx as reverse-mode differentiation builds it", dx=autodiff_dx),
    _sound(
        "sequential_autodiff",
        "sums left to right, division, dx as reverse-mode differentiation builds it",
        total=sums.sequential,
        normalise=divided,
        dx=autodiff_dx,
    ),
    _sound("fused", "fused multiply-adds", variance=fused_variance, affine=fused_affine, dx=fused_dx),
    _sound("reciprocal", "multiplies by 1/n", mean=reciprocal_mean, variance=reciprocal_variance),
    _sound("scale_first", "y = d*(gamma*r) + beta", affine=scale_first),
    _sound("division", "xhat = d/sqrt(var + eps)", normalise=divided),
    _sound("recentred", "the mean corrected once, the variance taken about it", mean=variances.recentred_mean),
    _sound(
        "scaled",
        "deviations scaled by a power of two before they are squared",
        variance=scaled_variance,
        inverse_deviation=scaled_inverse_deviation,
    ),
    _sound("lerp", "running = old + w*(new - old)", running_mean=mean_by(lerp), running_var=variance_by(lerp)),
    Sound(
        name="stored_parts",
        description="two parts of dx are rounded to the data's format before they are added",
        kernel=replace(CLEAN, dx=stored_parts_dx),
        needs=MappingProxyType({"dx_parts": "storage"}),
    ),
    _unstable(
        "welford",
        "mean and variance value by value",
        OFF_CENTRE,
        mean=lambda p: variances.welford(p)[0],
        variance=lambda p: variances.welford(p)[1],
    ),
    _unstable(
        "chan",
        "mean and variance merged in a tree",
        OFF_CENTRE,
        mean=lambda p: variances.chan(p)[0],
        variance=lambda p: variances.chan(p)[1],
    ),
    _unstable(
        "corrected_two_pass",
        "the variance corrected for the rounded mean, the centre not",
        OFF_CENTRE,
        variance=variances.corrected_two_pass,
    ),
    Sound(
        name="folded",
        description="y = a*x + (beta - a*mean); sound in inference",
        kernel=replace(CLEAN, affine=affine.folded),
        verdict="unstable",
        why="a mean far larger than the spread, in training",
        overflows=True,
    ),
    Sound(
        name="shifted_one_pass",
        description="one pass over x - x_0",
        kernel=replace(CLEAN, variance=variances.shifted_one_pass),
        verdict="wrong",
        why="a first value that is an outlier of its channel",
        overflows=True,
    ),
)

SOUND: Mapping[str, Sound] = MappingProxyType({kernel.name: kernel for kernel in KERNELS})
"""Name -> Sound."""
