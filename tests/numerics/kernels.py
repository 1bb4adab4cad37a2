"""Sound kernels in real formats, vectorised over trials, written apart from the package.

Arrays are (K, n, C): K trials, statistics over the middle axis. Every operation is one operation of the compute format;
np.sum is not used, since it accumulates float16 in float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions


def sequential(a):
    return np.add.accumulate(a, axis=1)[:, -1:]


def pairwise(a):
    while a.shape[1] > 1:
        half = a.shape[1] // 2
        folded = a[:, :half] + a[:, half : 2 * half]
        a = np.concatenate([folded, a[:, 2 * half :]], axis=1) if a.shape[1] % 2 else folded
    return a


def descending(a):
    """Left to right from the largest magnitude down: the order that the bound of `any` is built on."""
    order = np.argsort(-np.abs(a.astype(np.float64)), axis=1, kind="stable")
    return sequential(np.take_along_axis(a, order, axis=1))


def lanes(count):
    """`count` running sums side by side, then added up in turn."""

    def total(a):
        sides = [sequential(a[:, lane::count]) for lane in range(min(count, a.shape[1]))]
        return sequential(np.concatenate(sides, axis=1))

    return total


def wide(a):
    """Accumulated in float64, rounded once."""
    return sequential(a.astype(np.float64)).astype(a.dtype)


class Flushing(np.ndarray):
    """A float32 array whose operations turn subnormal results into 0."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(operand) for operand in inputs]
        return flushed(getattr(ufunc, method)(*plain, **options))


def flushed(result):
    if result.dtype != np.float32:
        return result
    smallest = np.float32(formats.named("float32").smallest_normal)
    return np.where(np.abs(result) < smallest, np.float32(0), result).astype(np.float32).view(Flushing)


@dataclass(frozen=True)
class SoundKernel:
    """Which sound form each step takes.

    total      order of the sums
    root       "reciprocal": 1/sqrt, times d; "division": d/sqrt
    mean       "division" by n, or "reciprocal": times the rounded 1/n
    affine     "direct": (d r)γ + β; "scaled": d(γ r) + β; "folded" in inference: a x + (β - a mean)
    dx         "closed"; "automatic": through dvar and dmean, as reverse mode builds it; "factored": through Σ g d;
               "parts": two parts of it rounded to the data's format and added there
    dgamma     "normalised": Σ g x̂; "factored": r Σ g d
    running    "weighted" or "lerp"
    flushes    subnormal inputs and results become 0
    """

    total: object = pairwise
    root: str = "reciprocal"
    mean: str = "division"
    affine: str = "direct"
    dx: str = "closed"
    dgamma: str = "normalised"
    running: str = "weighted"
    flushes: bool = False


SOUND = {
    "pairwise": SoundKernel(),
    "sequential": SoundKernel(total=sequential, root="division", running="lerp"),
    "scaled": SoundKernel(mean="reciprocal", affine="scaled", total=descending),
    "automatic": SoundKernel(total=sequential, dx="automatic", affine="folded"),
    "factored": SoundKernel(dx="factored", dgamma="factored", running="lerp"),
}


def run(kernel: SoundKernel, spec: Spec, inputs: Inputs, conventions: Conventions) -> Outputs:
    """Outputs of one step, for a Spec of shape (n, C) reduced over its first axis."""
    with np.errstate(all="ignore"):
        return _run(kernel, spec, inputs, conventions)


def _run(kernel, spec, inputs, conventions):
    dtype = conventions.compute_format(spec.data_format).dtype
    one, n = dtype.type(1), spec.n

    def taken(array):
        array = np.asarray(array).astype(dtype)
        return flushed(array) if kernel.flushes else array

    def along(parameter):
        return None if parameter is None else taken(parameter)[:, None, :]

    def mean(a):
        if kernel.mean == "reciprocal":
            return kernel.total(a) * dtype.type(1.0 / n)
        return kernel.total(a) / dtype.type(n)

    def store(a, name):
        return np.ascontiguousarray(np.asarray(a)).astype(formats.named(name).dtype)

    x, gamma, beta = taken(inputs.x), along(inputs.gamma), along(inputs.beta)
    old_mean, old_var = along(inputs.running_mean), along(inputs.running_var)
    eps = taken(dtype.type(conventions.eps_given(spec)))
    training = spec.mode == "training"
    if training:
        centre = mean(x)
        d = x - centre
        var = mean(d * d)
    else:
        centre, var = old_mean, old_var
        d = x - centre
    deviation = np.sqrt(var + eps)
    r = one / deviation
    xhat = d / deviation if kernel.root == "division" else d * r
    y = _affine(kernel, training, x, centre, xhat, r, gamma, beta)
    outputs = {"y": store(y, spec.data_format)}

    g = taken(_cotangent(spec, inputs, outputs["y"]))
    if gamma is not None:
        dgamma = kernel.total(g * xhat) if kernel.dgamma == "normalised" else kernel.total(g * d) * r
        outputs["dgamma"] = store(dgamma[:, 0], spec.parameter_format)
    if beta is not None:
        outputs["dbeta"] = store(kernel.total(g)[:, 0], spec.parameter_format)
    dx = _input_gradient(kernel, spec, g, d, r, xhat, gamma, mean)
    outputs["dx"] = store(dx, spec.data_format)

    if training:
        outputs["batch_mean"] = store(centre[:, 0], spec.statistics_format)
        outputs["batch_var"] = store(var[:, 0], spec.statistics_format)
    if spec.has_running:
        outputs |= _running(kernel, spec, inputs, conventions, centre, var, store)
    return Outputs(**outputs)


def _affine(kernel, training, x, centre, xhat, r, gamma, beta):
    scale = r if gamma is None else gamma * r
    if kernel.affine == "direct" or (kernel.affine == "folded" and training):
        y = xhat if gamma is None else xhat * gamma
        return y if beta is None else y + beta
    if kernel.affine == "scaled":
        y = (x - centre) * scale
        return y if beta is None else y + beta
    return x * scale + (-(centre * scale) if beta is None else beta - centre * scale)


def _input_gradient(kernel, spec, g, d, r, xhat, gamma, mean):
    training, n = spec.mode == "training", g.dtype.type(spec.n)
    scale = r if gamma is None else gamma * r
    if kernel.dx == "automatic":
        h = g if gamma is None else g * gamma
        dx = h * r
        if training:
            through = kernel.total(h * d) * (r * r * r) / n
            dx = dx - d * through
            dx = dx - mean(dx)
    elif kernel.dx == "factored" and training:
        k = kernel.total(g * d) * r * r / n
        dx = (g - mean(g) - d * k) * r
        dx = dx if gamma is None else dx * gamma
    elif kernel.dx == "parts" and training:
        data = formats.named(spec.data_format).dtype
        dx = (scale * g).astype(data) - (scale * (mean(g) + xhat * mean(g * xhat))).astype(data)
    else:
        dx = scale * (g - mean(g) - xhat * mean(g * xhat)) if training else scale * g
    return dx


def _running(kernel, spec, inputs, conventions, centre, var, store):
    if spec.mode == "inference":
        return {"new_running_mean": inputs.running_mean, "new_running_var": inputs.running_var}
    dtype, n, ddof = var.dtype, spec.n, conventions.running_ddof
    given = dtype.type(conventions.momentum_given(spec))
    other = dtype.type(1) - given
    new, old = (given, other) if conventions.momentum_weighs == "new" else (other, given)
    if ddof and n > ddof:
        var = var * (dtype.type(n) / dtype.type(n - ddof))

    def blend(before, now):
        before = before.astype(dtype)[:, None, :]
        before = flushed(before) if kernel.flushes else before
        after = before * old + now * new if kernel.running == "weighted" else before + new * (now - before)
        return store(after[:, 0], spec.statistics_format)

    result = {"new_running_mean": blend(inputs.running_mean, centre)}
    kept = ddof and n <= ddof and conventions.single_value_variance == "keep"
    result["new_running_var"] = inputs.running_var if kept else blend(inputs.running_var, var)
    return result


def _cotangent(spec, inputs, y):
    """dL/dy in y's format."""
    if spec.cotangent == "explicit":
        return inputs.cotangent
    if spec.cotangent == "sum":
        return np.ones_like(y)
    share = y.dtype.type(1) / y.dtype.type(spec.size)
    return y * share + y * share
