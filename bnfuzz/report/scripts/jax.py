"""Batch norm written from scratch in JAX, two passes, under jit or operation by operation."""

from __future__ import annotations

from bnfuzz.report.scripts.jax_calls import forward_head, jax_parts, learned, returned
from bnfuzz.report.scripts.parts import Parts, Request


def parts(request: Request, *, jit: bool = True) -> Parts:
    """The function inlined, and its gradients by jax.vjp or jax.grad."""
    return jax_parts(request, forward_text(request), jit=jit)


def forward_text(request: Request) -> str:
    """`forward` of a one-step Spec, as the backend `jax` computes it."""
    spec, conventions = request.spec, request.conventions
    lines = [forward_head(request)]
    statistics = request.kept_state
    if request.training:
        lines += [
            f"    mean = jnp.mean(x, axis={spec.reduced_axes}, keepdims=True)",
            f"    var = jnp.mean(jnp.square(x - mean), axis={spec.reduced_axes}, keepdims=True)",
        ]
        new = conventions.momentum_given(spec)
        shape = spec.statistics_shape
        batch = (f"mean.reshape({shape})", f"var.reshape({shape})")
        statistics = learned(request, *batch, new=repr(new), old=repr(1 - new))
    else:
        lines += [f"    {name} = running_{name}{request.along_channels}" for name in ("mean", "var")]
    lines += affine_lines(request, f"(x - mean) / jnp.sqrt(var + {conventions.eps_given(spec)!r})")
    return "\n".join([*lines, returned(request, statistics)])


def affine_lines(request: Request, normalised: str) -> list[str]:
    """y from the expression of x̂."""
    lines = [f"    y = {normalised}"]
    if request.spec.has_gamma:
        lines.append(f"    y = y * gamma{request.along_channels}")
    if request.spec.has_beta:
        lines.append(f"    y = y + beta{request.along_channels}")
    return lines
