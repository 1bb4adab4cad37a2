"""Backend `mxnet-scratch`: batch norm from NDArray operations, differentiated by autograd.

Mean and variance over the reduced axes with keepdims, (x - mean)/sqrt(var + eps), times gamma, plus beta; all in
the data's format.
"""

from __future__ import annotations

from typing import Any

from bnfuzz.backends.base import Backend, Program
from bnfuzz.backends.mxnet_arrays import program_of, start_mxnet
from bnfuzz.case import Spec
from bnfuzz.conventions import Conventions


class MXNetScratch(Backend):
    label = "mxnet-scratch"
    framework = "mxnet"
    packages: tuple[str, ...] = ("mxnet",)
    isolated = "mxnet"
    conventions = Conventions(
        source="bnfuzz/backends/mxnet_scratch.py",
        formats=(
            ("float16", "float16", "float16"),
            ("float32", "float32", "float32"),
            ("float64", "float64", "float64"),
        ),
        ranks=(2, 8),
        variance_formula="two-pass",
        outputs=("batch_mean", "batch_var", "y", "dgamma", "dbeta", "dx", "new_running_mean", "new_running_var"),
    )

    def start(self) -> None:
        start_mxnet()

    def compile(self, spec: Spec) -> Program:
        from mxnet import autograd, nd

        eps, new = self.conventions.eps_given(spec), self.conventions.momentum_given(spec)
        along = [size if axis in spec.affine_axes else 1 for axis, size in enumerate(spec.shape)]

        def mean_of(values: Any) -> Any:
            return nd.mean(values, axis=spec.reduced_axes, keepdims=True)

        def learned(handed: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
            if not spec.has_running:
                return batch
            pairs = (("running_mean", "batch_mean"), ("running_var", "batch_var"))
            return batch | {f"new_{old}": (1 - new) * handed[old] + new * batch[name] for old, name in pairs}

        def call(handed: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            x = handed["x"]
            if spec.mode == "training":
                mean = mean_of(x)
                deviation = x - mean
                var = mean_of(deviation * deviation)
                with autograd.pause():
                    batch = {"batch_mean": mean.reshape((-1,)), "batch_var": var.reshape((-1,))}
                    statistics = learned(handed, batch)
            else:
                mean, var = (handed[name].reshape(along) for name in ("running_mean", "running_var"))
                statistics = {f"new_{name}": handed[name] for name in ("running_mean", "running_var")}
            y = (x - mean) / nd.sqrt(var + eps)
            if spec.has_gamma:
                y = y * handed["gamma"].reshape(along)
            if spec.has_beta:
                y = y + handed["beta"].reshape(along)
            return y, statistics

        return program_of(spec, call, state_after_backward=False)
