"""torch.nn.functional.batch_norm, and what the scripts in torch share."""

from __future__ import annotations

from bnfuzz.report.scripts.parts import Parts, Request, keywords, loss, scalars

COPIED = ("flipped", "zero_stride")
"""Layouts that torch.from_numpy does not take."""


def parts(request: Request) -> Parts:
    """The functional call; the buffers are updated in place."""
    handed = {name: name for name in request.names()}
    arrays = [handed.get(name, "None") for name in ("running_mean", "running_var", "gamma", "beta")]
    call = (
        f"y = functional.batch_norm(\n    x, {', '.join(arrays)}, training={request.training}"
        f"{keywords(scalars(request))}\n)"
    )
    state = {f"new_{name}": name for name in request.state}
    return torch_parts(request, call, state, imports=("from torch.nn import functional",))


def torch_parts(request: Request, call: str, statistics: dict[str, str], *, imports: tuple[str, ...] = ()) -> Parts:
    """Parts around the text of a call that sets y from tensors; `statistics`: output -> expression after the call."""
    names = request.names()
    brain = {name for name in names if _format(request, name) == "bfloat16"}
    lines = ["torch.set_num_threads(1)"]
    lines += [f"{name} = {_tensor(request, name, name in brain)}" for name in names]
    leaves = request.leaves
    if request.gradients:
        # An explicit loop would hide that these are ordinary leaves.
        lines += [f"{name}.requires_grad_()" for name in leaves]
    lines.append(call)
    given = {"y": "y", **statistics}
    if request.gradients:
        lines.append(_gradients(request))
        given |= {f"d{name}": f"d{name}" for name in leaves}
    pairs = ", ".join(f'"{output}": {expression}' for output, expression in given.items())
    lines.append(f"observed = {{name: to_numpy(value) for name, value in {{{pairs}}}.items()}}")
    return Parts(
        imports=("import torch", *imports),
        body=TO_NUMPY + "\n".join(lines),
        half=lambda name: f"({name}.view(np.uint32) >> 16).astype(np.uint16).view(np.int16)",
        held={name: f"to_numpy({name})" for name in names},
    )


TO_NUMPY = """\
def to_numpy(tensor):
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy().copy()


"""


def _format(request: Request, name: str) -> str:
    from bnfuzz.case import expected_arrays

    return expected_arrays(request.spec)[name][1]


def _tensor(request: Request, name: str, brain: bool) -> str:
    layouts = {"x": request.spec.layout_x, "cotangent": request.spec.layout_cotangent}
    array = f"{name}.copy()" if layouts.get(name) in COPIED else name
    return f"torch.from_numpy({array})" + (".view(torch.bfloat16)" if brain else "")


def _gradients(request: Request) -> str:
    found = ", ".join(f"d{name}" for name in request.leaves)
    leaves = ", ".join(request.leaves)
    comma = "," if len(request.leaves) == 1 else ""
    if request.spec.cotangent == "explicit":
        return f"{found}{comma} = torch.autograd.grad(y, [{leaves}], cotangent)"
    return f"{found}{comma} = torch.autograd.grad({loss(request, '(y * y).mean()', 'y.sum()')}, [{leaves}])"
