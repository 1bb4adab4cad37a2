"""What the scripts in JAX share: y, its gradients and the statistics from one function, as a user would get them."""

from __future__ import annotations

from textwrap import indent

from bnfuzz.report.scripts.parts import Parts, Request, call, dictionary, loss

IMPORTS = ("import jax", "import jax.numpy as jnp")
ON_THE_CPU = 'jax.config.update("jax_platforms", "cpu")'
WIDE = 'jax.config.update("jax_enable_x64", True)'
OBSERVED = "observed = {name: np.asarray(value) for name, value in outputs.items()}"


def jax_parts(
    request: Request, forward: str, *, imports: tuple[str, ...] = (), own: tuple[str, ...] = (), jit: bool = True
) -> Parts:
    """Parts around the text of `forward(x, gamma, beta, …)`, a function of all inputs but the cotangent.

    forward gives (y, {output: statistic}). With `jit` the call is compiled as a whole. `own` are imports that may
    compute already, and so come after JAX is set up.
    """
    switches = (ON_THE_CPU, WIDE) if "float64" in request.spec.formats else (ON_THE_CPU,)
    rest = _differentiated(request, jit=jit) if request.backward else _plain(request, jit=jit)
    return Parts(
        imports=(*IMPORTS, *imports, "", *switches, *own),
        body=f"{forward}\n\n{rest}\n{OBSERVED}",
        half=lambda name: f"{name}.astype(jnp.bfloat16)",
    )


def forward_head(request: Request) -> str:
    """`def forward(…):` with the inputs that it takes."""
    return f"def forward({', '.join(request.leaves + request.state)}):"


def returned(request: Request, statistics: dict[str, str]) -> str:
    """The last lines of `forward`: y, and the statistics that are looked at, output -> expression."""
    return indent(dictionary(request.looked_at(statistics), start="return y, "), "    ")


def _plain(request: Request, *, jit: bool) -> str:
    given = ", ".join(request.leaves + request.state)
    y = '{"y": y, **statistics}' if request.looked_at({"y": "y"}) else "statistics"
    return f"y, statistics = {_handed('forward', given, jit=jit)}\noutputs = {y}"


def _differentiated(request: Request, *, jit: bool) -> str:
    leaves, everything = ", ".join(request.leaves), ", ".join(request.names())
    through = ", ".join(request.leaves + request.state)
    names = ", ".join(f'"d{name}"' for name in request.leaves)
    if request.spec.cotangent == "explicit":
        lines = [
            f"def call({leaves}):\n    return forward({through})\n",
            f"y, pullback, statistics = jax.vjp(call, {leaves}, has_aux=True)",
            "gradients = pullback(cotangent)",
        ]
    else:
        value = loss(request, mean_square="jnp.mean(y * y)", total="jnp.sum(y)")
        places = tuple(range(len(request.leaves)))
        lines = [
            f"def loss({leaves}):\n    y, statistics = forward({through})\n    return {value}, (y, statistics)\n",
            f"gradient = jax.grad(loss, argnums={places}, has_aux=True)",
            f"gradients, (y, statistics) = gradient({leaves})",
        ]
    lines.append(f'return {{"y": y, **dict(zip([{names}], gradients)), **statistics}}')
    function = f"def everything({everything}):\n{indent(chr(10).join(lines), '    ')}\n"
    return f"{function}\n\noutputs = {_handed('everything', everything, jit=jit)}"


def _handed(function: str, given: str, *, jit: bool) -> str:
    """The call, compiled as a whole or operation by operation on arrays of the device."""
    return call(f"jax.jit({function})", [given]) if jit else f"{function}(*jax.device_put(({given},)))"


def learned(request: Request, mean: str, var: str, *, new: str, old: str) -> dict[str, str]:
    """The statistics outputs of a training step from the expressions of its mean and variance."""
    pairs = {"batch_mean": mean, "batch_var": var}
    if request.state:
        pairs["new_running_mean"] = f"{old} * running_mean + {new} * {mean}"
        pairs["new_running_var"] = f"{old} * running_var + {new} * {var}"
    return pairs
