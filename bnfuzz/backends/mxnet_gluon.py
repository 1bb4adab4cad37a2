"""Backend `mxnet-gluon`: gluon.nn.BatchNorm, whose defaults differ from the operator's (eps 1e-5, gamma learned)."""

from __future__ import annotations

from typing import Any

from bnfuzz.backends.base import Arrays, Backend, Computed, Program
from bnfuzz.backends.mxnet_arrays import fill, observed, recorded, scalars, start_mxnet, to_mxnet
from bnfuzz.backends.mxnet_operator import operator_conventions
from bnfuzz.case import Spec


class MXNetGluon(Backend):
    label = "mxnet-gluon"
    framework = "mxnet"
    packages: tuple[str, ...] = ("mxnet",)
    isolated = "mxnet"
    keeps_state = True
    conventions = operator_conventions(
        "MXNet 1.9.1 API reference, mxnet.gluon.nn.BatchNorm", default_eps=1e-5, affine="free", running="free"
    )

    def start(self) -> None:
        start_mxnet()

    def compile(self, spec: Spec) -> Program:
        layer, held_in = self._layer(spec)

        def program(arrays: Arrays) -> Computed:
            handed = _handed(arrays)
            parameters = {name: parameter for name, parameter in held_in.items() if name in arrays}
            for name, parameter in parameters.items():
                fill(parameter.data(), arrays[name])
            y, _ = recorded(spec, lambda: (layer(handed["x"]), {}), handed.get("cotangent"))
            outputs = {"y": y.asnumpy(), "dx": handed["x"].grad.asnumpy()}
            held = {name: value.asnumpy() for name, value in handed.items()}
            for name, parameter in parameters.items():
                held[name] = parameter.data().asnumpy()
                if name.startswith("running"):
                    outputs[f"new_{name}"] = held[name]
                else:
                    outputs[f"d{name}"] = parameter.grad().asnumpy()
            return Computed(outputs=outputs, held=held)

        return program

    def observe(self, spec: Spec, arrays: Arrays) -> Arrays:
        layer, held_in = self._layer(spec)
        handed = _handed(arrays)
        for name in held_in.keys() & arrays.keys():
            fill(held_in[name].data(), arrays[name])

        def held() -> dict[str, Any]:
            return handed | {name: held_in[name].data() for name in held_in if name in arrays}

        return observed(spec, lambda: (layer(handed["x"]), {}), handed.get("cotangent"), held)

    def _layer(self, spec: Spec) -> tuple[Any, dict[str, Any]]:
        """The layer, and the parameters that our inputs are held in."""
        from mxnet import gluon

        layer = gluon.nn.BatchNorm(
            axis=spec.parameter_axes[0],
            center=spec.has_beta,
            scale=spec.has_gamma,
            use_global_stats=False,
            in_channels=spec.parameter_shape[0],
            **scalars(spec, self.conventions, eps="epsilon"),
        )
        layer.initialize()
        layer.cast(spec.data_format)
        held_in = {
            "gamma": layer.gamma,
            "beta": layer.beta,
            "running_mean": layer.running_mean,
            "running_var": layer.running_var,
        }
        return layer, held_in


def _handed(arrays: Arrays) -> dict[str, Any]:
    """x, ready to be differentiated, and the cotangent: what a call of the layer is given."""
    handed: dict[str, Any] = {name: to_mxnet(arrays[name]) for name in ("x", "cotangent") if name in arrays}
    handed["x"].attach_grad()
    return handed
