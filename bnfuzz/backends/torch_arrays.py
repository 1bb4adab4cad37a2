"""torch tensors and autograd around a call: shared by the `torch` backend and users' torch functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bnfuzz.backends.base import Arrays, Computed, Program
from bnfuzz.backends.wire import bfloat16_dtype
from bnfuzz.case import Array, Spec

Call = Callable[[dict[str, Any]], tuple[Any, dict[str, Any]]]
"""Tensors of the inputs by name -> (y, the statistics outputs by name)."""


def start_torch() -> None:
    import torch

    torch.set_num_threads(1)


def program_of(spec: Spec, call: Call) -> Program:
    """Calls, lets torch differentiate y with the given cotangent or the Spec's loss of it, and reads the outputs."""

    def program(arrays: Arrays) -> Computed:
        handed = {name: to_torch(array) for name, array in arrays.items()}
        leaves: dict[str, Any] = {
            name: tensor.requires_grad_() for name, tensor in handed.items() if name in ("x", "gamma", "beta")
        }
        y, statistics = call(handed)
        outputs = {"y": to_numpy(y), **_gradients(spec, y, leaves, handed.get("cotangent"))}
        outputs |= {name: to_numpy(value) for name, value in statistics.items()}
        return Computed(outputs=outputs, held={name: to_numpy(tensor) for name, tensor in handed.items()})

    return program


def stages_of(spec: Spec, call: Call, arrays: Arrays) -> Arrays:
    """`NAME@forward`, `NAME@backward`: every tensor handed over as it is after the forward call, and after backward."""
    handed = {name: to_torch(array) for name, array in arrays.items()}
    leaves: dict[str, Any] = {
        name: tensor.requires_grad_() for name, tensor in handed.items() if name in ("x", "gamma", "beta")
    }
    y, _ = call(handed)
    stages = {f"{name}@forward": to_numpy(tensor).copy() for name, tensor in handed.items()}
    _gradients(spec, y, leaves, handed.get("cotangent"))
    return stages | {f"{name}@backward": to_numpy(tensor).copy() for name, tensor in handed.items()}


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


def _gradients(spec: Spec, y: Any, leaves: dict[str, Any], cotangent: Any) -> dict[str, Array]:
    import torch

    if spec.cotangent == "sum":
        y, cotangent = y.sum(), None
    elif spec.cotangent == "mean_square":
        y, cotangent = (y * y).mean(), None
    found = torch.autograd.grad(y, list(leaves.values()), cotangent)
    return {f"d{name}": to_numpy(gradient) for name, gradient in zip(leaves, found, strict=True)}
