"""A whole script: imports, the check, each input with its calls, and an exit code.

Exit code 1 (or the death of the process, where that is the fault): the fault shows. 0: it does not. 125: something
else went wrong, a module that is missing for instance; `git bisect run` skips such a version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bnfuzz.conventions import Conventions
from bnfuzz.report.scripts.block import Block, Part, function
from bnfuzz.report.scripts.checks import (
    GIVE_UP,
    SHOWS,
    SHOWS_NOT,
    Check,
    Dies,
    Hangs,
    Raises,
    SameBits,
    Unchanged,
    ending,
    helper,
)
from bnfuzz.report.scripts.parts import call
from bnfuzz.report.scripts.writers import Writer

VERDICT = f'print("{SHOWS}" if shows else "{SHOWS_NOT}")'


@dataclass(frozen=True, kw_only=True)
class Around:
    """What surrounds the calls.

    title      the first line of the docstring
    needs      the packages, in words
    beside     the file of the function under test, where it is a user's
    versions   package -> version it was seen with
    variables  environment variables to be set before the framework is imported
    """

    title: str
    needs: str
    beside: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


def script_text(
    writer: Writer, conventions: Conventions, parts: Sequence[Part], around: Around, *, everything: bool = False
) -> str:
    """The script of one fault on one or more inputs; all of the same sort of check.

    everything   gradients are computed also where none is looked at: the same program as in a campaign
    """
    blocks = [Block(writer, conventions, part, versions=around.versions, everything=everything) for part in parts]
    bodies = [block.text() for block in blocks]
    imports = list(dict.fromkeys(line for block in blocks for line in block.imports))
    check = parts[0].check
    sections = [_docstring(around, check), "", *_head(bodies, imports, around, check), helper(check)]
    sections.append(_single(bodies[0], check) if len(parts) == 1 else _several(bodies, check))
    return spaced("\n".join(sections))


def _docstring(around: Around, check: Check) -> str:
    seen = ", ".join(f"{package} {version}" for package, version in around.versions.items())
    title = around.title.replace("\\", "/").replace('"', "'")
    lines = [title, "", f"Needs {around.needs} only; seen with {seen}."]
    if around.beside:
        lines.append(f"Run it in the folder of {around.beside}, or give it that folder as its argument.")
    return "\n".join([f'"""{lines[0]}', *lines[1:], ending(check), '"""'])


def _head(bodies: Sequence[str], imports: Sequence[str], around: Around, check: Check) -> Iterator[str]:
    packed = any("zlib.decompress" in body for body in bodies)
    modules = ["sys", *(["base64", "zlib"] if packed else []), *(["os"] if around.variables else [])]
    modules += ["faulthandler"] if isinstance(check, Hangs) else []
    modules += [line.removeprefix("import ") for line in imports if line in STANDARD]
    yield from (f"import {module}" for module in sorted(modules))
    yield GIVE_UP
    yield from (f'os.environ["{name}"] = {value!r}' for name, value in around.variables.items())
    yield "import numpy as np"
    yield from (line for line in imports if line not in STANDARD)
    yield ""


STANDARD = ("import builtins", "import runpy")


def _single(body: str, check: Check) -> str:
    if isinstance(check, Raises):
        return f"{body}\n{VERDICT}\nsys.exit(int(shows))"
    if isinstance(check, Dies | Hangs):
        return f'{body}\nprint("{SHOWS_NOT}")\nsys.exit(0)'
    return f"{body}\nshows = {_call(check)}\n{VERDICT}\nsys.exit(int(shows))"


def _several(bodies: Sequence[str], check: Check) -> str:
    names = [f"input_{number}" for number in range(1, len(bodies) + 1)]
    functions = [function(name, [], f"{body}\nreturn {_call(check)}") for name, body in zip(names, bodies, strict=True)]
    loop = [
        "shown = 0",
        call("inputs = ", names),
        "for run in inputs:",
        '    print(f"{run.__name__}:")',
        "    shows = run()",
        "    shown += shows",
        f"    {VERDICT}",
        "sys.exit(int(shown > 0))",
    ]
    return "\n".join([*functions, *loop])


def _call(check: Check) -> str:
    if isinstance(check, Unchanged):
        return "check(before, after)"
    return "check(observed, again, elements)" if isinstance(check, SameBits) else "check(observed, expected)"


def spaced(text: str) -> str:
    """Two blank lines around the functions and one at most elsewhere; what is quoted in three is left alone."""
    lines: list[str] = []
    inside = quoted = False
    for line in text.splitlines():
        top = bool(line) and not line[0].isspace() and not quoted
        begins = top and line.startswith("def ")
        if begins or (top and inside and line[0] not in ")]}"):
            while lines and not lines[-1]:
                lines.pop()
            lines += ["", ""]
        if top:
            inside = begins or (inside and line[0] in ")]}")
        if line or (lines and lines[-1]):
            lines.append(line)
        quoted ^= line.count('"""') % 2 == 1
    return "\n".join(lines).strip("\n") + "\n"
