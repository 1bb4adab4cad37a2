"""MXNet's NDArrays and autograd around a call: what the MXNet backends share.

MXNet is imported in its own environment only (retired: it needs an old NumPy).
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bnfuzz.backends.base import Arrays, Computed, Program
from bnfuzz.case import Array, Spec
from bnfuzz.conventions import Conventions

STATISTICS = ("running_mean", "running_var")
DIFFERENTIATED = ("x", "gamma", "beta")

HELD_EVERY = 16
"""Every so many calls the inputs are read back, to see whether one was written into; that costs as much as a call."""

Call = Callable[[dict[str, Any]], tuple[Any, dict[str, Any]]]
"""NDArrays of the inputs by name -> (y, the statistics outputs that exist after the forward call)."""


def start_mxnet() -> None:
    """Imports MXNet, first giving NumPy 1.24 and later the names back that MXNet 1.9 still uses."""
    for name, value in (("bool", bool), ("int", int), ("float", float), ("complex", complex), ("object", object)):
        if name not in vars(np):
            setattr(np, name, value)
    importlib.import_module("mxnet")


def scalars(spec: Spec, conventions: Conventions, *, eps: str = "eps") -> dict[str, float]:
    """eps (under the name that the call gives it) and momentum as keyword arguments; nothing where the default acts."""
    given: dict[str, float] = {}
    if spec.eps is not None:
        given[eps] = spec.eps
    if spec.momentum is not None:
        given["momentum"] = conventions.momentum_argument(spec)
    return given


def to_mxnet(array: Array) -> Any:
    """A new NDArray of the same values.

    What nd.array does, without its detour over an indexed assignment, which takes longer than a small batch norm.
    """
    import mxnet

    made = mxnet.nd.empty(array.shape, dtype=array.dtype)
    fill(made, array)
    return made


def fill(held: Any, array: Array) -> None:
    """Copies the values into an NDArray of that shape and format."""
    held._sync_copyfrom(np.ascontiguousarray(array))


def program_of(spec: Spec, call: Call, *, state_after_backward: bool) -> Program:
    """Records `call`, lets MXNet differentiate, and reads the outputs afterwards.

    With `state_after_backward` the running statistics are read from the arrays handed in, after backward:
    that is when MXNet's own operator writes them.
    """

    calls = itertools.count()

    def program(arrays: Arrays) -> Computed:
        handed = {name: to_mxnet(array) for name, array in arrays.items()}
        leaves = {name: handed[name] for name in DIFFERENTIATED if name in handed}
        for leaf in leaves.values():
            leaf.attach_grad()
        y, statistics = recorded(spec, lambda: call(handed), handed.get("cotangent"))
        outputs = {"y": y.asnumpy(), **{f"d{name}": leaf.grad.asnumpy() for name, leaf in leaves.items()}}
        outputs |= {name: value.asnumpy() for name, value in statistics.items()}
        everything = next(calls) % HELD_EVERY == 0
        held = {name: value.asnumpy() for name, value in handed.items() if everything or name in STATISTICS}
        if state_after_backward:
            outputs |= {f"new_{name}": held[name] for name in STATISTICS if name in held}
        return Computed(outputs=outputs, held=held)

    return program


def stages_of(spec: Spec, call: Call, arrays: Arrays) -> Arrays:
    """`NAME@forward`, `NAME@backward`: every array handed over as it is after the forward call, and after backward."""
    handed = {name: to_mxnet(array) for name, array in arrays.items()}
    for name in DIFFERENTIATED:
        if name in handed:
            handed[name].attach_grad()
    return observed(spec, lambda: call(handed), handed.get("cotangent"), lambda: handed)


def observed(
    spec: Spec, call: Callable[[], tuple[Any, dict[str, Any]]], cotangent: Any, held: Callable[[], Mapping[str, Any]]
) -> Arrays:
    """`recorded` in two stages, with what `held` gives after each of them."""
    from mxnet import autograd, nd

    training = spec.mode == "training"
    with autograd.record(train_mode=training):
        y, _ = call()
        head = loss_of(spec, y)
    nd.waitall()
    stages = {f"{name}@forward": value.asnumpy() for name, value in held().items()}
    head.backward(cotangent, train_mode=training)
    nd.waitall()
    return stages | {f"{name}@backward": value.asnumpy() for name, value in held().items()}


def loss_of(spec: Spec, y: Any) -> Any:
    """What is differentiated: the Spec's loss, or y itself, which takes an explicit cotangent."""
    if spec.cotangent == "sum":
        return y.sum()
    return (y * y).mean() if spec.cotangent == "mean_square" else y


def recorded(spec: Spec, call: Callable[[], tuple[Any, dict[str, Any]]], cotangent: Any) -> tuple[Any, dict[str, Any]]:
    """Runs `call` under autograd and differentiates y with the given cotangent, or the Spec's loss of it."""
    from mxnet import autograd

    training = spec.mode == "training"
    with autograd.record(train_mode=training):
        y, statistics = call()
        head = loss_of(spec, y)
    # backward has a train_mode of its own; left True it would differentiate batch statistics in inference.
    head.backward(cotangent, train_mode=training)
    return y, statistics
