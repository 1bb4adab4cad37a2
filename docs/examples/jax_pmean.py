"""A batch norm written for one example, which shares its statistics under vmap. Compare it with the plain one:

bnfuzz compare docs/examples/jax_pmean.py:batch_norm docs/examples/jax_plain.py:batch_norm \
    --shape 20,30,40,5 --channel-axis -1 --cotangent mean_square
"""

import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
class BatchNorm:
    """Scale and shift are leaves; the running statistics and the settings are auxiliary data."""

    def __init__(self, scale, shift, mean=0.0, variance=1.0, momentum=0.1, epsilon=1e-5, axis_name="batch"):
        self.scale, self.shift = scale, shift
        self.settings = (mean, variance, momentum, epsilon, axis_name)

    def tree_flatten(self):
        return (self.scale, self.shift), self.settings

    @classmethod
    def tree_unflatten(cls, settings, leaves):
        return cls(*leaves, *settings)

    def __call__(self, x):
        """One example (H, W, C) -> (the example normalised, (the running mean, the running variance))."""
        running_mean, running_var, momentum, epsilon, axis_name = self.settings
        axes = tuple(range(x.ndim - 1))
        mean = jax.lax.pmean(jnp.mean(x, axis=axes, keepdims=True), axis_name)
        variance = jax.lax.pmean(jnp.mean((x - mean) ** 2, axis=axes, keepdims=True), axis_name)
        variance = jnp.maximum(variance, 0.0)
        running_mean = momentum * running_mean + (1 - momentum) * mean
        running_var = momentum * running_var + (1 - momentum) * variance
        x_hat = (x - mean) / jnp.sqrt(variance + epsilon)
        return self.scale * x_hat + self.shift, (running_mean, running_var)


def batch_norm(x, scale, shift, running_mean, running_var):
    model = BatchNorm(scale, shift, running_mean, running_var)
    y, (mean, variance) = jax.vmap(model, out_axes=(0, None), axis_name="batch")(x)
    return y, mean.reshape(-1), variance.reshape(-1)
