"""Backend `mxnet`: mx.nd.BatchNorm with every flag given."""

from __future__ import annotations

from bnfuzz.backends.base import Arrays, Backend, Program
from bnfuzz.backends.mxnet_arrays import start_mxnet
from bnfuzz.backends.mxnet_operator import operator_conventions, operator_program, operator_stages
from bnfuzz.case import Spec


class MXNet(Backend):
    label = "mxnet"
    framework = "mxnet"
    packages: tuple[str, ...] = ("mxnet",)
    isolated = "mxnet"
    keeps_state = True
    conventions = operator_conventions("MXNet 1.9.1 API reference, mxnet.ndarray.BatchNorm")

    def start(self) -> None:
        start_mxnet()

    def compile(self, spec: Spec) -> Program:
        return operator_program(spec, self.conventions, fix_gamma=False, use_global_stats=False)

    def observe(self, spec: Spec, arrays: Arrays) -> Arrays:
        return operator_stages(spec, self.conventions, arrays, fix_gamma=False, use_global_stats=False)
