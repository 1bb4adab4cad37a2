"""Batch norm written from scratch in JAX, two passes, under jit or operation by operation."""

from __future__ import annotations

from bnfuzz.report.scripts.jax_calls import jax_parts, learned, statistics_text
from bnfuzz.report.scripts.parts import Parts, Request


def parts(request: Request, *, jit: bool = True) -> Parts:
    """The function inlined, and its gradients by jax.vjp or jax.grad."""
    return jax_parts(request, forward_text(request), jit=jit)


def forward_text(request: Request) -> str:
    """`forward` of a one-step Spec, as the backend `jax` computes it."""
    spec, conventions = request.spec, request.conventions
    shape = spec.statistics_shape
    along = f".reshape({request.channel_shape})"
    lines = [f"def forward({', '.join(request.leaves + request.state)}):"]
    if request.training:
        momentum = conventions.momentum_given(spec)
        lines += [
            f"    mean = jnp.mean(x, axis={spec.reduced_axes}, keepdims=True)",
            f"    var = jnp.mean(jnp.square(x - mean), axis={spec.reduced_axes}, keepdims=True)",
        ]
        statistics = learned(
            request,
            f"mean.reshape({shape})",
            f"var.reshape({shape})",
            new=repr(momentum),
            old=repr(1 - momentum),
        )
    else:
        lines.append(f"    mean, var = running_mean{along}, running_var{along}")
        statistics = {f"new_{name}": name for name in request.state}
    lines += affine_lines(request, f"(x - mean) / jnp.sqrt(var + {conventions.eps_given(spec)!r})")
    return "\n".join([*lines, f"    return y, {statistics_text(request, statistics)}"])


def affine_lines(request: Request, normalised: str) -> list[str]:
    """y from the expression of x̂."""
    along = f".reshape({request.channel_shape})"
    lines = [f"    y = {normalised}"]
    if request.spec.has_gamma:
        lines.append(f"    y = y * gamma{along}")
    if request.spec.has_beta:
        lines.append(f"    y = y + beta{along}")
    return lines
