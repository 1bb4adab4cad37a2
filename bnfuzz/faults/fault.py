"""Fault: a named deviation of the textbook kernel, with what shows it and how it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bnfuzz.case import Spec
from bnfuzz.conventions import Conventions
from bnfuzz.faults.example import Example, Family
from bnfuzz.faults.kernel import Kernel
from bnfuzz.faults.scopes import Scope, everywhere
from bnfuzz.faults.textbook import CLEAN

Judged = Literal["wrong", "unstable", "nonfinite", "leak", "mutated", "error"]
"""The verdict's kind where the fault shows. No entry is `range`: the overflow of a square in the compute format
is the textbook kernel's own."""

FaultMode = Literal["training", "inference", "sequence", "layout"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Fault:
    """One deviation.

    description   what the code does, in one line
    kernel        the textbook kernel with one or more steps replaced
    judged        kind of verdict where it shows
    admitted      the conventions under which it is no fault; empty where none admit it
    needs         fields of Conventions that it deviates from, and so must hold for it to show
    scope         formats that it shows in
    example       a case that shows it
    """

    name: str
    description: str
    kernel: Kernel
    judged: Judged = "wrong"
    admitted: str = ""
    needs: Mapping[str, Any] = field(default_factory=dict)
    scope: Scope = everywhere
    example: Example = field(default_factory=Example)

    @property
    def family(self) -> Family:
        """The family of inputs that shows it."""
        return self.example.family

    @property
    def mode(self) -> FaultMode:
        """Where it shows: in a layout other than C order, over several steps, or in one step's mode."""
        example = self.example
        if (example.layout_x, example.layout_cotangent) != ("contiguous", "contiguous"):
            return "layout"
        return example.steps[0] if len(example.steps) == 1 else "sequence"

    def conventions(self, base: Conventions) -> Conventions:
        """`base`, with the fields that this fault deviates from."""
        return replace(base, **self.needs)

    def applies(self, spec: Spec, conventions: Conventions) -> bool:
        """Whether it can show at all under this Spec and these Conventions, on suitable data."""
        return (
            spec.operation == self.example.operation
            and all(getattr(conventions, name) == value for name, value in self.needs.items())
            and self._shows_in_mode(spec)
            and self.scope(conventions.compute_format(spec.data_format), spec.formats)
        )

    def _shows_in_mode(self, spec: Spec) -> bool:
        if self.mode == "layout":
            layouts = (
                (self.example.layout_x, spec.layout_x),
                (self.example.layout_cotangent, spec.layout_cotangent),
            )
            return any("contiguous" not in pair for pair in layouts)
        return len(spec.steps) > 1 if self.mode == "sequence" else self.mode in spec.steps


def fault(
    name: str,
    description: str,
    *,
    judged: Judged = "wrong",
    admitted: str = "",
    needs: Mapping[str, Any] | None = None,
    scope: Scope = everywhere,
    shows: Example | None = None,
    **steps: Any,
) -> Fault:
    """The Fault of the textbook kernel with `steps` (fields of Kernel) replaced."""
    return Fault(
        name=name,
        description=description,
        kernel=replace(CLEAN, **steps),
        judged=judged,
        admitted=admitted,
        needs=needs or {},
        scope=scope,
        example=shows or Example(),
    )
