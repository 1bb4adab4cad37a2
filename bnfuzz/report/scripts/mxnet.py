"""mx.nd.BatchNorm, with every flag given or with none, and what the scripts in MXNet share."""

from __future__ import annotations

from collections.abc import Mapping

from bnfuzz.report.scripts.parts import Parts, Request, keywords, loss, scalars

OLD_NAMES = """\
# MXNet 1.9 uses names that NumPy 1.24 removed.
for name in ("bool", "int", "float", "complex", "object"):
    if name not in vars(np):
        setattr(np, name, getattr(builtins, name))"""


def parts(request: Request, **flags: object) -> Parts:
    """The operator under autograd. It writes the running statistics in place, in backward."""
    arrays = "x, gamma, beta, running_mean, running_var"
    given = {**scalars(request), **flags, "axis": request.spec.parameter_axes[0]}
    state = {f"new_{name}": name for name in request.state}
    return mxnet_parts(request, f"y = mx.nd.BatchNorm({arrays}{keywords(given)})", state)


def every_flag(request: Request) -> Parts:
    return parts(request, fix_gamma=False, use_global_stats=False)


def mxnet_parts(request: Request, call: str, statistics: Mapping[str, str]) -> Parts:
    """Parts around the text of a call that sets y; `statistics`: output -> expression after backward."""
    names = request.names()
    lines = [f"{name} = mx.nd.array({name}, dtype={name}.dtype)" for name in names]
    lines += [f"{name}.attach_grad()" for name in request.leaves]
    lines += recorded(request, call)
    given = {"y": "y", **{f"d{name}": f"{name}.grad" for name in request.leaves}, **statistics}
    lines.append(observed(given))
    return Parts(
        imports=imports(request),
        body="\n".join(lines),
        held={name: f"{name}.asnumpy()" for name in names},
    )


def recorded(request: Request, call: str) -> list[str]:
    """The call under autograd, then backward from y or from the loss."""
    mode = f"train_mode={request.training}"
    lines = [f"with mx.autograd.record({mode}):", *(f"    {line}" for line in call.splitlines())]
    if request.spec.cotangent == "explicit":
        return [*lines, f"y.backward(cotangent, {mode})"]
    return [*lines, f"    loss = {loss(request, '(y * y).mean()', 'y.sum()')}", f"loss.backward({mode})"]


def observed(given: Mapping[str, str]) -> str:
    pairs = ", ".join(f'"{output}": {expression}' for output, expression in given.items())
    return f"observed = {{name: value.asnumpy() for name, value in {{{pairs}}}.items()}}"


def imports(request: Request) -> tuple[str, ...]:
    """`import mxnet as mx`, after what a newer NumPy needs for it."""
    version = request.versions.get("numpy", "").split(".")
    numbers = tuple(int(part) for part in version[:2] if part.isdigit())
    if numbers >= (1, 24):
        return ("import builtins", OLD_NAMES, "import mxnet as mx")
    return ("import mxnet as mx",)
