"""Batch norm over a whole batch in JAX, channels last."""

import jax.numpy as jnp


def batch_norm(x, scale, shift, eps=1e-5):
    mean = jnp.mean(x, axis=(0, 1, 2), keepdims=True)
    variance = jnp.var(x, axis=(0, 1, 2), keepdims=True)
    return scale * (x - mean) / jnp.sqrt(variance + eps) + shift
