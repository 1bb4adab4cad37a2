"""A user's own function, imported from its file, which lies beside the script."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from bnfuzz.backends.target import guessed_framework, parsed
from bnfuzz.report.scripts.jax_calls import jax_parts
from bnfuzz.report.scripts.mxnet import mxnet_parts
from bnfuzz.report.scripts.parts import Parts, Request, keywords
from bnfuzz.report.scripts.torch import torch_parts

FRAMEWORK_MODULES = frozenset({"numpy", "jax", "flax", "torch", "mxnet"})


def parts(request: Request, name: str) -> Parts:
    """`name` is the backend's: target:FILE.py:FUNCTION. Gradients as the function's framework or file gives them."""
    file, function, framework = parsed(name)
    path = Path(file)
    framework = framework or guessed_framework(path)
    stateful = request.conventions.running == "needed"
    given = ["x", "gamma", "beta", *(request.state if stateful else ())]
    options = _options(request, stateful=stateful)
    call = f"{function}({', '.join(given)}{keywords(options)})"
    state = {"new_running_mean": "mean", "new_running_var": "var"} if stateful else {}
    imports = _imports(path, function)
    if framework == "numpy" or writes_backward(path):
        return _written(request, path, function, call, options, state, framework)
    result = f"y, mean, var = {call}" if stateful else f"y = {call}"
    if framework == "torch":
        return torch_parts(request, result, state, imports=imports)
    if framework == "mxnet":
        plain = mxnet_parts(request, result, state)
        return Parts(imports=(*plain.imports, *imports), body=plain.body, held=plain.held)
    statistics = "{" + ", ".join(f'"{output}": {value}' for output, value in state.items()) + "}"
    forward = f"def forward({', '.join(request.leaves + request.state)}):\n    {result}\n    return y, {statistics}"
    return jax_parts(request, forward, imports=imports)


def _options(request: Request, *, stateful: bool) -> dict[str, object]:
    spec, conventions = request.spec, request.conventions
    options: dict[str, object] = {"eps": conventions.eps_given(spec), "axis": spec.affine_axes[0]}
    if stateful:
        options |= {"momentum": conventions.momentum_given(spec), "training": request.training}
    return options


def _imports(path: Path, *names: str) -> tuple[str, ...]:
    """Lines that import the names from the file, whatever it is called."""
    module = path.stem
    shadowed = module in FRAMEWORK_MODULES or module in sys.stdlib_module_names
    first = f'sys.path.insert(0, "")  # run in the folder of {path.name}'
    if module.isidentifier() and not shadowed:
        return (first, f"from {module} import {', '.join(names)}")
    loader = f'importlib.machinery.SourceFileLoader("tested", {path.name!r})'
    load = f'tested = importlib.util.module_from_spec(importlib.util.spec_from_loader("tested", {loader}))'
    lines = (
        first,
        "import importlib.machinery",
        "import importlib.util",
        load,
        "tested.__loader__.exec_module(tested)",
    )
    return (*lines, *(f"{name} = tested.{name}" for name in names))


def _written(
    request: Request,
    path: Path,
    function: str,
    call: str,
    options: dict[str, object],
    state: dict[str, str],
    framework: str,
) -> Parts:
    """The function as it is, and `backward` of its file (or of the function) for the gradients of a training step."""
    names = request.names()
    into = {"jax": "jnp.asarray({})", "torch": "torch.from_numpy({})", "mxnet": "mx.nd.array({0}, dtype={0}.dtype)"}
    lines = [f"{name} = {into[framework].format(name)}" for name in names] if framework in into else []
    pairs = {"y": "y", **state}
    lines.append(f"{', '.join(pairs.values())} = {call}")
    asked = {name: value for name, value in options.items() if name in ("eps", "axis")}
    imported = [function]
    if request.gradients and request.training and writes_backward(path):
        written = f"{function}.backward" if _attribute(path) else "backward"
        imported += [] if _attribute(path) else ["backward"]
        g = {"explicit": "cotangent", "sum": "y * 0 + 1"}.get(request.spec.cotangent, f"y * (2 / {request.spec.size})")
        lines.append(f"dx, dgamma, dbeta = {written}(x, gamma, beta, {g}{keywords(asked)})")
        pairs |= {f"d{name}": f"d{name}" for name in ("x", "gamma", "beta")}
    out = {"torch": "value.numpy()", "mxnet": "value.asnumpy()"}.get(framework, "np.asarray(value)")
    given = ", ".join(f'"{output}": {value}' for output, value in pairs.items())
    lines.append(f"observed = {{name: {out} for name, value in {{{given}}}.items()}}")
    first = {
        "jax": ("import jax.numpy as jnp",),
        "torch": ("import torch",),
        "mxnet": ("import mxnet as mx",),
    }.get(framework, ())
    held = {"torch": "{}.numpy()", "mxnet": "{}.asnumpy()"}.get(framework, "{}")
    return Parts(
        imports=(*first, *_imports(path, *imported)),
        body="\n".join(lines),
        held={name: held.format(name) for name in names},
    )


def writes_backward(path: Path) -> bool:
    """Whether the file defines `backward`, or gives a function one."""
    return _attribute(path) or any(
        isinstance(node, ast.FunctionDef) and node.name == "backward" for node in _statements(path)
    )


def _attribute(path: Path) -> bool:
    targets = [target for node in _statements(path) if isinstance(node, ast.Assign) for target in node.targets]
    return any(isinstance(target, ast.Attribute) and target.attr == "backward" for target in targets)


def _statements(path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
