"""flax.linen.BatchNorm, by default and with use_fast_variance=False."""

from __future__ import annotations

from bnfuzz.report.scripts.jax_calls import jax_parts
from bnfuzz.report.scripts.parts import Parts, Request, scalars


def parts(request: Request, **flags: object) -> Parts:
    """The layer's `apply` under jit; `flags` go to BatchNorm as they are."""
    spec = request.spec
    arguments: dict[str, object] = {
        "use_running_average": not request.training,
        "axis": spec.parameter_axes[0],
        **flags,
        **scalars(request, eps="epsilon"),
    }
    text = [f"{name}={value!r}" for name, value in arguments.items()]
    text += [f"dtype=jnp.{spec.data_format}", f"param_dtype=jnp.{spec.parameter_format}"]
    text += [f"{name}=False" for name, has in (("use_scale", spec.has_gamma), ("use_bias", spec.has_beta)) if not has]
    lines = "\n".join(f"    {line}," for line in text)
    return jax_parts(
        request, f"layer = linen.BatchNorm(\n{lines}\n)\n\n\n{_forward(request)}", imports=("from flax import linen",)
    )


def _forward(request: Request) -> str:
    spec = request.spec
    given = ", ".join(request.leaves + request.state)
    affine = [f'"{flax}": {ours}' for ours, flax in (("gamma", "scale"), ("beta", "bias")) if ours in request.leaves]
    variables = f'"params": {{{", ".join(affine)}}}'
    if spec.has_running:
        variables += ', "batch_stats": {"mean": running_mean, "var": running_var}'
    lines = [f"def forward({given}):", f"    variables = {{{variables}}}"]
    if not request.training:
        kept = '{"new_running_mean": running_mean, "new_running_var": running_var}'
        return "\n".join([*lines, f"    return layer.apply(variables, x), {kept}"])
    lines.append('    y, updated = layer.apply(variables, x, mutable=["batch_stats"])')
    if not spec.has_running:
        return "\n".join([*lines, "    return y, {}"])
    lines.append('    new = updated["batch_stats"]')
    return "\n".join([*lines, '    return y, {"new_running_mean": new["mean"], "new_running_var": new["var"]}'])
