"""torch.nn.functional.batch_norm, and what the scripts in torch share."""

from __future__ import annotations

from bnfuzz.case import expected_arrays
from bnfuzz.report.scripts.parts import Parts, Request, call, dictionary, keywords, loss, scalars

COPIED = ("flipped", "zero_stride")
"""Layouts that torch does not take from NumPy."""


def parts(request: Request) -> Parts:
    """The functional call; the buffers are updated in place."""
    present = request.names()
    arrays = [name if name in present else "None" for name in ("running_mean", "running_var", "gamma", "beta")]
    given = ["x", *arrays, f"training={request.training}", *keywords(scalars(request))]
    made = call("y = functional.batch_norm", given)
    return torch_parts(request, made, request.kept_state, imports=("from torch.nn import functional",))


def torch_parts(request: Request, made: str, statistics: dict[str, str], *, imports: tuple[str, ...] = ()) -> Parts:
    """Parts around the text of a call that sets y from tensors; `statistics`: output -> expression after the call."""
    names, leaves = request.names(), request.leaves
    lines = ["torch.set_num_threads(1)", *(f"{name} = {_tensor(request, name)}" for name in names)]
    given = {"y": "y", **statistics}
    if request.backward:
        lines += [f"{name}.requires_grad_()" for name in leaves]
        lines += [made, _gradients(request)]
        given |= {f"d{name}": f"d{name}" for name in leaves}
    else:
        lines.append(made)
    lines.append(dictionary(request.looked_at(given), start="outputs = "))
    read = f".detach(){'.float()' if 'bfloat16' in request.spec.formats else ''}.numpy()"
    lines.append(f"observed = {{name: value{read} for name, value in outputs.items()}}")
    return Parts(
        imports=("import torch", *imports),
        body="\n".join(lines),
        half=lambda name: f"({name}.view(np.uint32) >> 16).astype(np.uint16).view(np.int16)",
        held={name: f"{name}{read}" for name in names},
    )


def _tensor(request: Request, name: str) -> str:
    """A copy, save where the arrangement in memory is to stay."""
    layout = {"x": request.spec.layout_x, "cotangent": request.spec.layout_cotangent}.get(name, "contiguous")
    keeps = layout not in ("contiguous", *COPIED)
    brain = expected_arrays(request.spec)[name][1] == "bfloat16"
    given = f"{name}.copy()" if layout in COPIED else name
    made = f"torch.from_numpy({name})" if keeps else f"torch.tensor({given})"
    return made + (".view(torch.bfloat16)" if brain else "")


def _gradients(request: Request) -> str:
    found = "".join(f"d{name}, " for name in request.leaves)
    leaves = ", ".join(request.leaves)
    left = found.removesuffix(" ") if len(request.leaves) == 1 else found.removesuffix(", ")
    if request.spec.cotangent == "explicit":
        return f"{left} = torch.autograd.grad(y, [{leaves}], cotangent)"
    value = loss(request, mean_square="(y * y).mean()", total="y.sum()")
    return f"{left} = torch.autograd.grad({value}, [{leaves}])"
