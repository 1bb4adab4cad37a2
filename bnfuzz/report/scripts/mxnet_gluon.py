"""mxnet.gluon.nn.BatchNorm."""

from __future__ import annotations

from bnfuzz.report.scripts.mxnet import imports, observed, recorded
from bnfuzz.report.scripts.parts import Parts, Request, call, keywords, scalars

OWN = ("gamma", "beta", "running_mean", "running_var")


def parts(request: Request) -> Parts:
    """The layer with the given parameters; its running statistics are updated in backward."""
    spec = request.spec
    given: dict[str, object] = {
        "axis": spec.parameter_axes[0],
        "center": spec.has_beta,
        "scale": spec.has_gamma,
        "use_global_stats": False,
        "in_channels": spec.parameter_shape[0],
        **scalars(request, eps="epsilon"),
    }
    own, handed = request.names(*OWN), request.names("x", "cotangent")
    outputs = {"y": "y", "dx": "x.grad"}
    outputs |= {f"d{name}": f"layer.{name}.grad()" for name in request.names("gamma", "beta")}
    outputs |= {f"new_{name}": f"layer.{name}.data()" for name in request.state}
    lines = [
        call("layer = gluon.nn.BatchNorm", keywords(given)),
        "layer.initialize()",
        f'layer.cast("{spec.data_format}")',
        *(f"layer.{name}.set_data(mx.nd.array({name}, dtype={name}.dtype))" for name in own),
        *(f"{name} = mx.nd.array({name}, dtype={name}.dtype)" for name in handed),
        *(["x.attach_grad()"] if request.backward else []),
        *recorded(request, "y = layer(x)"),
        *observed(request, outputs),
    ]
    held = {name: f"layer.{name}.data().asnumpy()" for name in own}
    held |= {name: f"{name}.asnumpy()" for name in handed}
    return Parts(imports=(*imports(request), "from mxnet import gluon"), body="\n".join(lines), held=held)
