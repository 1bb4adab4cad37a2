"""flax.linen.BatchNorm, by default and with use_fast_variance=False."""

from __future__ import annotations

from textwrap import indent

from bnfuzz.report.scripts.jax_calls import forward_head, jax_parts, returned
from bnfuzz.report.scripts.parts import Parts, Request, call, dictionary, keywords, scalars

NEW = {
    "new_running_mean": 'updated["batch_stats"]["mean"]',
    "new_running_var": 'updated["batch_stats"]["var"]',
}


def parts(request: Request, **flags: object) -> Parts:
    """The layer's `apply` under jit; `flags` go to BatchNorm as they are."""
    spec = request.spec
    given: dict[str, object] = {
        "use_running_average": not request.training,
        "axis": spec.parameter_axes[0],
        **flags,
        **scalars(request, eps="epsilon"),
    }
    given |= {name: False for name, has in (("use_scale", spec.has_gamma), ("use_bias", spec.has_beta)) if not has}
    dtypes = [f"dtype=jnp.{spec.data_format}", f"param_dtype=jnp.{spec.parameter_format}"]
    layer = call("layer = linen.BatchNorm", [*keywords(given), *dtypes])
    return jax_parts(request, f"{layer}\n\n\n{_forward(request)}", imports=("from flax import linen",))


def _forward(request: Request) -> str:
    affine = {flax: ours for ours, flax in (("gamma", "scale"), ("beta", "bias")) if ours in request.leaves}
    variables = {"params": dictionary(affine)}
    if request.state:
        variables["batch_stats"] = dictionary({"mean": "running_mean", "var": "running_var"})
    lines = [forward_head(request), indent(dictionary(variables, start="variables = "), "    ")]
    if not request.training:
        return "\n".join([*lines, "    y = layer.apply(variables, x)", returned(request, request.kept_state)])
    lines.append('    y, updated = layer.apply(variables, x, mutable=["batch_stats"])')
    return "\n".join([*lines, returned(request, NEW if request.state else {})])
