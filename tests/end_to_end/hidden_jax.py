"""Batch norms in JAX with a fault each that no catalogue of bnfuzz holds; `sound` is the same without one."""

import jax
import jax.numpy as jnp


def normalised(x, gamma, beta, eps, axis, *, mean=None, count=None, variance=None):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    mean = jnp.mean(x, axes, keepdims=True) if mean is None else mean
    if variance is None:
        variance = jnp.sum((x - mean) ** 2, axes, keepdims=True) / (count or x.size // x.shape[axis])
    normal = (x - mean) * jax.lax.rsqrt(variance + jnp.asarray(eps, x.dtype))
    return normal * gamma.reshape(shape) + beta.reshape(shape)


def sound(x, gamma, beta, *, eps, axis):
    return normalised(x, gamma, beta, eps, axis)


def counts_the_first_axis(x, gamma, beta, *, eps, axis):
    """The variance is divided by the batch alone, however many positions there are."""
    return normalised(x, gamma, beta, eps, axis, count=x.shape[1 if axis == 0 else 0])


def holds_half_of_the_mean(x, gamma, beta, *, eps, axis):
    """Half of the gradient through the mean is stopped."""
    axes = tuple(i for i in range(x.ndim) if i != axis)
    mean = jnp.mean(x, axes, keepdims=True)
    return normalised(x, gamma, beta, eps, axis, mean=(mean + jax.lax.stop_gradient(mean)) / 2)


@jax.custom_jvp
def _rounded(value):
    return value.astype(jnp.bfloat16).astype(value.dtype)


@_rounded.defjvp
def _rounded_jvp(primals, tangents):
    return _rounded(*primals), tangents[0]


def root_in_bfloat16(x, gamma, beta, *, eps, axis):
    """Only the value of the variance is rounded; its derivative is as it should be."""
    axes = tuple(i for i in range(x.ndim) if i != axis)
    return normalised(x, gamma, beta, eps, axis, variance=_rounded(jnp.var(x, axes, keepdims=True)))
