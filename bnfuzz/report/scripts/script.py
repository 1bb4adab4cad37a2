"""A whole script: the inputs as exact literals, the framework's calls, what is exact, and an exit code.

Exit code 1 (or the death of the process, where that is the fault): the fault shows. 0: it does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import indent

import numpy as np

from bnfuzz.backends.layouts import equal_axes
from bnfuzz.case import Array, Case, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.report.literals import array_literal
from bnfuzz.report.scripts.checks import (
    SHOWS,
    SHOWS_NOT,
    Check,
    Dies,
    Forms,
    Hangs,
    Raises,
    SameBits,
    Unchanged,
    Values,
    expected_text,
    helper,
)
from bnfuzz.report.scripts.parts import Parts, Request
from bnfuzz.report.scripts.writers import Writer

GRADIENTS = ("dx", "dgamma", "dbeta")


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """One input of a script: its case, what is looked at, and in which step of a sequence."""

    case: Case
    check: Check
    step: int = 0


@dataclass(frozen=True, kw_only=True)
class Around:
    """What surrounds the calls.

    title      the first line of the docstring
    needs      the packages, in words
    versions   package -> version it was seen with
    variables  environment variables to be set before the framework is imported
    """

    title: str
    needs: str
    versions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


def script_text(
    writer: Writer, conventions: Conventions, parts: Sequence[Part], around: Around, *, everything: bool = False
) -> str:
    """The script of one fault on one or more inputs; all of the same sort of check.

    everything   gradients are computed also where none is looked at: the same program as in a campaign
    """
    blocks = [_Block(writer, conventions, part, around, everything) for part in parts]
    # Lines in the order of their first use: a path is set before what is found on it.
    imports = list(dict.fromkeys(line for block in blocks for line in block.imports))
    bodies = [block.text() for block in blocks]
    packed = any("zlib.decompress" in body for body in bodies)
    check = parts[0].check
    standard = [
        *(("import base64",) if packed else ()),
        *(("import faulthandler",) if isinstance(check, Hangs) else ()),
        *(("import os",) if around.variables else ()),
        "import sys",
        *(("import zlib",) if packed else ()),
    ]
    variables = [f'os.environ["{name}"] = {value!r}' for name, value in around.variables.items()]
    head = "\n".join(standard) + "\n\n" + "".join(f"{line}\n" for line in variables) + "import numpy as np\n"
    head += "".join(f"{line}\n" for line in imports)
    sections = [_docstring(around, check), head, helper(check)]
    sections += [_single(bodies[0], check)] if len(parts) == 1 else _several(bodies, check)
    return "\n\n".join(section.strip("\n") for section in sections if section) + "\n"


def _docstring(around: Around, check: Check) -> str:
    seen = ", ".join(f"{package} {version}" for package, version in around.versions.items())
    ends = {Dies: "The fault ends the process; exit code 0: it does not show.", Hangs: ""}.get(
        type(check), "Exit code 1: the fault shows; 0: it does not."
    ) or "Exit code 1 after the deadline: the fault shows; 0: it does not."
    title = around.title.replace("\\", "/").replace('"""', "'''")
    return f'"""{title}\n\nNeeds {around.needs} only; seen with {seen}.\n{ends}\n"""'


def _single(body: str, check: Check) -> str:
    end = f'print("{SHOWS}" if shows else "{SHOWS_NOT}")\nsys.exit(int(shows))'
    if isinstance(check, Raises):
        return body
    if isinstance(check, Dies | Hangs):
        return f'{body}\nprint("{SHOWS_NOT}")'
    return f"{body}\nshows = {_call(check)}\n{end}"


def _several(bodies: Sequence[str], check: Check) -> list[str]:
    functions = []
    for number, body in enumerate(bodies, start=1):
        functions.append(_function(f"input_{number}()", f"{body}\nreturn {_call(check)}"))
    names = ", ".join(f"input_{number}" for number in range(1, len(bodies) + 1))
    loop = (
        f"\nshown = 0\nfor number, run in enumerate(({names}), start=1):\n"
        '    print(f"input {number}:")\n'
        "    shows = run()\n"
        "    shown += shows\n"
        f'    print("{SHOWS}" if shows else "{SHOWS_NOT}")\n'
        "sys.exit(int(shown > 0))"
    )
    return [*functions, loop]


def _inner(text: str) -> str:
    return indent(text, "    ", lambda line: bool(line.strip()))


def _function(head: str, body: str) -> str:
    return f"\ndef {head}:\n{_inner(body)}"


def _call(check: Check) -> str:
    if isinstance(check, Unchanged):
        return "check(before, after)"
    return "check(observed, again, elements)" if isinstance(check, SameBits) else "check(observed, expected)"


class _Block:
    """The text of one input: literals, calls, and what is exact."""

    def __init__(self, writer: Writer, conventions: Conventions, part: Part, around: Around, everything: bool) -> None:
        self.part, self.spec, self.check = part, part.case.spec, part.check
        gradients = everything or not isinstance(part.check, Values | Forms) or self._asks_for(GRADIENTS)
        self.given = {name: array[0] for name, array in part.case.inputs.items()}
        self.written: dict[str, Parts] = {}
        for mode in dict.fromkeys(self.spec.steps):
            request = Request(
                spec=replace(self.spec, steps=(mode,)),
                conventions=conventions,
                gradients=gradients,
                versions=around.versions,
            )
            self.written[mode] = writer.parts(request)

    def _asks_for(self, names: tuple[str, ...]) -> bool:
        return isinstance(self.check, Values | Forms) and any(name in self.check.outputs for name in names)

    @property
    def imports(self) -> list[str]:
        return [line for parts in self.written.values() for line in parts.imports]

    def text(self) -> str:
        lines = [self._literals(), self._calls()]
        if isinstance(self.check, Values):
            lines.append(f"# index, exact value, largest error of a sound implementation\n{expected_text(self.check)}")
        elif isinstance(self.check, Forms):
            lines.append(f"expected = {dict(self.check.outputs)!r}")
        return "\n".join(lines)

    def _literals(self) -> str:
        return "\n".join(f"{name} = {array_literal(array)}" for name, array in self.given.items())

    def _calls(self) -> str:
        if len(self.spec.steps) > 1:
            return self._sequence()
        parts = self.written[self.spec.mode]
        prepared = "\n".join(self._prepared(parts, self.spec, self.given))
        body = f"{prepared}\n{parts.body}".strip("\n")
        if isinstance(self.check, Unchanged):
            before = ", ".join(f'"{name}": {name}.copy()' for name in self.check.inputs)
            after = ", ".join(f'"{name}": {parts.held.get(name, name)}' for name in self.check.inputs)
            return f"before = {{{before}}}\n{body}\nafter = {{{after}}}"
        if isinstance(self.check, SameBits):
            return self._twice(body)
        if isinstance(self.check, Raises):
            return "\n".join(
                (
                    f"try:\n{_inner(body)}\nexcept Exception as error:",
                    '    print(f"{type(error).__name__}: {error}")',
                    f'    shows = type(error).__name__ == "{self.check.exception}"',
                    "else:",
                    "    shows = False",
                    f'print("{SHOWS}" if shows else "{SHOWS_NOT}")',
                    "sys.exit(int(shows))",
                )
            )
        if isinstance(self.check, Hangs):
            return f"faulthandler.dump_traceback_later({self.check.seconds}, exit=True)\n{body}"
        return body

    def _twice(self, body: str) -> str:
        assert isinstance(self.check, SameBits)
        names = ", ".join(self.given)
        others = ", ".join(f"other_{name}" if name in self.check.changed else name for name in self.given)
        lines = [f"\n{_function(f'run({names})', body + chr(10) + 'return observed')}\n\n"]
        lines += [f"other_{name} = {array_literal(array)}" for name, array in self.check.changed.items()]
        lines += [
            f"elements = {dict(self.check.outputs)!r}",
            f"observed = run({names})",
            f"for _ in range({self.check.times}):",
            f"    again = run({others})  # {self.check.what}",
            "    if check(observed, again, elements):",
            "        break",
        ]
        return "\n".join(lines)

    def _prepared(self, parts: Parts, spec: Spec, given: Mapping[str, Array]) -> list[str]:
        """bfloat16 as the framework's NumPy side has it, and memory layouts."""
        lines = []
        brain = [name for name, array in given.items() if array.dtype.name == "bfloat16" and parts.half(name) != name]
        lines += [f"{name} = {parts.half(name)}" for name in brain]
        for name, layout in (("x", spec.layout_x), ("cotangent", spec.layout_cotangent)):
            if name in given and layout != "contiguous":
                gap = "-1" if name in brain and "int16" in parts.half(name) else "np.nan"
                lines += layout_lines(name, layout, given[name], gap)
        return lines

    def _sequence(self) -> str:
        """Every step from the state that the one before left; `observed` is that of the step in question."""
        names = ", ".join(self.given)
        lines = []
        one_step = {name: array[0] if name in ("x", "cotangent") else array for name, array in self.given.items()}
        for mode, parts in self.written.items():
            prepared = "\n".join(self._prepared(parts, self.spec, one_step))
            body = f"{prepared}\n{parts.body}\nreturn observed".strip("\n")
            lines.append(f"\n{_function(f'{mode}({names})', body)}\n")
        steps = ", ".join(self.spec.steps)
        each = ", ".join(f"{name}[number]" if name in ("x", "cotangent") else name for name in self.given)
        lines.append(f"\nfor number, step in enumerate(({steps})):")
        lines.append(f"    observed = step({each})")
        if self.spec.has_running:
            lines.append('    running_mean = observed.get("new_running_mean", running_mean)')
            lines.append('    running_var = observed.get("new_running_var", running_var)')
        lines.append(f"    if number == {self.part.step}:\n        break")
        return "\n".join(lines)


def layout_lines(name: str, layout: str, array: Array, gap: str = "np.nan") -> list[str]:
    """Lines that put the array into another arrangement of memory, as bnfuzz.backends.layouts does.

    gap   the value between and around the elements
    """
    rank = array.ndim
    every = ", ".join(["::-1"] * rank)
    if layout == "permuted" and rank >= 2:
        order = (1, 0) if rank == 2 else (0, *range(2, rank), 1)
        back = tuple(int(axis) for axis in np.argsort(order))
        return [f"{name} = np.ascontiguousarray({name}.transpose({order})).transpose({back})"]
    if layout == "sliced":
        shape = (*array.shape[:-1], 2 * array.shape[-1])
        return [
            f"buffer = np.full({shape}, {gap}, {name}.dtype)",
            f"buffer[..., ::2] = {name}",
            f"{name} = buffer[..., ::2]",
        ]
    if layout == "flipped":
        return [f"{name} = np.ascontiguousarray({name}[{every}])[{every}]"]
    if layout == "zero_stride":
        equal = equal_axes(array)
        first = ", ".join(":1" if axis in equal else ":" for axis in range(rank))
        return [f"{name} = np.broadcast_to({name}[{first}].copy(), {name}.shape)"]
    if layout == "offset":
        return [
            f"buffer = np.full({name}.size + 2, {gap}, {name}.dtype)",
            f"buffer[1:-1] = {name}.ravel()",
            f"{name} = buffer[1:-1].reshape({name}.shape)",
        ]
    return []


def rounded_up(value: float, digits: int = 3) -> float:
    """The smallest number of so many decimal digits that is not below `value`."""
    if value == 0 or not math.isfinite(value):
        return value
    text = float(f"{value:.{digits - 1}e}")
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return text if text >= value else float(f"{text + step:.{digits - 1}e}")
