"""A kernel of the fault catalogue as a function of a user's: what the file of a planted fault defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bnfuzz import formats
from bnfuzz.case import Array, Spec, batch_norm_spec
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.kernel import Kernel
from bnfuzz.faults.run import run_trial

CONVENTIONS = Conventions(source="a function of a user's")


def planted(name: str) -> Callable[..., tuple[Array, Array, Array]]:
    """The function with the catalogue's fault `name`; its gradients are its attribute `backward`."""
    if name not in CATALOGUE:
        raise UsageError(f"fault {name!r} is not in the catalogue; use one of {', '.join(CATALOGUE)}")
    return function_of(CATALOGUE[name].kernel)


def function_of(kernel: Kernel) -> Callable[..., tuple[Array, Array, Array]]:
    """f(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training) -> (y, mean, var)."""

    def function(
        x: Array,
        gamma: Array,
        beta: Array,
        running_mean: Array,
        running_var: Array,
        *,
        eps: float,
        momentum: float,
        axis: int,
        training: bool,
    ) -> tuple[Array, Array, Array]:
        mode = "training" if training else "inference"
        spec = _spec(x, axis, eps=float(eps), momentum=float(momentum), steps=(mode,), cotangent="sum")
        given = {"x": x, "gamma": gamma, "beta": beta, "running_mean": running_mean, "running_var": running_var}
        outputs = run_trial(kernel, spec, given, CONVENTIONS)
        return outputs["y"], outputs["new_running_mean"], outputs["new_running_var"]

    def backward(
        x: Array, gamma: Array, beta: Array, cotangent: Array, *, eps: float, axis: int
    ) -> tuple[Array, Array, Array]:
        spec = _spec(x, axis, eps=float(eps), has_running=False)
        given = {"x": x, "gamma": gamma, "beta": beta, "cotangent": cotangent}
        outputs = run_trial(kernel, spec, given, CONVENTIONS)
        return outputs["dx"], outputs["dgamma"], outputs["dbeta"]

    function.backward = backward  # type: ignore[attr-defined]  # functions take attributes
    return function


def _spec(x: Array, axis: int, **others: Any) -> Spec:
    name = formats.of(x).name
    return batch_norm_spec(x.shape, axis, data_format=name, parameter_format=name, statistics_format=name, **others)
