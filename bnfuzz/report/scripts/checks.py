"""What a script looks at once the framework has answered, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bnfuzz.case import Array

Index = tuple[int, ...]
SHOWS = "the fault shows"
SHOWS_NOT = "the fault does not show"

NOTHING_SAID = 125
"""Exit code of a script that came to no answer; 1 would be taken for the fault by `git bisect run`."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """One element: its exact value and how far a sound implementation may be from it."""

    index: Index
    exact: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class Values:
    """Elements of outputs against exact values."""

    outputs: Mapping[str, tuple[Expected, ...]]


@dataclass(frozen=True, kw_only=True)
class Forms:
    """Outputs against the shape and format they must have."""

    outputs: Mapping[str, tuple[tuple[int, ...], str]]


@dataclass(frozen=True, kw_only=True)
class Unchanged:
    """Inputs that the call must leave alone."""

    inputs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SameBits:
    """Two calls that must agree, bit for bit, in the given elements.

    changed   inputs that are other ones in the second call; none: the same call again, up to `times` times
    what      the difference between the calls, in a clause
    """

    outputs: Mapping[str, tuple[Index, ...]]
    what: str
    changed: Mapping[str, Array] = field(default_factory=dict)
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class Raises:
    """The call itself: an exception of this type is the fault."""

    exception: str


@dataclass(frozen=True, kw_only=True)
class Dies:
    """The call itself: the process ends in it."""


@dataclass(frozen=True, kw_only=True)
class Hangs:
    """The call itself: it does not come back within so many seconds."""

    seconds: int


Check = Values | Forms | Unchanged | SameBits | Raises | Dies | Hangs

COMPARE = '''\
def check(observed, expected):
    """Whether an element is further from its exact value than a sound implementation may be; prints each."""
    shows = False
    for name, elements in expected.items():
        for index, exact, allowed in elements:
            value = float(observed[name][index])
            wrong = not abs(value - exact) <= allowed  # NaN is wrong
            shows = shows or wrong
            print(f"{name}{list(index)}: observed {value!r}, exact {exact!r}, allowed error {allowed!r}", end="")
            print(" WRONG" if wrong else "")
    return shows
'''

FORMS = '''\
def check(observed, expected):
    """Whether an output has another shape or dtype than it must have; prints each."""
    shows = False
    for name, (shape, dtype) in expected.items():
        wrong = observed[name].shape != shape or str(observed[name].dtype) != dtype
        shows = shows or wrong
        print(f"{name}: {observed[name].shape} {observed[name].dtype}, due {shape} {dtype}{' WRONG' if wrong else ''}")
    return shows
'''

UNCHANGED = '''\
def check(before, after):
    """Whether an input has other values after the call; prints each."""
    shows = False
    for name, given in before.items():
        wrong = not np.array_equal(given, np.asarray(after[name]).reshape(given.shape), equal_nan=True)
        shows = shows or wrong
        print(f"{name}: {'CHANGED by the call' if wrong else 'unchanged'}")
    return shows
'''

SAME_BITS = '''\
def differing(first, second, elements):
    """The elements that differ between the calls, in words."""
    for name, places in elements.items():
        for index in places:
            one, two = float(first[name][index]), float(second[name][index])
            if one != two and not (np.isnan(one) and np.isnan(two)):
                yield f"{name}{list(index)} was {one!r} and is {two!r}"


def check(first, second, elements):
    """Whether an element differs between the calls; prints those that do."""
    found = list(differing(first, second, elements))
    print("\\n".join(found))
    return bool(found)
'''

GIVE_UP = f'''
def give_up(kind, error, trace):
    """Any other error says nothing of the fault: exit code {NOTHING_SAID}, which `git bisect run` skips."""
    sys.__excepthook__(kind, error, trace)
    sys.exit({NOTHING_SAID})


sys.excepthook = give_up
'''
"""Before the framework is imported, so that a script without it does not end as one that shows the fault does."""

RAISED = """\
except Exception as error:
    if type(error).__name__ != "{exception}":
        raise
    print(f"{{type(error).__name__}}: {{error}}")
    shows = True
else:
    shows = False"""
"""After a `try:` with the call."""


def ending(check: Check) -> str:
    """What the exit code of a script means."""
    if isinstance(check, Dies):
        shows = "The fault ends the process; exit code"
    elif isinstance(check, Hangs):
        shows = f"Exit code 1 after {check.seconds} s: the fault shows;"
    else:
        shows = "Exit code 1: the fault shows;"
    return f"{shows} 0: it does not; {NOTHING_SAID}: something else went wrong."


def helper(check: Check) -> str:
    """The function `check` of a script, or nothing where the call itself is looked at."""
    texts = {Values: COMPARE, Forms: FORMS, Unchanged: UNCHANGED, SameBits: SAME_BITS}
    return texts.get(type(check), "")


def expected_text(check: Values) -> str:
    """`expected` as a dictionary: output -> (index, exact value, allowed error)."""
    lines = ["expected = {"]
    for name, elements in check.outputs.items():
        lines.append(f'    "{name}": [')
        lines += [
            f"        ({element.index}, {float_text(element.exact)}, {float_text(element.bound)}),"
            for element in elements
        ]
        lines.append("    ],")
    return "\n".join([*lines, "}"])


def float_text(value: float) -> str:
    """A Python float as an expression that evaluates to the same bits."""
    text = repr(float(value))
    return f"np.{text}" if text in ("nan", "inf") else "-np.inf" if text == "-inf" else text
