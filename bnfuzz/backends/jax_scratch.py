"""Batch norm from scratch in JAX, as the three JAX backends share it, and the program around it.

Everything is computed in the data's format: the formats are pure, so no operation converts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bnfuzz.backends.base import Arrays, Computed, Program
from bnfuzz.case import Spec
from bnfuzz.conventions import ALL_FORMATS, Conventions

OUTPUTS = (
    "batch_mean",
    "batch_var",
    "y",
    "dgamma",
    "dbeta",
    "dx",
    "new_running_mean",
    "new_running_var",
)


STATE = ("running_mean", "running_var")


def scratch_conventions(source: str, **others: Any) -> Conventions:
    """The conventions of the from-scratch kernels; `others` are what one of them does differently."""
    values: dict[str, Any] = {
        "formats": ALL_FORMATS,
        "ranks": (1, 8),
        "outputs": OUTPUTS,
        "empty": "value",
        "empty_statistics": "nan",
        "flushes_subnormals": True,
        "variance_formula": "two-pass",
    }
    return Conventions(source=source, **{**values, **others})


def normalise(x: Any, mean: Any, var: Any, affine: dict[str, Any], *, spec: Spec, eps: float) -> Any:
    """gamma (x - mean)/sqrt(var + eps) + beta; mean and var keep the reduced axes as 1."""
    import jax.numpy as jnp

    y = (x - mean) / jnp.sqrt(var + eps)
    if spec.has_gamma:
        y = y * along(spec, affine["gamma"])
    if spec.has_beta:
        y = y + along(spec, affine["beta"])
    return y.astype(x.dtype)


def along(spec: Spec, parameter: Any) -> Any:
    """A parameter or statistic of the channel axis, shaped to broadcast against x."""
    return parameter.reshape([size if axis in spec.affine_axes else 1 for axis, size in enumerate(spec.shape)])


Forward = Callable[[Any, dict[str, Any], dict[str, Any]], tuple[Any, dict[str, Any]]]
"""(x, gamma and beta by name, running statistics by name) -> (y, the statistics outputs by name)."""


def differentiated(spec: Spec, forward: Forward) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """inputs by name -> outputs by name: y, the framework's own gradients and the statistics."""
    import jax
    import jax.numpy as jnp

    def with_gradients(arrays: dict[str, Any]) -> dict[str, Any]:
        affine: dict[str, Any] = {name: arrays[name] for name in ("gamma", "beta") if name in arrays}
        running: dict[str, Any] = {name: arrays[name] for name in STATE if name in arrays}

        def call(x: Any, parameters: dict[str, Any]) -> Any:
            return forward(x, parameters, running)

        if spec.cotangent == "explicit":
            y, pullback, statistics = jax.vjp(call, arrays["x"], affine, has_aux=True)
            dx, daffine = pullback(arrays["cotangent"])
        else:

            def loss(x: Any, parameters: dict[str, Any]) -> Any:
                y, statistics = call(x, parameters)
                return (jnp.sum(y) if spec.cotangent == "sum" else jnp.mean(y * y)), (y, statistics)

            (dx, daffine), (y, statistics) = jax.grad(loss, argnums=(0, 1), has_aux=True)(arrays["x"], affine)
        gradients = {f"d{name}": value for name, value in daffine.items()}
        return {"y": y, **gradients, "dx": dx, **statistics}

    return with_gradients


def program_of(function: Callable[[dict[str, Any]], dict[str, Any]]) -> Program:
    """NumPy arrays in and out around a function of arrays by name; a jitted one takes them as they are."""

    def program(arrays: Arrays) -> Computed:
        outputs = function(dict(arrays))
        return Computed(outputs={name: np.asarray(value) for name, value in outputs.items()})

    return program


def plain_forward(spec: Spec, conventions: Conventions) -> Forward:
    """Two passes over the reduced axes: mean, then the mean of the squared deviations."""
    import jax.numpy as jnp

    eps, momentum = conventions.eps_given(spec), conventions.momentum_given(spec)

    def forward(x: Any, affine: dict[str, Any], running: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if spec.mode == "inference":
            mean, var = along(spec, running["running_mean"]), along(spec, running["running_var"])
            return normalise(x, mean, var, affine, spec=spec, eps=eps), unchanged(running)
        mean = jnp.mean(x, axis=spec.reduced_axes, keepdims=True)
        var = jnp.mean(jnp.square(x - mean), axis=spec.reduced_axes, keepdims=True)
        y = normalise(x, mean, var, affine, spec=spec, eps=eps)
        batch = {"batch_mean": mean.reshape(spec.statistics_shape), "batch_var": var.reshape(spec.statistics_shape)}
        return y, batch | learned(running, batch, new=momentum, old=1 - momentum)

    return forward


def unchanged(running: dict[str, Any]) -> dict[str, Any]:
    return {f"new_{name}": value for name, value in running.items()}


def learned(running: dict[str, Any], batch: dict[str, Any], *, new: float, old: float) -> dict[str, Any]:
    """old times the running plus new times the batch statistic; nothing where there are no running ones."""
    pairs = (("running_mean", "batch_mean"), ("running_var", "batch_var"))
    return {f"new_{name}": old * running[name] + new * batch[other] for name, other in pairs if name in running}
