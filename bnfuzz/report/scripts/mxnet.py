"""mx.nd.BatchNorm, with every flag given or with none, and what the scripts in MXNet share."""

from __future__ import annotations

from collections.abc import Mapping

from bnfuzz.report.scripts.parts import Parts, Request, call, dictionary, keywords, loss, scalars

OLD_NAMES = """\
# MXNet 1.9 uses names that NumPy 1.24 removed.
for name in ("bool", "int", "float", "complex", "object"):
    if name not in vars(np):
        setattr(np, name, getattr(builtins, name))"""

ARRAYS = ("x", "gamma", "beta", "running_mean", "running_var")


def parts(request: Request, **flags: object) -> Parts:
    """The operator under autograd. It writes the running statistics in place, in backward."""
    given = {**scalars(request), **flags, "axis": request.spec.parameter_axes[0]}
    return mxnet_parts(request, call("y = mx.nd.BatchNorm", [*ARRAYS, *keywords(given)]), request.kept_state)


def every_flag(request: Request) -> Parts:
    """With the flags that the backend `mxnet` gives."""
    return parts(request, fix_gamma=False, use_global_stats=False)


def mxnet_parts(request: Request, made: str, statistics: Mapping[str, str]) -> Parts:
    """Parts around the text of a call that sets y; `statistics`: output -> expression at the end."""
    names = request.names()
    lines = [f"{name} = mx.nd.array({name}, dtype={name}.dtype)" for name in names]
    given = {"y": "y", **statistics}
    if request.backward:
        lines += [f"{name}.attach_grad()" for name in request.leaves]
        given |= {f"d{name}": f"{name}.grad" for name in request.leaves}
    lines += [*recorded(request, made), *observed(request, given)]
    held = {name: f"{name}.asnumpy()" for name in names}
    return Parts(imports=imports(request), body="\n".join(lines), held=held)


def recorded(request: Request, made: str) -> list[str]:
    """The call under autograd, then backward from y or from the loss where that is needed."""
    mode = f"train_mode={request.training}"
    lines = [f"with mx.autograd.record({mode}):", *(f"    {line}" for line in made.splitlines())]
    if not request.backward:
        return lines
    if request.spec.cotangent == "explicit":
        return [*lines, f"y.backward(cotangent, {mode})"]
    value = loss(request, mean_square="(y * y).mean()", total="y.sum()")
    return [*lines, f"    loss = {value}", f"loss.backward({mode})"]


def observed(request: Request, given: Mapping[str, str]) -> list[str]:
    """The lines that read those outputs that are looked at."""
    return [
        dictionary(request.looked_at(given), start="outputs = "),
        "observed = {name: value.asnumpy() for name, value in outputs.items()}",
    ]


def imports(request: Request) -> tuple[str, ...]:
    """`import mxnet as mx`, after what a newer NumPy needs for it."""
    version = request.versions.get("numpy", "").split(".")
    numbers = tuple(int(part) for part in version[:2] if part.isdigit())
    if numbers >= (1, 24):
        return ("import builtins", OLD_NAMES, "import mxnet as mx")
    return ("import mxnet as mx",)
