"""This project's own NumPy kernel, inlined: two passes and the closed-form gradient."""

from __future__ import annotations

from bnfuzz.case import expected_outputs
from bnfuzz.report.scripts.parts import Parts, Request, dictionary

ROUND_TO_BRAIN = """\
def bfloat16(values):
    # Round to nearest, ties to even, in the bits of float32.
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.where(np.isnan(values), np.float32(np.nan), rounded.astype(np.uint32).view(np.float32))


"""


def parts(request: Request) -> Parts:
    """Everything in the compute format, each output rounded to its own format at the end."""
    spec, conventions = request.spec, request.conventions
    compute = f"np.{conventions.compute_format(spec.data_format).name}"
    along = request.along_channels
    lines = [f"{name} = {name}.astype({compute})" for name in request.names()]
    lines += [f"eps = {compute}({conventions.eps_given(spec)!r})", _mean_of(request, compute)]
    if request.training:
        lines += ["mean = mean_of(x)", "deviation = x - mean", "var = mean_of(deviation * deviation)"]
        new = f"{compute}({conventions.momentum_given(spec)!r})"
        lines += [f"new, old = {new}, {compute}(1) - {new}"] if request.state else []
    else:
        lines += [f"{name} = running_{name}{along}" for name in ("mean", "var")]
        lines.append("deviation = x - mean")
    lines += [f"r = {compute}(1) / np.sqrt(var + eps)", "xhat = deviation * r"]
    product = f"xhat * gamma{along}" if spec.has_gamma else "xhat"
    outputs = {"y": f"{product} + beta{along}" if spec.has_beta else product}
    lines.append(f"y = {_stored(request, 'y', outputs['y'])}")
    outputs["y"] = "y"
    if request.backward:
        lines.append(f"g = {_cotangent(request, compute)}")
        outputs |= _gradients(request)
    outputs |= _statistics(request)
    stored = {name: text if name == "y" else _stored(request, name, text) for name, text in outputs.items()}
    lines.append(dictionary(request.looked_at(stored), start="observed = "))
    brain = ROUND_TO_BRAIN if "bfloat16" in spec.formats else ""
    return Parts(imports=('np.seterr(all="ignore")',), body=brain + "\n".join(lines))


def _mean_of(request: Request, compute: str) -> str:
    spec = request.spec
    total = f"values.sum(axis={spec.reduced_axes}, keepdims=True)"
    return f"\n\ndef mean_of(values):\n    return {total} / {compute}({spec.n})\n\n"


def _stored(request: Request, output: str, expression: str) -> str:
    kind = expected_outputs(request.spec)[output][1]
    return f"bfloat16({expression})" if kind == "bfloat16" else f"({expression}).astype(np.{kind})"


def _cotangent(request: Request, compute: str) -> str:
    """dL/dy in y's own format, for the loss sum(y), mean(y*y) or as given."""
    spec = request.spec
    if spec.cotangent == "explicit":
        return "cotangent"
    if spec.cotangent == "sum":
        return "np.ones_like(x)"
    factor = repr(2.0 / max(spec.size, 1))
    if spec.data_format == "bfloat16":
        return f"bfloat16(y * bfloat16(np.float32({factor})))"
    return f"(y * y.dtype.type({factor})).astype({compute})"


def _gradients(request: Request) -> dict[str, str]:
    spec = request.spec
    scale = f"(gamma{request.along_channels} * r)" if spec.has_gamma else "r"
    centred = "g"
    if request.training:
        centred = "(g - mean_of(g) - xhat * mean_of(g * xhat))"
    found = {"dx": f"{scale} * {centred}"}
    others = tuple(axis for axis in range(spec.rank) if axis not in spec.affine_axes)
    if spec.has_gamma:
        found["dgamma"] = f"(g * xhat).sum(axis={others})"
    if spec.has_beta:
        found["dbeta"] = f"g.sum(axis={others})"
    return found


def _statistics(request: Request) -> dict[str, str]:
    spec = request.spec
    if not request.training:
        return request.kept_state
    found = {f"batch_{name}": f"{name}.reshape({spec.statistics_shape})" for name in ("mean", "var")}
    for name in ("mean", "var") if request.state else ():
        found[f"new_running_{name}"] = f"old * running_{name} + new * {found[f'batch_{name}']}"
    return found
