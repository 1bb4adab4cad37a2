"""Backend `mxnet-defaults`: mx.nd.BatchNorm without its flags, as a first-time user calls it.

fix_gamma is True then: gamma counts as 1, its gradient is 0, and the array of gamma is overwritten with 1.
eps and momentum are passed where the Spec has them.
"""

from __future__ import annotations

from bnfuzz.backends.base import Arrays, Backend, Program
from bnfuzz.backends.mxnet_arrays import start_mxnet
from bnfuzz.backends.mxnet_operator import operator_conventions, operator_program, operator_stages
from bnfuzz.case import Spec


class MXNetDefaults(Backend):
    label = "mxnet-defaults"
    framework = "mxnet"
    packages: tuple[str, ...] = ("mxnet",)
    isolated = "mxnet"
    keeps_state = True
    conventions = operator_conventions("MXNet 1.9.1 API reference, mxnet.ndarray.BatchNorm", fix_gamma=True)

    def start(self) -> None:
        start_mxnet()

    def compile(self, spec: Spec) -> Program:
        return operator_program(spec, self.conventions)

    def observe(self, spec: Spec, arrays: Arrays) -> Arrays:
        return operator_stages(spec, self.conventions, arrays)
