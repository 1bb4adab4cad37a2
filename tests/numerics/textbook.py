"""The textbook formulas at 400 bits, gradients by the chain rule through mean and variance.

Written apart from the package's own. Arrays are object arrays of mpmath numbers with a leading trial axis.
"""

from __future__ import annotations

import mpmath
import numpy as np

from bnfuzz.case import Inputs, Spec
from bnfuzz.conventions import Conventions

CONTEXT = mpmath.MPContext()
CONTEXT.prec = 400
mpf = CONTEXT.mpf

_exactly = np.frompyfunc(lambda number: mpf(float(number)), 1, 1)
_root = np.frompyfunc(lambda number: CONTEXT.sqrt(number) if number > 0 else mpf(1), 1, 1)
"""Where var + eps is 0 nothing is defined; any number does."""


def exactly(array) -> np.ndarray:
    return np.asarray(_exactly(np.asarray(array, dtype=np.float64)), dtype=object)


def textbook(spec: Spec, inputs: Inputs, conventions: Conventions) -> dict[str, np.ndarray]:
    """Exact outputs of a one-step Spec whose parameter axes ascend, by name."""
    x = exactly(inputs.x)
    reduced = tuple(axis + 1 for axis in spec.reduced_axes)
    outside = tuple(axis + 1 for axis in range(spec.rank) if axis not in spec.affine_axes)
    zero = mpf(0)

    def along(array, axes):
        return exactly(array).reshape(len(array), *(spec.shape[a] if a in axes else 1 for a in range(spec.rank)))

    def total(array, axes):
        return np.sum(np.broadcast_to(array, x.shape), axis=axes, keepdims=True, initial=zero)

    training, n = spec.mode == "training", mpf(max(spec.n, 1))
    eps = mpf(conventions.eps_given(spec))
    gamma = along(inputs.gamma, spec.affine_axes) if spec.has_gamma else exactly(np.ones((1,) * x.ndim))
    beta = along(inputs.beta, spec.affine_axes) if spec.has_beta else exactly(np.zeros((1,) * x.ndim))
    if training:
        mean = total(x, reduced) / n if spec.operation != "rms_norm" else total(x, reduced) * 0
        var = total((x - mean) * (x - mean), reduced) / n
    else:
        mean, var = along(inputs.running_mean, spec.kept_axes), along(inputs.running_var, spec.kept_axes)
    deviation = np.asarray(_root(var + eps), dtype=object)
    xhat = (x - mean) / deviation
    y = gamma * xhat + beta
    if spec.cotangent == "explicit":
        g = exactly(inputs.cotangent)
    elif spec.cotangent == "sum":
        g = exactly(np.ones(x.shape))
    else:
        g = 2 * y / mpf(spec.size)
    incoming = gamma * g
    dx = incoming / deviation
    if training:
        dvar = total(-incoming * (x - mean) / (2 * deviation * deviation * deviation), reduced)
        dx = dx + dvar * 2 * (x - mean) / n
        if spec.operation != "rms_norm":
            dmean = total(-incoming / deviation, reduced) + dvar * total(-2 * (x - mean), reduced) / n
            dx = dx + dmean / n
    outputs = {
        "y": y,
        "dx": dx,
        "dgamma": total(g * xhat, outside),
        "dbeta": total(g, outside),
        "batch_mean": mean,
        "batch_var": var,
    }
    if spec.has_running:
        old_mean, old_var = along(inputs.running_mean, spec.kept_axes), along(inputs.running_var, spec.kept_axes)
        given = mpf(conventions.momentum_given(spec))
        new, old = (given, 1 - given) if conventions.momentum_weighs == "new" else (1 - given, given)
        outputs["new_running_mean"] = old * old_mean + new * mean if training else old_mean
        outputs["new_running_var"] = old_var
        if training and spec.n > conventions.running_ddof:
            outputs["new_running_var"] = old * old_var + new * var * n / (n - conventions.running_ddof)
        elif training and conventions.single_value_variance == "biased":
            outputs["new_running_var"] = old * old_var + new * var
    return outputs


def distance(output, exact: np.ndarray) -> np.ndarray:
    """|(value + rest) − exact| of an OutputReference against a textbook output of as many elements, as float64."""
    value = exactly(output.value) + exactly(output.rest)
    return np.abs(value - np.asarray(exact, dtype=object).reshape(output.value.shape)).astype(np.float64)
