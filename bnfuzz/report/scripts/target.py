"""A user's own function, imported from its file: the script is run in that folder, or given it as its argument."""

from __future__ import annotations

import ast
import keyword
import sys
from pathlib import Path

from bnfuzz.backends.target import guessed_framework, parsed
from bnfuzz.report.scripts.jax_calls import IMPORTS, ON_THE_CPU, forward_head, jax_parts, returned
from bnfuzz.report.scripts.mxnet import imports as mxnet_imports
from bnfuzz.report.scripts.mxnet import mxnet_parts
from bnfuzz.report.scripts.parts import Parts, Request, call, dictionary, keywords
from bnfuzz.report.scripts.torch import torch_parts

TAKEN = frozenset({"numpy", "jax", "flax", "torch", "mxnet"})
"""Names under which a user's file could not be imported beside its framework."""

STATISTICS = {"new_running_mean": "mean", "new_running_var": "var"}


def parts(request: Request, name: str) -> Parts:
    """`name` is the backend's: target:FILE.py:FUNCTION. Gradients as the function's framework or file gives them."""
    file, function, framework = parsed(name)
    path = Path(file)
    framework = framework or guessed_framework(path)
    stateful = request.conventions.running == "needed"
    given = ["x", "gamma", "beta", *(request.state if stateful else ())]
    options = _options(request, taken_by(path, function), stateful=stateful)
    made = call(f"{'y, mean, var' if stateful else 'y'} = {function}", [*given, *options])
    statistics = STATISTICS if stateful else {}
    imports = imports_of(path, function)
    if framework == "numpy" or backward_of(path, function):
        return _written(request, path, function, made, framework)
    if framework == "torch":
        return torch_parts(request, made, statistics, imports=imports)
    if framework == "mxnet":
        plain = mxnet_parts(request, made, statistics)
        return Parts(imports=(*plain.imports, *imports), body=plain.body, held=plain.held)
    lines = [forward_head(request), *(f"    {line}" for line in made.splitlines()), returned(request, statistics)]
    return jax_parts(request, "\n".join(lines), own=imports)


def _options(request: Request, taken: frozenset[str] | None, *, stateful: bool) -> list[str]:
    """The keywords of a call, those of them that the function takes (None: all)."""
    spec, conventions = request.spec, request.conventions
    options: dict[str, object] = {"eps": conventions.eps_given(spec), "axis": spec.affine_axes[0]}
    if stateful:
        options |= {"momentum": conventions.momentum_given(spec), "training": request.training}
    return keywords({name: value for name, value in options.items() if taken is None or name in taken})


def taken_by(path: Path, function: str) -> frozenset[str] | None:
    """The parameters of a function of the file, read without running it; None where it takes any, or cannot be told."""
    for node in _statements(path):
        found = node.args if isinstance(node, ast.FunctionDef) and node.name == function else None
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [function]:
            found = node.value.args if isinstance(node.value, ast.Lambda) else None
        if found is not None and found.kwarg is None:
            return frozenset(one.arg for one in (*found.posonlyargs, *found.args, *found.kwonlyargs))
    return None


def _statements(path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []


def imports_of(path: Path, *names: str) -> tuple[str, ...]:
    """Lines that import the names from the file, whatever it is called."""
    module = path.stem
    folder = (f'folder = sys.argv[1] if len(sys.argv) > 1 else "."  # of {path.name}', "sys.path.insert(0, folder)")
    if module.isidentifier() and not keyword.iskeyword(module) and module not in TAKEN | sys.stdlib_module_names:
        return (*folder, f"from {module} import {', '.join(names)}")
    load = f"tested = runpy.run_path(folder + {'/' + path.name!r})"
    return ("import runpy", *folder, load, *(f'{name} = tested["{name}"]' for name in names))


def _written(request: Request, path: Path, function: str, made: str, framework: str) -> Parts:
    """The function as it is, and the file's own `backward` for the gradients of a training step."""
    names = request.names()
    into = {"jax": "jnp.asarray({})", "torch": "torch.from_numpy({})", "mxnet": "mx.nd.array({0}, dtype={0}.dtype)"}
    lines = [f"{name} = {into[framework].format(name)}" for name in names] if framework in into else []
    lines.append(made)
    outputs = {"y": "y", **(STATISTICS if request.conventions.running == "needed" else {})}
    imported = [function]
    backward = backward_of(path, function)
    if request.backward and request.training and backward:
        imported += [] if "." in backward else [backward]
        g = {"explicit": "cotangent", "sum": "y * 0 + 1"}.get(request.spec.cotangent, f"y * (2 / {request.spec.size})")
        options = _options(request, taken_by(path, backward), stateful=False)
        lines.append(call(f"dx, dgamma, dbeta = {backward}", ["x", "gamma", "beta", g, *options]))
        outputs |= {f"d{name}": f"d{name}" for name in ("x", "gamma", "beta")}
    lines.append(dictionary(request.looked_at(outputs), start="outputs = "))
    out = {"torch": "value.numpy()", "mxnet": "value.asnumpy()"}.get(framework, "np.asarray(value)")
    lines.append(f"observed = {{name: {out} for name, value in outputs.items()}}")
    first: dict[str, tuple[str, ...]] = {
        "jax": (*IMPORTS, ON_THE_CPU),
        "torch": ("import torch",),
        "mxnet": mxnet_imports(request),
    }
    held = {"torch": "{}.numpy()", "mxnet": "{}.asnumpy()"}.get(framework, "{}")
    return Parts(
        imports=(*first.get(framework, ()), *imports_of(path, *imported)),
        body="\n".join(lines),
        held={name: held.format(name) for name in names},
    )


def backward_of(path: Path, function: str) -> str:
    """How the file's written gradient is called: `backward`, `FUNCTION.backward`, or nothing where there is none."""
    statements = _statements(path)
    for node in statements:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(
            isinstance(target, ast.Attribute) and ast.unparse(target) == f"{function}.backward" for target in targets
        ):
            return f"{function}.backward"
    if any(isinstance(node, ast.FunctionDef) and node.name == "backward" for node in statements):
        return "backward"
    return ""
