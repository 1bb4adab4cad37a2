"""JSON text that is strict to read and pleasant to look at.

Reading takes text from strangers: its size, depth and number lengths are bounded, and what plain JSON readers
let pass in silence (a key given twice, NaN literals, numbers that overflow) is an error with its place.
"""

from __future__ import annotations

import json
import math
from typing import Any

from bnfuzz.errors import printable

MAX_DEPTH = 16
MAX_TOKENS = 1_000_000
MAX_NUMBER = 1_100
"""Characters of one number; the longest exact float64 needs less."""

MAX_INTEGER_DIGITS = 38
LINE = 110
"""Characters of a line in writing, where its items allow that."""


class PlaceError(Exception):
    """Something wrong at one place of a document: `place` as a JSON path, `problem` with its remedy."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"at {place}: {problem}")
        self.place = place
        self.problem = problem


class _Flaw:
    """Stands in the parsed tree for what must not be there, so that the walk can tell its path."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


def shown(value: object, limit: int = 80) -> str:
    """A value for a message, cut to `limit` characters."""
    text = repr(value[: limit + 1] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def below(place: str, key: str | int) -> str:
    """The JSON path of an item of what stands at `place`."""
    if isinstance(key, int):
        return f"{place}[{key}]"
    return f"{place}.{key}" if key.isidentifier() and len(key) <= 60 else f"{place}[{shown(key)}]"


def parse(text: str) -> Any:
    """The tree of a JSON text; raises PlaceError where it is no strict JSON or exceeds the limits."""
    tokens = text.count(",") + text.count("[") + text.count("{")
    if tokens > MAX_TOKENS:
        raise PlaceError("$", f"about {tokens} items; the limit is {MAX_TOKENS}: store large arrays packed")
    try:
        tree = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise PlaceError(place, f"{error.msg}; the file must be one JSON object") from None
    except RecursionError:
        raise PlaceError("$", f"nested too deeply; at most {MAX_DEPTH} levels are read") from None
    _check(tree)
    return tree


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree: dict[str, Any] = dict(pairs)
    if len(tree) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                tree[key] = _Flaw("this key is given twice in one object; keep one of them")
            seen.add(key)
    return tree


def _integer(text: str) -> Any:
    if text == "-0":
        return -0.0
    if len(text) > MAX_INTEGER_DIGITS + 1:
        return _Flaw(f"integer of {len(text)} characters; the limit is {MAX_INTEGER_DIGITS} digits: write it as 1e30")
    return int(text)


def _float(text: str) -> Any:
    if len(text) > MAX_NUMBER:
        return _Flaw(f"number of {len(text)} characters; the limit is {MAX_NUMBER}")
    value = float(text)
    return value if math.isfinite(value) else _Flaw(f'{shown(text)} overflows every format; write "inf" or "-inf"')


def _constant(text: str) -> Any:
    spelled = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[text]
    return _Flaw(f'{text} is no JSON; write "{spelled}" in quotes')


def _check(tree: Any) -> None:
    """Walks the tree without recursion; raises PlaceError at a flaw, an unreadable string, or too great a depth."""
    waiting: list[tuple[str, Any, int]] = [("$", tree, 0)]
    while waiting:
        place, value, depth = waiting.pop()
        if isinstance(value, _Flaw):
            raise PlaceError(place, value.problem)
        if isinstance(value, str):
            if value != printable(value):
                raise PlaceError(place, f"{shown(value)} has control characters or half a surrogate pair; remove them")
        elif isinstance(value, dict | list):
            if depth == MAX_DEPTH:
                raise PlaceError(place, f"nested too deeply; at most {MAX_DEPTH} levels are read")
            if isinstance(value, dict):
                waiting.extend((f"{place} (a key)", key, depth + 1) for key in value)
                waiting.extend((below(place, key), item, depth + 1) for key, item in value.items())
            else:
                waiting.extend(
                    (below(place, index), item, depth + 1)
                    for index, item in enumerate(value)
                    if isinstance(item, dict | list | str | _Flaw)
                )


def render(tree: Any) -> str:
    """The tree as text: sorted keys, two blanks of indent, what fits on one line on one line, a newline at the end."""
    return _render(tree, 0, LINE) + "\n"


def _render(tree: Any, indent: int, before: int) -> str:
    """`indent` blanks start the lines of the items, `before` characters stand before the tree in its first line."""
    compact = json.dumps(tree, sort_keys=True, ensure_ascii=False, allow_nan=False)
    if not isinstance(tree, dict | list) or not tree or before + len(compact) < LINE:
        return compact
    inner = indent + 2
    pad, end = "\n" + " " * inner, "\n" + " " * indent
    if isinstance(tree, dict):
        keys = {key: json.dumps(key, ensure_ascii=False) + ": " for key in sorted(tree)}
        items = [word + _render(tree[key], inner, inner + len(word)) for key, word in keys.items()]
        return "{" + pad + ("," + pad).join(items) + end + "}"
    if any(isinstance(item, dict | list) for item in tree):
        return "[" + pad + ("," + pad).join(_render(item, inner, inner) for item in tree) + end + "]"
    return "[" + pad + pad.join(_filled(tree, LINE - inner)) + end + "]"


def _filled(scalars: list[Any], width: int) -> list[str]:
    """The scalars, separated by commas, in lines of at most `width` characters where possible."""
    words = [json.dumps(scalar, ensure_ascii=False, allow_nan=False) for scalar in scalars]
    words = [word + "," for word in words[:-1]] + words[-1:]
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines
