"""What a writer of one framework's calls is asked for, and what it gives: text only, no framework is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from bnfuzz.case import Spec, expected_arrays
from bnfuzz.conventions import Conventions

LINE = 88
"""Characters of a line before it is broken; what is indented afterwards still fits on a page."""

DIFFERENTIATED = ("x", "gamma", "beta")
STATE = ("running_mean", "running_var")
GRADIENTS = ("dx", "dgamma", "dbeta")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call to be written down.

    spec         of one step
    conventions  of the backend: how it wants momentum, what its eps is by default
    outputs      what is looked at; None: all that the backend gives
    versions     package -> version of what the script will run with
    """

    spec: Spec
    conventions: Conventions
    outputs: tuple[str, ...] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def training(self) -> bool:
        return self.spec.mode == "training"

    @property
    def backward(self) -> bool:
        """Whether a backward pass is needed: for gradients, or for statistics that are written in it."""
        late = self.conventions.statistics_written == "backward" and self.training
        asked = (*GRADIENTS, *(f"new_{name}" for name in STATE if late))
        return self.outputs is None or any(name in self.outputs for name in asked)

    def names(self, *wanted: str) -> list[str]:
        """The inputs that the call needs, in the order of Inputs; of `wanted` only where some are given."""
        needed = [name for name in expected_arrays(self.spec) if name != "cotangent" or self.backward]
        return [name for name in needed if not wanted or name in wanted]

    @property
    def leaves(self) -> list[str]:
        """x, and gamma and beta where there are any: what is differentiated for."""
        return self.names(*DIFFERENTIATED)

    @property
    def state(self) -> list[str]:
        return self.names(*STATE)

    @property
    def kept_state(self) -> dict[str, str]:
        """The running statistics as they were: output -> input."""
        return {f"new_{name}": name for name in self.state}

    @property
    def along_channels(self) -> str:
        """Makes a parameter or statistic broadcast against x."""
        shape = ", ".join("-1" if axis in self.spec.affine_axes else "1" for axis in range(self.spec.rank))
        return f".reshape([{shape}])"

    def looked_at(self, pairs: Mapping[str, str]) -> dict[str, str]:
        """Those of output -> expression that are looked at."""
        return {name: text for name, text in pairs.items() if self.outputs is None or name in self.outputs}


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Python text of one call.

    imports   lines after `import numpy as np`
    body      reads the inputs as NumPy arrays by their names, and leaves `observed`, output -> NumPy array
    half      name of a float32 NumPy array of bfloat16 values -> expression of it as the framework takes bfloat16
    held      input -> expression of its values after the call, where the call is given a copy of the array
    """

    imports: tuple[str, ...]
    body: str
    half: Callable[[str], str] = lambda name: name
    held: Mapping[str, str] = field(default_factory=dict)


def scalars(request: Request, *, eps: str = "eps", momentum: str = "momentum") -> dict[str, object]:
    """eps and momentum as the backend's own arguments; nothing where its default acts."""
    given: dict[str, object] = {}
    if request.spec.eps is not None:
        given[eps] = request.spec.eps
    if request.spec.momentum is not None:
        given[momentum] = request.conventions.momentum_argument(request.spec)
    return given


def keywords(pairs: Mapping[str, object]) -> list[str]:
    """`eps=1e-05`, `momentum=0.1`: keyword arguments as text."""
    return [f"{name}={value!r}" for name, value in pairs.items()]


def call(function: str, given: Iterable[str]) -> str:
    """`function(a, b)`, on one line where it fits."""
    items = list(given)
    line = f"{function}({', '.join(items)})"
    return line if len(line) <= LINE else "\n".join([f"{function}(", *(f"    {item}," for item in items), ")"])


def dictionary(pairs: Mapping[str, str], *, start: str = "") -> str:
    """`start{"name": expression, …}`, on one line where it fits."""
    items = [f'"{name}": {expression}' for name, expression in pairs.items()]
    line = f"{start}{{{', '.join(items)}}}"
    return line if len(line) <= LINE else "\n".join([f"{start}{{", *(f"    {item}," for item in items), "}"])


def loss(request: Request, *, mean_square: str, total: str) -> str:
    """The loss of a Spec without an explicit cotangent, as an expression of y."""
    return total if request.spec.cotangent == "sum" else mean_square
