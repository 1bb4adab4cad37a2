"""Backend `torch`: torch.nn.functional.batch_norm, running buffers updated in place.

float16 and bfloat16 data are computed in float32, with parameters of float32 or of the data's format. Training on
one value per channel, eps of 0 and any channel axis but 1 are refused, as documented.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bnfuzz.backends.base import Arrays, Backend, Computed, Program
from bnfuzz.backends.wire import bfloat16_dtype
from bnfuzz.case import Array, Spec
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS, Conventions


class Torch(Backend):
    label = "torch"
    framework = "torch"
    packages: ClassVar[tuple[str, ...]] = ("torch",)
    isolated = "torch"
    keeps_state = True
    conventions = Conventions(
        source="PyTorch 2.13 documentation, torch.nn.functional.batch_norm and torch.nn.BatchNorm2d",
        eps_minimum_excluded=True,
        running_ddof=1,
        formats=ALL_FORMATS + MIXED_FORMATS,
        compute=(("float16", "float32"), ("bfloat16", "float32")),
        channel_axes=1,
        ranks=(2, 5),
        single_value="refused",
        empty="value",
        empty_statistics="keep",
    )

    def start(self) -> None:
        import torch

        torch.set_num_threads(1)

    def compile(self, spec: Spec) -> Program:
        from torch.nn import functional

        given: dict[str, float] = {}
        if spec.eps is not None:
            given["eps"] = spec.eps
        if spec.momentum is not None:
            given["momentum"] = self.conventions.momentum_argument(spec)

        def program(arrays: Arrays) -> Computed:
            handed = {name: to_torch(array) for name, array in arrays.items()}
            leaves: dict[str, Any] = {
                name: handed[name].requires_grad_() for name in ("x", "gamma", "beta") if name in handed
            }
            y = functional.batch_norm(
                handed["x"],
                handed.get("running_mean"),
                handed.get("running_var"),
                handed.get("gamma"),
                handed.get("beta"),
                training=spec.mode == "training",
                **given,
            )
            outputs = {"y": to_numpy(y), **gradients(spec, y, leaves, handed.get("cotangent"))}
            for name in ("running_mean", "running_var"):
                if name in handed:
                    outputs[f"new_{name}"] = to_numpy(handed[name])
            return Computed(outputs=outputs, held={name: to_numpy(tensor) for name, tensor in handed.items()})

        return program


def gradients(spec: Spec, y: Any, leaves: dict[str, Any], cotangent: Any) -> dict[str, Array]:
    """torch's own gradients of y with the given cotangent, or of the Spec's loss."""
    import torch

    if spec.cotangent == "sum":
        y, cotangent = y.sum(), None
    elif spec.cotangent == "mean_square":
        y, cotangent = (y * y).mean(), None
    found = torch.autograd.grad(y, list(leaves.values()), cotangent)
    return {f"d{name}": to_numpy(gradient) for name, gradient in zip(leaves, found, strict=True)}


def to_torch(array: Array) -> Any:
    """A tensor of the same memory and strides, copied only where torch has no such layout (negative strides)."""
    import torch

    if any(stride < 0 for stride in array.strides) or not array.flags.writeable:
        array = array.copy()
    if array.dtype == bfloat16_dtype():
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_numpy(tensor: Any) -> Array:
    import torch

    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        bits: Array = tensor.view(torch.int16).numpy()
        return bits.view(bfloat16_dtype())
    array: Array = tensor.numpy()
    return array
