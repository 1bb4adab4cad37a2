"""Batch norm written from scratch in JAX: one example at a time under vmap, the statistics shared by lax.pmean."""

from __future__ import annotations

from bnfuzz.report.scripts.jax import affine_lines, forward_text
from bnfuzz.report.scripts.jax_calls import forward_head, jax_parts, learned, returned
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
    # This backend's momentum weighs the old statistic.
    old = conventions.momentum_given(spec)
    batch = (f"mean.reshape({shape})", f"var.reshape({shape})")
    statistics = learned(request, *batch, new=repr(1 - old), old=repr(old))
    normalised = f"(example - mean_) / jnp.sqrt(var_ + {conventions.eps_given(spec)!r})"
    lines = [
        forward_head(request),
        "    def shared_mean(values):",
        f'        return lax.pmean(jnp.mean(values, axis={within}, keepdims=True), "batch")',
        "",
        "    def one_example(example):",
        "        mean = shared_mean(example)",
        "        var = jnp.maximum(shared_mean(jnp.square(example - mean)), 0)",
        f"        example, mean_, var_ = (jnp.expand_dims(value, {examples}) for value in (example, mean, var))",
        *(f"    {line}" for line in affine_lines(request, normalised)),
        f"        return jnp.squeeze(y, {examples}), mean, var",
        "",
        f"    axes = ({examples}, None, None)",
        f'    y, mean, var = jax.vmap(one_example, in_axes={examples}, out_axes=axes, axis_name="batch")(x)',
        returned(request, statistics),
    ]
    return "\n".join(lines)
