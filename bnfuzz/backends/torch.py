"""Backend `torch`: torch.nn.functional.batch_norm, running buffers updated in place.

float16 and bfloat16 data with float32 parameters are computed in float32. (With parameters of the data's format torch
keeps the batch mean and the inverse deviation in that format; that use is left out here.) Training on one value per
channel, eps of 0 and any channel axis but 1 are refused, as documented.
"""

from __future__ import annotations

from typing import Any

from bnfuzz.backends.base import Arrays, Backend, Program
from bnfuzz.backends.torch_arrays import Call, program_of, stages_of, start_torch
from bnfuzz.case import Spec
from bnfuzz.conventions import MIXED_FORMATS, Conventions, FormatTriple

FULL: tuple[FormatTriple, ...] = (("float32", "float32", "float32"), ("float64", "float64", "float64"))


class Torch(Backend):
    label = "torch"
    framework = "torch"
    packages: tuple[str, ...] = ("torch",)
    isolated = "torch"
    keeps_state = True
    conventions = Conventions(
        source="PyTorch 2.13 documentation, torch.nn.functional.batch_norm and torch.nn.BatchNorm2d",
        eps_minimum_excluded=True,
        running_ddof=1,
        formats=FULL + MIXED_FORMATS,
        compute=(("float16", "float32"), ("bfloat16", "float32")),
        channel_axes=1,
        ranks=(2, 5),
        single_value="refused",
        empty="value",
        empty_statistics="keep",
        statistics_written="forward",
    )

    def start(self) -> None:
        start_torch()

    def compile(self, spec: Spec) -> Program:
        return program_of(spec, self._call(spec))

    def observe(self, spec: Spec, arrays: Arrays) -> Arrays:
        return stages_of(spec, self._call(spec), arrays)

    def _call(self, spec: Spec) -> Call:
        from torch.nn import functional

        given: dict[str, float] = {}
        if spec.eps is not None:
            given["eps"] = spec.eps
        if spec.momentum is not None:
            given["momentum"] = self.conventions.momentum_argument(spec)

        def call(handed: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            statistics = {name: handed[name] for name in ("running_mean", "running_var") if name in handed}
            y = functional.batch_norm(
                handed["x"],
                statistics.get("running_mean"),
                statistics.get("running_var"),
                handed.get("gamma"),
                handed.get("beta"),
                training=spec.mode == "training",
                **given,
            )
            return y, {f"new_{name}": buffer for name, buffer in statistics.items()}

        return call
