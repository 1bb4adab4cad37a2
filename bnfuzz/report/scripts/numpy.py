"""This project's own NumPy kernel, inlined: two passes and the closed-form gradient."""

from __future__ import annotations

from bnfuzz.case import expected_outputs
from bnfuzz.report.scripts.parts import Parts, Request

ROUND_TO_BRAIN = """\
def bfloat16(values):
    # Round to nearest, ties to even, in the bits of float32.
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.where(np.isnan(values), np.float32(np.nan), rounded.astype(np.uint32).view(np.float32))


"""


def parts(request: Request) -> Parts:
    """y, the gradients and the running statistics in the compute format, each rounded to its own at the end."""
    spec, conventions = request.spec, request.conventions
    compute = conventions.compute_format(spec.data_format).name
    along = f".reshape({request.channel_shape})"
    lines = [f"{name} = {name}.astype(np.{compute})" for name in request.names()]
    lines += [f"eps, n = np.{compute}({conventions.eps_given(spec)!r}), np.{compute}({spec.n})"]
    mean_of = f".sum(axis={spec.reduced_axes}, keepdims=True) / n"
    if request.training:
        lines += [f"mean = x{mean_of}", "deviation = x - mean", f"var = (deviation * deviation){mean_of}"]
    else:
        lines += [f"mean, var = running_mean{along}, running_var{along}", "deviation = x - mean"]
    lines += [f"r = np.{compute}(1) / np.sqrt(var + eps)", "xhat = deviation * r"]
    gamma, beta = (along if has else "" for has in (spec.has_gamma, spec.has_beta))
    shifted = f" + beta{beta}" if beta else ""
    lines.append(
        f"observed = {{'y': {_stored(request, 'y', f'xhat * gamma{gamma}{shifted}' if gamma else f'xhat{shifted}')}}}"
    )
    lines += _gradients(request, mean_of, f"gamma{gamma} * r" if gamma else "r", compute)
    lines += _statistics(request, compute)
    brain = ROUND_TO_BRAIN if "bfloat16" in spec.formats else ""
    return Parts(imports=(), body=brain + 'np.seterr(all="ignore")\n' + "\n".join(lines))


def _stored(request: Request, output: str, expression: str) -> str:
    kind = expected_outputs(request.spec)[output][1]
    return f"bfloat16({expression})" if kind == "bfloat16" else f"({expression}).astype(np.{kind})"


def _gradients(request: Request, mean_of: str, scale: str, compute: str) -> list[str]:
    spec = request.spec
    if not request.gradients:
        return []
    if spec.cotangent == "explicit":
        g = "cotangent"
    elif spec.cotangent == "sum":
        g = "np.ones_like(x)"
    else:
        g = f"(observed['y'] * observed['y'].dtype.type({2.0 / max(spec.size, 1)!r})).astype(np.{compute})"
    lines = [f"g = {g}"]
    centred = f"g - g{mean_of} - xhat * ((g * xhat){mean_of})" if request.training else "g"
    lines.append(f"observed['dx'] = {_stored(request, 'dx', f'{scale} * ({centred})')}")
    others = tuple(axis for axis in range(spec.rank) if axis not in spec.affine_axes)
    if spec.has_gamma:
        lines.append(f"observed['dgamma'] = {_stored(request, 'dgamma', f'(g * xhat).sum(axis={others})')}")
    if spec.has_beta:
        lines.append(f"observed['dbeta'] = {_stored(request, 'dbeta', f'g.sum(axis={others})')}")
    return lines


def _statistics(request: Request, compute: str) -> list[str]:
    spec = request.spec
    if not request.training:
        return [f"observed['new_{name}'] = {_stored(request, f'new_{name}', name)}" for name in request.state]
    lines = []
    for name in ("mean", "var"):
        batch = f"{name}.reshape({spec.statistics_shape})"
        lines.append(f"observed['batch_{name}'] = {_stored(request, f'batch_{name}', batch)}")
        if spec.has_running:
            new = f"np.{compute}({request.conventions.momentum_given(spec)!r})"
            learned = f"(np.{compute}(1) - {new}) * running_{name} + {new} * {batch}"
            lines.append(f"observed['new_running_{name}'] = {_stored(request, f'new_running_{name}', learned)}")
    return lines
