"""Batch norm from NDArray operations, differentiated by MXNet's autograd."""

from __future__ import annotations

from bnfuzz.report.scripts.mxnet import mxnet_parts
from bnfuzz.report.scripts.parts import Parts, Request


def parts(request: Request) -> Parts:
    """Mean, variance of the deviations, division by the root; everything in the data's format."""
    spec, conventions = request.spec, request.conventions
    lines = []
    if request.training:
        lines += [
            f"mean = mx.nd.mean(x, axis={spec.reduced_axes}, keepdims=True)",
            "deviation = x - mean",
            f"var = mx.nd.mean(deviation * deviation, axis={spec.reduced_axes}, keepdims=True)",
        ]
        statistics = {"batch_mean": "mean.reshape((-1,))", "batch_var": "var.reshape((-1,))"}
        new = conventions.momentum_given(spec)
        statistics |= {
            f"new_{name}": f"{1 - new!r} * {name} + {new!r} * {batch}"
            for name, batch in zip(request.state, list(statistics.values()), strict=bool(request.state))
        }
    else:
        lines += [
            f"mean = running_mean.reshape({request.channel_shape})",
            f"var = running_var.reshape({request.channel_shape})",
        ]
        statistics = {f"new_{name}": name for name in request.state}
    lines.append(f"y = (x - mean) / mx.nd.sqrt(var + {conventions.eps_given(spec)!r})")
    if spec.has_gamma:
        lines.append(f"y = y * gamma.reshape({request.channel_shape})")
    if spec.has_beta:
        lines.append(f"y = y + beta.reshape({request.channel_shape})")
    return mxnet_parts(request, "\n".join(lines), statistics)
