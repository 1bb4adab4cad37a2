"""flax.linen.BatchNorm as a program: what the two flax backends share.

x and the gradient of x are cast twice in a backward pass (x - mean, and the statistics): JAX casts each of the
two cotangents to x's format and adds them there (`dx_parts`).
"""

from __future__ import annotations

from typing import Any

from bnfuzz.backends.base import Program
from bnfuzz.backends.jax_scratch import differentiated, program_of, unchanged
from bnfuzz.case import Spec
from bnfuzz.conventions import MIXED_FORMATS, Conventions, FormatTriple

FORMATS: tuple[FormatTriple, ...] = (
    ("float32", "float32", "float32"),
    ("float64", "float64", "float64"),
    *MIXED_FORMATS,
    ("float16", "float16", "float32"),
    ("bfloat16", "bfloat16", "float32"),
)
"""Statistics are float32 or wider, whatever the data and the parameters are."""

CONVENTIONS = Conventions(
    source="flax.linen.BatchNorm, docstring of flax 0.12.8",
    default_eps=1e-5,
    default_momentum=0.99,
    momentum_weighs="old",
    formats=FORMATS,
    compute=(("float16", "float32"), ("bfloat16", "float32")),
    ranks=(1, 8),
    empty="value",
    empty_statistics="nan",
    flushes_subnormals=True,
    dx_parts="storage",
    variance_formula="one-pass",
)


def flax_program(spec: Spec, conventions: Conventions, **flags: bool) -> Program:
    """The jitted layer with its gradients; `flags` go to BatchNorm as they are."""
    import jax
    import jax.numpy as jnp
    from flax import linen

    given: dict[str, Any] = dict(flags)
    if spec.eps is not None:
        given["epsilon"] = spec.eps
    if spec.momentum is not None:
        given["momentum"] = conventions.momentum_argument(spec)
    layer = linen.BatchNorm(
        use_running_average=spec.mode == "inference",
        axis=spec.parameter_axes[0],
        dtype=jnp.dtype(spec.data_format),
        param_dtype=jnp.dtype(spec.parameter_format),
        use_scale=spec.has_gamma,
        use_bias=spec.has_beta,
        **given,
    )

    def forward(x: Any, affine: dict[str, Any], running: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        names = (("gamma", "scale"), ("beta", "bias"))
        variables: dict[str, Any] = {"params": {flax: affine[ours] for ours, flax in names if ours in affine}}
        if running:
            variables["batch_stats"] = {"mean": running["running_mean"], "var": running["running_var"]}
        if spec.mode == "inference":
            return layer.apply(variables, x), unchanged(running)
        y, updated = layer.apply(variables, x, mutable=["batch_stats"])
        new = updated["batch_stats"]
        return y, {"new_running_mean": new["mean"], "new_running_var": new["var"]} if running else {}

    return program_of(jax.jit(differentiated(spec, forward)))
