"""mxnet.gluon.nn.BatchNorm."""

from __future__ import annotations

from bnfuzz.report.scripts.mxnet import imports, observed, recorded
from bnfuzz.report.scripts.parts import Parts, Request, keywords, scalars


def parts(request: Request) -> Parts:
    """The layer with the given parameters; its running statistics are updated in backward."""
    spec = request.spec
    arguments = {
        "center": spec.has_beta,
        "scale": spec.has_gamma,
        "use_global_stats": False,
        "in_channels": spec.parameter_shape[0],
        **scalars(request, eps="epsilon"),
    }
    own = request.names("gamma", "beta", "running_mean", "running_var")
    lines = [
        f"layer = gluon.nn.BatchNorm(axis={spec.parameter_axes[0]}{keywords(arguments)})",
        "layer.initialize()",
        f'layer.cast("{spec.data_format}")',
        *(f"layer.{name}.set_data(mx.nd.array({name}, dtype={name}.dtype))" for name in own),
        *(f"{name} = mx.nd.array({name}, dtype={name}.dtype)" for name in request.names("x", "cotangent")),
        "x.attach_grad()",
        *recorded(request, "y = layer(x)"),
    ]
    given = {"y": "y", "dx": "x.grad"}
    given |= {f"d{name}": f"layer.{name}.grad()" for name in request.names("gamma", "beta")}
    given |= {f"new_{name}": f"layer.{name}.data()" for name in request.state}
    held = {name: f"layer.{name}.data().asnumpy()" for name in own}
    held |= {name: f"{name}.asnumpy()" for name in request.names("x", "cotangent")}
    return Parts(
        imports=(*imports(request), "from mxnet import gluon"),
        body="\n".join([*lines, observed(given)]),
        held=held,
    )
