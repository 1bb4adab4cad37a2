"""Batch norm once more, in float64 and over x's own axes, for tests to compare kernels with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Spec
from bnfuzz.conventions import Conventions

Plain = dict[str, Array]


def plain(spec: Spec, arrays: Mapping[str, Array], conventions: Conventions) -> tuple[Plain, Plain]:
    """(outputs, magnitudes) of a one-step Spec: an output's magnitude is the size of the terms that it is made of."""
    a = {name: array.astype(np.float64) for name, array in arrays.items()}
    axes, n = spec.reduced_axes, spec.n
    eps = conventions.eps_given(spec)
    affine_shape = [size if axis in spec.affine_axes else 1 for axis, size in enumerate(spec.shape)]
    others = tuple(axis for axis in range(spec.rank) if axis not in spec.affine_axes)
    kept_shape = [1 if axis in axes else size for axis, size in enumerate(spec.shape)]
    ascending = np.argsort(spec.affine_axes)
    gamma = a["gamma"].transpose(ascending).reshape(affine_shape) if spec.has_gamma else 1.0
    beta = a["beta"].transpose(ascending).reshape(affine_shape) if spec.has_beta else 0.0
    x = a["x"]
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    training = spec.mode == "training"
    used = (mean, var) if training else (a["running_mean"].reshape(kept_shape), a["running_var"].reshape(kept_shape))
    r = 1 / np.sqrt(used[1] + eps)
    xhat = (x - used[0]) * r
    y = gamma * xhat + beta
    g = _cotangent(spec, a, y)
    h = gamma * g
    dx = r * (h - h.mean(axes, keepdims=True) - xhat * (h * xhat).mean(axes, keepdims=True)) if training else r * h
    out = {"y": y, "dx": dx, "dgamma": (g * xhat).sum(others), "dbeta": g.sum(others)}
    for name in ("dgamma", "dbeta"):
        out[name] = out[name].transpose(np.argsort(ascending))
    size = {
        "y": np.abs(gamma) * (1 + np.abs(xhat)) + np.abs(beta),
        "dx": np.abs(r) * (np.abs(h) + np.abs(h).mean(axes, keepdims=True)) * (1 + np.abs(xhat)),
        "dgamma": (np.abs(g) * (1 + np.abs(xhat))).sum(others).transpose(np.argsort(ascending)),
        "dbeta": np.abs(g).sum(others).transpose(np.argsort(ascending)),
    }
    if training:
        out |= {"batch_mean": mean, "batch_var": var}
        size |= {"batch_mean": np.abs(x).mean(axes), "batch_var": var}
    if spec.has_running:
        ddof = conventions.running_ddof
        learned = var * (n / (n - ddof) if n > 1 else 1.0)
        weight = conventions.momentum_given(spec)
        weight_new = weight if conventions.momentum_weighs == "new" else 1 - weight
        for name, new in (("running_mean", mean), ("running_var", learned)):
            old = a[name].reshape(kept_shape)
            out[f"new_{name}"] = (1 - weight_new) * old + weight_new * new if training else old
            size[f"new_{name}"] = np.abs(old) + np.abs(new)
    shaped = {name: np.broadcast_to(size[name].reshape(_shape(spec, name)), _shape(spec, name)) for name in out}
    return {name: array.reshape(_shape(spec, name)) for name, array in out.items()}, shaped


def _cotangent(spec: Spec, arrays: Mapping[str, Array], y: Array) -> Array:
    if spec.cotangent == "explicit":
        return arrays["cotangent"]
    if spec.cotangent == "sum":
        return np.ones(spec.shape)
    return 2 * y.astype(formats.named(spec.data_format).dtype).astype(np.float64) / spec.size


def _shape(spec: Spec, name: str) -> tuple[int, ...]:
    if name in ("y", "dx"):
        return spec.shape
    return spec.parameter_shape if name in ("dgamma", "dbeta") else spec.statistics_shape


def condition(spec: Spec, arrays: Mapping[str, Array], conventions: Conventions) -> Array:
    """kappa = sqrt(1 + mean^2/(var + eps)) of each statistic."""
    x = arrays["x"].astype(np.float64)
    var = x.var(spec.reduced_axes)
    return np.sqrt(1 + x.mean(spec.reduced_axes) ** 2 / (var + conventions.eps_given(spec)))


def tolerance(spec: Spec, arrays: Mapping[str, Array], conventions: Conventions, output: Array, growth: float) -> float:
    """growth*kappa*u of the compute format plus u of the output's, relative to an output's magnitude."""
    compute = conventions.compute_format(spec.data_format).unit_roundoff
    stored = formats.of(output).unit_roundoff
    return growth * float(condition(spec, arrays, conventions).max()) * compute + stored
