"""What a writer of one framework's calls is asked for, and what it gives: text only, no framework is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bnfuzz.case import Spec, expected_arrays
from bnfuzz.conventions import Conventions

DIFFERENTIATED = ("x", "gamma", "beta")
STATE = ("running_mean", "running_var")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call to be written down.

    spec         of one step
    conventions  of the backend: how it wants momentum, what its eps is by default
    gradients    whether gradients are among what is looked at
    versions     package -> version of what the script will run with
    """

    spec: Spec
    conventions: Conventions
    gradients: bool = True
    versions: Mapping[str, str] = field(default_factory=dict)

    def names(self, *wanted: str) -> list[str]:
        """Those of the inputs that this Spec has, in the order of Inputs; of `wanted` only where some are given."""
        return [name for name in expected_arrays(self.spec) if not wanted or name in wanted]

    @property
    def training(self) -> bool:
        return self.spec.mode == "training"

    @property
    def channel_shape(self) -> list[int]:
        """Shape in which a parameter of the channel axis broadcasts against x."""
        return [-1 if axis in self.spec.affine_axes else 1 for axis in range(self.spec.rank)]

    @property
    def leaves(self) -> list[str]:
        """x, and gamma and beta where there are any: what is differentiated for."""
        return self.names(*DIFFERENTIATED)

    @property
    def state(self) -> list[str]:
        return self.names(*STATE)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Python text of one call.

    imports   lines beside `import numpy as np`
    body      reads the inputs as NumPy arrays by their names, and leaves `observed`, output -> NumPy array
    half      name of a float32 NumPy array of bfloat16 values -> expression of it as the framework takes bfloat16
    held      input -> expression of its values after the call, where the call is given a copy of the array
    """

    imports: tuple[str, ...]
    body: str
    half: Callable[[str], str] = lambda name: name
    held: Mapping[str, str] = field(default_factory=dict)


def keywords(pairs: Mapping[str, object]) -> str:
    """`, eps=1e-05, momentum=0.1`: the arguments with a comma before each."""
    return "".join(f", {name}={value!r}" for name, value in pairs.items())


def scalars(request: Request, *, eps: str = "eps", momentum: str = "momentum") -> dict[str, object]:
    """eps and momentum as the backend's own arguments; nothing where its default acts."""
    given: dict[str, object] = {}
    if request.spec.eps is not None:
        given[eps] = request.spec.eps
    if request.spec.momentum is not None:
        given[momentum] = request.conventions.momentum_argument(request.spec)
    return given


def loss(request: Request, mean: str, total: str) -> str:
    """The loss of a Spec without an explicit cotangent, as an expression of y."""
    return total if request.spec.cotangent == "sum" else mean
