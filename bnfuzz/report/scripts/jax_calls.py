"""What the scripts in JAX share: y, its gradients and the statistics from one function, as a user would get them."""

from __future__ import annotations

from textwrap import indent

from bnfuzz.report.scripts.parts import Parts, Request, loss

IMPORTS = ("import jax", "import jax.numpy as jnp")


def jax_parts(request: Request, forward: str, *, imports: tuple[str, ...] = (), jit: bool = True) -> Parts:
    """Parts around the text of `forward(x, gamma, beta, …)`, a function of all inputs but the cotangent.

    forward gives (y, {output: statistic}). With `jit` the call is compiled as a whole.
    """
    wide = "float64" in request.spec.formats
    first = (*IMPORTS, *imports, *(('jax.config.update("jax_enable_x64", True)',) if wide else ()))
    body = f"{forward}\n\n{_differentiated(request, jit=jit) if request.gradients else _plain(request, jit=jit)}"
    return Parts(imports=first, body=body, half=lambda name: f"{name}.astype(jnp.bfloat16)")


def _plain(request: Request, *, jit: bool) -> str:
    given = ", ".join(request.leaves + request.state)
    call = "jax.jit(forward)" if jit else "forward"
    handed = given if jit else f"*jax.device_put(({given},))"
    return (
        f"y, statistics = {call}({handed})\n"
        'observed = {name: np.asarray(value) for name, value in {"y": y, **statistics}.items()}'
    )


def _differentiated(request: Request, *, jit: bool) -> str:
    leaves, state = ", ".join(request.leaves), ", ".join(request.state)
    everything = ", ".join(request.names())
    through = f"{leaves}, {state}" if state else leaves
    if request.spec.cotangent == "explicit":
        calls = f"y, pullback, statistics = jax.vjp(call, {leaves}, has_aux=True)\ngradients = pullback(cotangent)\n"
        inner = f"def call({leaves}):\n    return forward({through})\n\n"
    else:
        value = loss(request, "jnp.mean(y * y)", "jnp.sum(y)")
        inner = f"def loss({leaves}):\n    y, statistics = forward({through})\n    return {value}, (y, statistics)\n\n"
        places = tuple(range(len(request.leaves)))
        calls = f"gradients, (y, statistics) = jax.grad(loss, argnums={places}, has_aux=True)({leaves})\n"
    names = [f"d{name}" for name in request.leaves]
    calls += f'return {{"y": y, **dict(zip({names}, gradients)), **statistics}}'
    function = f"def everything({everything}):\n{indent(inner + calls, '    ')}\n\n\n"
    call = f"jax.jit(everything)({everything})" if jit else f"everything(*jax.device_put(({everything},)))"
    return f"{function}observed = {{name: np.asarray(value) for name, value in {call}.items()}}"


def statistics_text(request: Request, pairs: dict[str, str]) -> str:
    """The dictionary of statistics outputs as text: output -> expression."""
    return "{" + ", ".join(f'"{name}": {expression}' for name, expression in pairs.items()) + "}"


def learned(request: Request, mean: str, var: str, *, new: str, old: str) -> dict[str, str]:
    """The statistics outputs of a training step from the expressions of its mean and variance."""
    pairs = {"batch_mean": mean, "batch_var": var}
    if request.state:
        pairs["new_running_mean"] = f"{old} * running_mean + {new} * {mean}"
        pairs["new_running_var"] = f"{old} * running_var + {new} * {var}"
    return pairs
