"""Backend `jax-pmean`: one example at a time under vmap, statistics shared by pmean over the axis name.

Mean over the example's own reduced axes, then pmean; the variance likewise from squared deviations, clamped at 0.
The gradient is taken outside the vmap: inside it every example's loss would count, N times the gradient.
momentum weighs the OLD statistic: running = momentum running + (1 - momentum) batch.
"""

from __future__ import annotations

from typing import Any

from bnfuzz.backends.base import Backend, Program
from bnfuzz.backends.jax_scratch import (
    Forward,
    along,
    differentiated,
    learned,
    normalise,
    program_of,
    scratch_conventions,
    unchanged,
)
from bnfuzz.case import Spec

AXIS = "batch"


class JaxPmean(Backend):
    label = "jax-pmean"
    framework = "jax"
    packages: tuple[str, ...] = ("jax", "jaxlib")
    conventions = scratch_conventions("bnfuzz/backends/jax_pmean.py", momentum_weighs="old", ranks=(2, 8))

    def compile(self, spec: Spec) -> Program:
        import jax

        return program_of(jax.jit(differentiated(spec, self._forward(spec))))

    def _forward(self, spec: Spec) -> Forward:
        import jax
        import jax.numpy as jnp
        from jax import lax

        eps, momentum = self.conventions.eps_given(spec), self.conventions.momentum_given(spec)
        examples = spec.reduced_axes[0]
        within = tuple(axis - (axis > examples) for axis in spec.reduced_axes if axis != examples)

        def shared_mean(values: Any) -> Any:
            return lax.pmean(jnp.mean(values, axis=within, keepdims=True), AXIS)

        def forward(x: Any, affine: dict[str, Any], running: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            def one_example(example: Any) -> tuple[Any, Any, Any]:
                mean = shared_mean(example)
                var = jnp.maximum(shared_mean(jnp.square(example - mean)), 0)
                return normalised(example, mean, var), mean, var

            def normalised(example: Any, mean: Any, var: Any) -> Any:
                x, mean, var = (jnp.expand_dims(value, examples) for value in (example, mean, var))
                return jnp.squeeze(normalise(x, mean, var, affine, spec=spec, eps=eps), examples)

            if spec.mode == "inference":
                mean, var = (
                    jnp.squeeze(along(spec, running[name]), examples) for name in ("running_mean", "running_var")
                )
                y = jax.vmap(lambda example: normalised(example, mean, var), in_axes=examples, out_axes=examples)(x)
                return y, unchanged(running)
            y, mean, var = jax.vmap(one_example, in_axes=examples, out_axes=(examples, None, None), axis_name=AXIS)(x)
            shape = spec.statistics_shape
            batch = {"batch_mean": mean.reshape(shape), "batch_var": var.reshape(shape)}
            return y, batch | learned(running, batch, new=1 - momentum, old=momentum)

        return forward
