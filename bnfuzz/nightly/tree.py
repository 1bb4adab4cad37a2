"""Frozen records as JSON trees and back, strictly: every field named, every value of its type."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from bnfuzz.casefile.exactjson import PlaceError, below, shown
from bnfuzz.errors import printable

Record = TypeVar("Record")

_NONFINITE: Mapping[str, float] = types.MappingProxyType({"inf": math.inf, "-inf": -math.inf, "nan": math.nan})


def to_tree(value: Any) -> Any:
    """The JSON tree of a record; infinities and NaN become text, control characters are replaced."""
    if dataclasses.is_dataclass(value):
        return {field.name: to_tree(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [to_tree(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return printable(value) if isinstance(value, str) else value


def from_tree(kind: type[Record], tree: Any, place: str = "$") -> Record:
    """The record that `to_tree` wrote; raises PlaceError where the tree is none of this kind."""
    if not isinstance(tree, dict):
        raise PlaceError(place, f"{shown(tree)} is no {kind.__name__}; it must be an object")
    hints = get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # every Record is one
    for name in tree:
        if name not in fields:
            raise PlaceError(below(place, name), f"{kind.__name__} has no such field; remove it")
    values = {}
    for name, field in fields.items():
        if name in tree:
            values[name] = _value(hints[name], tree[name], below(place, name))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise PlaceError(place, f"{name} is missing")
    return kind(**values)


def _value(hint: Any, value: Any, place: str) -> Any:
    origin = get_origin(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_tree(hint, value, place)
    if origin is Literal:
        if value not in get_args(hint):
            raise PlaceError(place, f"{shown(value)} is not known; use one of {', '.join(map(str, get_args(hint)))}")
        return value
    if origin is tuple:
        return _tuple(get_args(hint), value, place)
    if hint is float:
        if isinstance(value, str) and value in _NONFINITE:
            return _NONFINITE[value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    elif isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise PlaceError(place, f"{shown(value)} is no {hint.__name__}")


def _tuple(kinds: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise PlaceError(place, f"{shown(value)} is no list")
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(value) != len(kinds):
        raise PlaceError(place, f"has {len(value)} items where {len(kinds)} are due")
    return tuple(
        _value(hint, item, below(place, number)) for number, (hint, item) in enumerate(zip(kinds, value, strict=True))
    )
