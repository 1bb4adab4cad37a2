"""Batch norm from NDArray operations, differentiated by MXNet's autograd."""

from __future__ import annotations

from bnfuzz.report.scripts.mxnet import mxnet_parts
from bnfuzz.report.scripts.parts import Parts, Request


def parts(request: Request) -> Parts:
    """Mean, variance of the deviations, division by the root; everything in the data's format."""
    spec, conventions = request.spec, request.conventions
    along = request.along_channels
    if request.training:
        lines = [
            f"mean = mx.nd.mean(x, axis={spec.reduced_axes}, keepdims=True)",
            "deviation = x - mean",
            f"var = mx.nd.mean(deviation * deviation, axis={spec.reduced_axes}, keepdims=True)",
        ]
        statistics = _learned(request)
    else:
        lines = [f"{name} = running_{name}{along}" for name in ("mean", "var")]
        statistics = request.kept_state
    lines.append(f"y = (x - mean) / mx.nd.sqrt(var + {conventions.eps_given(spec)!r})")
    lines += [f"y = y * gamma{along}"] if spec.has_gamma else []
    lines += [f"y = y + beta{along}"] if spec.has_beta else []
    return mxnet_parts(request, "\n".join(lines), statistics)


def _learned(request: Request) -> dict[str, str]:
    new = request.conventions.momentum_given(request.spec)
    batch = {name: f"{name}.reshape((-1,))" for name in ("mean", "var")}
    found = {f"batch_{name}": text for name, text in batch.items()}
    if request.state:
        found |= {f"new_running_{n}": f"{1 - new!r} * running_{n} + {new!r} * {text}" for n, text in batch.items()}
    return found
