"""A user's function as a backend, in its framework's arrays.

    f(x, gamma, beta, *, eps, axis) -> y
    f(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training) -> (y, mean, var)

momentum weighs the new statistic; mean and var are the new running statistics; gamma and beta have shape (C,), axis
is a non-negative int. Gradients are the framework's own, or those of a function

    backward(x, gamma, beta, cotangent, *, eps, axis) -> (dx, dgamma, dbeta)

(NumPy: without one only the forward outputs are offered). One with state is told apart by its signature. The keyword
arguments may be left out: without eps or momentum the function has its own, without axis it has one channel axis
(the last in JAX, else 1), without training it is never asked for inference. What else it does differently is stated
in a record of conventions (see bnfuzz.backends.stated).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from bnfuzz.backends.base import Arrays, Backend, Computed, Program
from bnfuzz.backends.stated import with_stated
from bnfuzz.case import Array, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError

Function = Callable[..., Any]

FRAMEWORKS = MappingProxyType({"numpy": "", "jax": "", "mxnet": "mxnet", "torch": "torch"})
"""Framework -> the isolated environment that it runs in ("" for the running interpreter)."""

INPUTS = ("x", "gamma", "beta")
STATE = ("running_mean", "running_var")
STATELESS = "f(x, gamma, beta, *, eps, axis)"
STATEFUL = "f(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training)"


OPTIONS = ("eps", "axis")
STATEFUL_OPTIONS = ("eps", "momentum", "axis", "training")


class FunctionBackend(Backend):
    """`function` under the name `name`; `conventions` is a record of what it states of itself.

    Raises UsageError where its signature is neither of the two, and where the record is not one.
    """

    def __init__(
        self,
        function: Function,
        *,
        name: str,
        framework: str,
        backward: Function | None = None,
        conventions: object = None,
    ) -> None:
        super().__init__()
        if framework not in FRAMEWORKS:
            raise UsageError(f"framework {framework!r} is unknown; use one of {', '.join(FRAMEWORKS)}")
        self.label = name
        self.framework = framework
        self.packages = () if framework == "numpy" else (framework,)
        self.isolated = FRAMEWORKS[framework]
        self._function = function
        self._backward = backward
        self._parameters = parameters_of(function, name)
        self._stateful = "running_mean" in self._parameters
        self._conventions = with_stated(self._from_signature(), conventions, f"conventions of {name}")

    @property
    def conventions(self) -> Conventions:
        return self._conventions

    def _from_signature(self) -> Conventions:
        gradients = () if self.framework == "numpy" and self._backward is None else ("dgamma", "dbeta", "dx")
        scalars: tuple[Literal["eps", "momentum"], ...] = ("eps", "momentum") if self._stateful else ("eps",)
        inference = self._stateful and self._takes("training")
        return Conventions(
            source="the function's signature",
            default_eps=self._default("eps", 1e-5),
            default_momentum=self._default("momentum", 0.1),
            fixed_scalars=tuple(scalar for scalar in scalars if not self._takes(scalar)),
            handed_scalars=tuple(scalar for scalar in scalars if self._takes(scalar) and not self._has_default(scalar)),
            formats=(("float32", "float32", "float32"), ("float64", "float64", "float64")),
            channel_axes="any" if self._takes("axis") else -1 if self.framework == "jax" else 1,
            outputs=("y", *gradients, *(("new_running_mean", "new_running_var") if self._stateful else ())),
            affine="both",
            running="needed" if self._stateful else "free",
            modes=("training", "inference") if inference else ("training",),
            flushes_subnormals=self.framework == "jax",
        )

    def start(self) -> None:
        start_framework(self.framework)

    def compile(self, spec: Spec) -> Program:
        if self._backward is not None or self.framework == "numpy":
            return self._with_written_gradients(spec)
        if self.framework == "jax":
            return self._in_jax(spec)
        if self.framework == "mxnet":
            from bnfuzz.backends import mxnet_arrays

            return mxnet_arrays.program_of(spec, lambda handed: self._call(spec, handed), state_after_backward=False)
        from bnfuzz.backends import torch_arrays

        return torch_arrays.program_of(spec, lambda handed: self._call(spec, handed))

    def _takes(self, option: str) -> bool:
        return takes(self._parameters, option)

    def _has_default(self, name: str) -> bool:
        return name in self._parameters and self._parameters[name].default is not inspect.Parameter.empty

    def _default(self, name: str, otherwise: float) -> float:
        default = self._parameters[name].default if name in self._parameters else otherwise
        return float(default) if isinstance(default, (int, float)) else otherwise

    def _options(self, spec: Spec) -> dict[str, Any]:
        """Keyword arguments, without eps and momentum where the Spec leaves them and the function has a default."""
        options: dict[str, Any] = {}
        if self._takes("axis"):
            options["axis"] = spec.affine_axes[0]
        if self._stateful and self._takes("training"):
            options["training"] = spec.mode == "training"
        conventions = self.conventions
        scalars = [("eps", spec.eps, conventions.default_eps)]
        if self._stateful:
            momentum = None if spec.momentum is None else conventions.momentum_argument(spec)
            scalars.append(("momentum", momentum, conventions.default_momentum))
        for name, asked, default in scalars:
            if not self._takes(name):
                continue
            if asked is not None:
                options[name] = asked
            elif not self._has_default(name):
                options[name] = default
        return options

    def written_call(self, spec: Spec) -> str:
        """The call for a Spec as it is written in code, the arrays by their names."""
        name = self._function.__name__ if hasattr(self._function, "__name__") else "f"
        arrays = INPUTS + STATE if self._stateful else INPUTS
        return (
            f"{name}({', '.join((*arrays, *(f'{option}={value!r}' for option, value in self._options(spec).items())))})"
        )

    def _call(self, spec: Spec, handed: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        names = INPUTS + STATE if self._stateful else INPUTS
        result = self._function(*(handed[name] for name in names), **self._options(spec))
        if not self._stateful:
            return result, {}
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            raise TypeError(f"{self.label} returned {type(result).__name__}, not (y, mean, var)")
        return result[0], {"new_running_mean": result[1], "new_running_var": result[2]}

    def _in_jax(self, spec: Spec) -> Program:
        import jax

        from bnfuzz.backends.jax_scratch import differentiated, program_of

        plain = differentiated(spec, lambda x, affine, running: self._call(spec, {"x": x, **affine, **running}))
        return program_of(jax.jit(plain))

    def _with_written_gradients(self, spec: Spec) -> Program:
        into, out = conversions(self.framework)

        def program(arrays: Arrays) -> Computed:
            handed = {name: into(array) for name, array in arrays.items()}
            y, statistics = self._call(spec, handed)
            outputs = {"y": out(y), **{name: out(value) for name, value in statistics.items()}}
            if self._backward is not None and spec.mode == "training":
                cotangent = handed.get("cotangent")
                if cotangent is None:
                    cotangent = into(cotangent_of(spec, outputs["y"]))
                outputs |= self._gradients(spec, handed, cotangent, out)
            return Computed(outputs=outputs, held={name: out(value) for name, value in handed.items()})

        return program

    def _gradients(
        self, spec: Spec, handed: dict[str, Any], cotangent: Any, out: Callable[[Any], Array]
    ) -> dict[str, Array]:
        assert self._backward is not None
        taken = inspect.signature(self._backward).parameters
        options = {name: value for name, value in self._options(spec).items() if name in OPTIONS and takes(taken, name)}
        result = self._backward(*(handed[name] for name in INPUTS), cotangent, **options)
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            raise TypeError(f"backward of {self.label} returned {type(result).__name__}, not (dx, dgamma, dbeta)")
        return {f"d{name}": out(value) for name, value in zip(INPUTS, result, strict=True)}


def start_framework(framework: str) -> None:
    """Imports it as its backends do."""
    if framework == "mxnet":
        from bnfuzz.backends.mxnet_arrays import start_mxnet

        start_mxnet()
    elif framework == "torch":
        from bnfuzz.backends.torch_arrays import start_torch

        start_torch()
    else:
        importlib.import_module(framework)


def parameters_of(function: Function, name: str) -> dict[str, inspect.Parameter]:
    """The function's parameters; raises UsageError where it cannot be called in either of the two forms."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} has no signature that Python can read ({error}); wrap it in a def") from error
    stateful = "running_mean" in signature.parameters
    arrays = INPUTS + STATE if stateful else INPUTS
    options = STATEFUL_OPTIONS if stateful else OPTIONS
    try:
        signature.bind(*arrays, **{option: None for option in options if takes(signature.parameters, option)})
    except TypeError as error:
        raise UsageError(
            f"{name}{signature} cannot be called as {STATEFUL if stateful else STATELESS}: {error}"
        ) from error
    return dict(signature.parameters)


def takes(parameters: Mapping[str, inspect.Parameter], option: str) -> bool:
    """Whether a function of these parameters can be given the keyword argument."""
    any_keyword = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    found = parameters.get(option)
    return any_keyword if found is None else found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)


def cotangent_of(spec: Spec, y: Array) -> Array:
    """dL/dy in y's own format for the losses sum(y) and mean(y*y)."""
    if spec.cotangent == "sum":
        return np.ones_like(y)
    return np.asarray(y * y.dtype.type(2.0 / max(y.size, 1)))


def conversions(framework: str) -> tuple[Callable[[Array], Any], Callable[[Any], Array]]:
    """(array -> the framework's array, and back)."""
    if framework == "jax":
        import jax.numpy as jnp

        return jnp.asarray, np.asarray
    if framework == "mxnet":
        from bnfuzz.backends.mxnet_arrays import to_mxnet

        return to_mxnet, lambda value: np.asarray(value.asnumpy())
    if framework == "torch":
        from bnfuzz.backends.torch_arrays import to_numpy, to_torch

        return to_torch, to_numpy
    return lambda array: array, np.asarray
