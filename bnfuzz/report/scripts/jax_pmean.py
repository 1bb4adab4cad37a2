"""Batch norm written from scratch in JAX: one example at a time under vmap, the statistics shared by lax.pmean."""

from __future__ import annotations

from bnfuzz.report.scripts.jax import affine_lines, forward_text
from bnfuzz.report.scripts.jax_calls import jax_parts, learned, statistics_text
from bnfuzz.report.scripts.parts import Parts, Request


def parts(request: Request) -> Parts:
    """In inference nothing is shared, and the plain function computes the same."""
    if not request.training:
        return jax_parts(request, forward_text(request))
    return jax_parts(request, _training_text(request), imports=("from jax import lax",))


def _training_text(request: Request) -> str:
    spec, conventions = request.spec, request.conventions
    examples = spec.reduced_axes[0]
    within = tuple(axis - (axis > examples) for axis in spec.reduced_axes if axis != examples)
    shape = spec.statistics_shape
    momentum = conventions.momentum_given(spec)
    # This backend's momentum weighs the old statistic.
    statistics = learned(
        request, f"mean.reshape({shape})", f"var.reshape({shape})", new=repr(1 - momentum), old=repr(momentum)
    )
    normalised = f"(example - mean) / jnp.sqrt(var + {conventions.eps_given(spec)!r})"
    lines = [
        f"def forward({', '.join(request.leaves + request.state)}):",
        "    def shared_mean(values):",
        f'        return lax.pmean(jnp.mean(values, axis={within}, keepdims=True), "batch")',
        "",
        "    def one_example(example):",
        "        mean = shared_mean(example)",
        "        var = jnp.maximum(shared_mean(jnp.square(example - mean)), 0)",
        f"        example, mean, var = (jnp.expand_dims(value, {examples}) for value in (example, mean, var))",
        *(f"    {line}" for line in affine_lines(request, normalised)),
        f"        return tuple(jnp.squeeze(value, {examples}) for value in (y, mean, var))",
        "",
        f"    axes = ({examples}, None, None)",
        f'    y, mean, var = jax.vmap(one_example, in_axes={examples}, out_axes=axes, axis_name="batch")(x)',
        f"    return y, {statistics_text(request, statistics)}",
    ]
    return "\n".join(lines)
