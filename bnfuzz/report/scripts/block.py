"""The text of one input: its arrays as literals, the framework's calls, what is exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from textwrap import indent

from bnfuzz.case import Array, Case, Mode
from bnfuzz.conventions import Conventions
from bnfuzz.report.scripts.checks import (
    RAISED,
    Check,
    Forms,
    Hangs,
    Raises,
    SameBits,
    Unchanged,
    Values,
    expected_text,
)
from bnfuzz.report.scripts.layouts import layout_lines
from bnfuzz.report.scripts.literals import array_literal
from bnfuzz.report.scripts.parts import Parts, Request, call, dictionary
from bnfuzz.report.scripts.writers import Writer

PER_STEP = ("x", "cotangent")


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """One input of a script: its case, what is looked at, and in which step of a sequence."""

    case: Case
    check: Check
    step: int = 0


class Block:
    """One Part as text; with `everything` gradients are computed also where none is looked at."""

    def __init__(
        self,
        writer: Writer,
        conventions: Conventions,
        part: Part,
        *,
        versions: Mapping[str, str],
        everything: bool,
    ) -> None:
        self.part, self.spec, self.check = part, part.case.spec, part.check
        looked_at = None if everything or len(self.spec.steps) > 1 else outputs_of(self.check)
        requests: dict[Mode, Request] = {
            mode: Request(
                spec=replace(self.spec, steps=(mode,)), conventions=conventions, outputs=looked_at, versions=versions
            )
            for mode in dict.fromkeys(self.spec.steps)
        }
        self.written = {mode: writer.parts(request) for mode, request in requests.items()}
        needed = {name for request in requests.values() for name in request.names()}
        self.given = {name: array[0] for name, array in part.case.inputs.items() if name in needed}

    @property
    def imports(self) -> list[str]:
        """Lines in the order of their use: a path is set before what is found on it."""
        return [line for parts in self.written.values() for line in parts.imports]

    def text(self) -> str:
        """Lines that leave what `check` takes."""
        lines = [f"{name} = {array_literal(array)}" for name, array in self.given.items()]
        lines.append(self._sequence() if len(self.spec.steps) > 1 else self._call())
        if isinstance(self.check, Values):
            lines.append(f"# index, exact value, largest error of a sound implementation\n{expected_text(self.check)}")
        elif isinstance(self.check, Forms):
            lines.append(f"expected = {dict(self.check.outputs)!r}")
        return "\n".join(lines)

    def _call(self) -> str:
        parts = self.written[self.spec.mode]
        body = "\n".join([*self._prepared(parts, self.given), parts.body])
        if isinstance(self.check, Unchanged):
            names = self.check.inputs
            before = dictionary({name: f"{name}.copy()" for name in names}, start="before = ")
            after = dictionary({name: parts.held.get(name, name) for name in names}, start="after = ")
            return f"{before}\n{body}\n{after}"
        if isinstance(self.check, SameBits):
            return self._twice(body, self.check)
        if isinstance(self.check, Raises):
            return f"try:\n{inner(body)}\n{RAISED.format(exception=self.check.exception)}"
        if isinstance(self.check, Hangs):
            return f"faulthandler.dump_traceback_later({self.check.seconds}, exit=True)\n{body}"
        return body

    def _twice(self, body: str, check: SameBits) -> str:
        names = list(self.given)
        others = [f"other_{name}" if name in check.changed else name for name in names]
        return "\n".join(
            [
                function("run", names, f"{body}\nreturn observed"),
                *(f"other_{name} = {array_literal(array)}" for name, array in check.changed.items()),
                f"elements = {dict(check.outputs)!r}",
                call("observed = run", names),
                f"# {check.what}",
                f"for _ in range({check.times}):",
                inner(call("again = run", others)),
                "    if any(differing(observed, again, elements)):",
                "        break",
            ]
        )

    def _sequence(self) -> str:
        """Every step from the state that the one before left; `observed` is that of the step in question."""
        names = list(self.given)
        one_step = {name: array[0] if name in PER_STEP else array for name, array in self.given.items()}
        lines = []
        for mode, parts in self.written.items():
            body = "\n".join([*self._prepared(parts, one_step), parts.body, "return observed"])
            lines.append(function(mode, names, body))
        each = [f"{name}[number]" if name in PER_STEP else name for name in names]
        steps = ", ".join(self.spec.steps[: self.part.step + 1])
        lines.append(f"for number, step in enumerate([{steps}]):\n{inner(call('observed = step', each))}")
        for name in ("running_mean", "running_var") if self.spec.has_running else ():
            lines.append(f'    {name} = observed.get("new_{name}", {name})')
        return "\n".join(lines)

    def _prepared(self, parts: Parts, given: Mapping[str, Array]) -> list[str]:
        """bfloat16 as the framework takes it, and memory layouts."""
        brain = [name for name, array in given.items() if array.dtype.name == "bfloat16" and parts.half(name) != name]
        lines = [f"{name} = {parts.half(name)}" for name in brain]
        for name, layout in (("x", self.spec.layout_x), ("cotangent", self.spec.layout_cotangent)):
            if name in given:
                gap = "-1" if name in brain and "int16" in parts.half(name) else "np.nan"
                lines += layout_lines(name, layout, given[name], gap)
        return lines


def outputs_of(check: Check) -> tuple[str, ...] | None:
    """The outputs that are looked at; None where the call as a whole is."""
    return tuple(check.outputs) if isinstance(check, Values | Forms) else None


def inner(text: str) -> str:
    """Indented by one level."""
    return indent(text, "    ", lambda line: bool(line.strip()))


def function(name: str, parameters: list[str], body: str) -> str:
    """The text of a function."""
    return f"def {name}({', '.join(parameters)}):\n{inner(body)}\n"
