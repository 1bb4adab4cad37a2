"""What every backend is: a name, its conventions, and a way to turn a Spec into a program.

Adapters are imported by the parent for their Conventions, in an interpreter that may lack the framework:
nothing of a framework is imported before `start`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata

from bnfuzz.case import Array, Spec
from bnfuzz.conventions import Conventions

Arrays = Mapping[str, Array]


@dataclass(frozen=True, kw_only=True)
class Computed:
    """What a program gives for one trial.

    outputs   name -> array, of the names in `case.OUTPUT_NAMES`, exactly as the framework returned them
    held      inputs as the framework's own copies are after the call, where it works on copies: a change in
              them is a mutation that the caller's arrays do not show
    """

    outputs: Arrays
    held: Arrays = field(default_factory=dict)


Program = Callable[[Arrays], Computed]
"""One trial's arrays by name (fields of `Inputs`, no trial axis, no steps axis) -> what was computed."""


class Backend(ABC):
    """An implementation of batch normalization under test. Abstract here, final in each adapter file.

    An adapter translates the Spec into its framework's call, passing every flag explicitly, and never
    corrects an output. eps or momentum None in the Spec means: pass nothing, the framework's default acts.

    label            name without version
    framework        distribution whose version is this backend's
    packages         modules that `versions` and the doctor look at
    environment      whose Python runs it: "main", or the name of an isolated environment
    device           where it computes
    slow             compiles or interprets operation by operation: milliseconds a call
    keeps_state      running statistics are updated in the arrays handed over (no mutation, in training)
    """

    label: str
    framework: str
    packages: tuple[str, ...]
    isolated: str = ""
    device: str = "cpu"
    slow: bool = False
    keeps_state: bool = False

    def __init__(self, version: str = "") -> None:
        self.version = version

    @property
    def name(self) -> str:
        """As in the registry, with `@version` where one version of several is meant."""
        return f"{self.label}@{self.version}" if self.version else self.label

    @property
    def environment(self) -> str:
        if self.version:
            return f"{self.framework}@{self.version}"
        return self.isolated or "main"

    @property
    @abstractmethod
    def conventions(self) -> Conventions:
        """What the backend documents; a class attribute in the adapters."""

    def start(self) -> None:
        """Imports the framework and sets it up for one thread; called once, in the worker, before `compile`."""
        for package in self.packages:
            importlib.import_module(package)

    def versions(self) -> dict[str, str]:
        """Package -> version of what computes here."""
        return {package: metadata.version(package) for package in ("numpy", *self.packages)}

    @abstractmethod
    def compile(self, spec: Spec) -> Program:
        """The program for a Spec of one step that `conventions.unsupported` has nothing against."""

    def observe(self, spec: Spec, arrays: Arrays) -> Arrays:
        """One training call taken apart: `NAME@forward` and `NAME@backward` for every array that was handed over.

        What each of them holds after the forward call alone, and after backward: so it shows which of the two writes
        the running statistics, and what else is written into. Empty where a call returns everything that it changes.
        """
        del spec, arrays
        return {}
