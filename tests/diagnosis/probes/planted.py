"""Implementations of known conventions, in process in the place of a pool: kernels of the catalogue, functions."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from bnfuzz import formats
from bnfuzz.backends.execution import Programs, run_trials
from bnfuzz.backends.function_backend import FunctionBackend
from bnfuzz.backends.pool import Reply
from bnfuzz.case import Array, Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.card import Card, conventions_card
from bnfuzz.diagnosis.probes import PROBES
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.kernel import Kernel

Compute = Callable[[Spec, Inputs], Outputs]
Stages = Callable[[Spec, Inputs], Mapping[str, Array]]


@dataclass
class Planted:
    """A pool of one implementation: `compute` is what it does, `stated` what it documents."""

    compute: Compute
    stated: Conventions
    stages: Stages = field(default=lambda spec, inputs: {})

    def conventions(self, name: str) -> Conventions:
        return self.stated

    def version(self, name: str) -> str:
        return "1"

    def probe(self, name: str, spec: Spec, inputs: Inputs) -> Reply:
        given = Inputs(**{key: array.copy() for key, array in inputs.items()})
        try:
            with np.errstate(all="ignore"):
                outputs = self.compute(spec, given)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            return Reply(backend=name, status="error", message=message, details=traceback.format_exc())
        changed = [key for key, array in given.items() if array.tobytes() != getattr(inputs, key).tobytes()]
        return Reply(backend=name, status="ok", outputs=outputs, mutated=tuple(changed))

    def observe(self, name: str, spec: Spec, inputs: Inputs) -> Mapping[str, Array]:
        return self.stages(spec, inputs)


def of_kernel(kernel: Kernel, stated: Conventions = CONVENTIONS, **actual: Any) -> Planted:
    """A kernel of the catalogue that follows `stated` but for `actual`.

    The argument is handed over as documented; what it weighs is the kernel's own.
    """
    followed = replace(stated, **actual)

    def compute(spec: Spec, inputs: Inputs) -> Outputs:
        argument = stated.momentum_argument(spec)
        weight = argument if followed.momentum_weighs == "new" else 1.0 - argument
        eps = followed.default_eps if spec.eps is None else spec.eps
        if spec.momentum is None and followed.default_momentum != stated.default_momentum:
            return run(kernel, replace(spec, eps=eps), inputs, followed)
        return run(kernel, replace(spec, eps=eps, momentum=weight), inputs, followed)

    return Planted(compute, stated)


def of_function(function: Callable[..., Any], backward: Any = None, **stated: Any) -> Planted:
    """A user's function with state, in NumPy; `stated` are what its record says beside its signature."""
    backend = FunctionBackend(function, name="planted", framework="numpy", backward=backward)
    programs = Programs()

    def compute(spec: Spec, inputs: Inputs) -> Outputs:
        execution = run_trials(backend, programs, spec, dict(inputs.items()))
        if execution.mutated:
            for name in execution.mutated:
                getattr(inputs, name)[...] += 1
        return Outputs(**execution.outputs)

    return Planted(compute, replace(backend.conventions, **stated))


def card(pool: Planted, *names: str) -> Card:
    """The lines of these names, or all."""
    chosen = [probe for probe in PROBES if not names or probe.name in names]
    assert not names or len(chosen) == len(names), names
    return conventions_card(pool, "planted", probes=chosen)  # type: ignore[arg-type]  # as much of a pool as is used


def batch_norm(
    *,
    root: Callable[[Array, Any], Array] | None = None,
    stores: str = "",
    refuses: Callable[[SimpleNamespace], str] = lambda call: "",
    learn: Callable[[Array, Array, Any], Array] | None = None,
    default_eps: float = 1e-5,
) -> Callable[..., Any]:
    """A batch norm in NumPy with the given choices.

    root      (variance, eps) -> what the deviation is divided by
    stores    format that eps and momentum are kept in
    refuses   call -> message of the ValueError that it ends in, "" where it goes on
    learn     (old, new, momentum) -> the new running statistic
    """

    def kept(value: float) -> float:
        return formats.round_to(value, stores) if stores else value

    def f(x, gamma, beta, running_mean, running_var, *, eps=default_eps, momentum=0.1, axis, training):
        message = refuses(
            SimpleNamespace(x=x, eps=eps, axis=axis, training=training, n=x.size // max(x.shape[axis], 1))
        )
        if message:
            raise ValueError(message)
        others = tuple(a for a in range(x.ndim) if a != axis)
        shape = [-1 if a == axis else 1 for a in range(x.ndim)]
        if training:
            mean = x.mean(others)
            var = ((x - mean.reshape(shape)) ** 2).mean(others)
        else:
            mean, var = running_mean, running_var
        number = x.dtype.type(kept(eps))
        divisor = np.sqrt(var + number) if root is None else root(var, number)
        y = (x - mean.reshape(shape)) / divisor.reshape(shape) * gamma.reshape(shape) + beta.reshape(shape)
        if not training:
            return y, running_mean, running_var
        m = x.dtype.type(kept(momentum))
        if learn is not None:
            return y, learn(running_mean, mean, m), learn(running_var, var, m)
        return y, (1 - m) * running_mean + m * mean, (1 - m) * running_var + m * var

    return f
