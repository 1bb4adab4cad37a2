"""What a user's function states of itself: a record of `Conventions` fields beside it, checked field by field.

    conventions = {"running_ddof": 1, "momentum_weighs": "old"}

in the file, or as an attribute of the function; a `bnfuzz.Conventions` serves too, of which the fields count that
differ from their defaults. What the signature decides cannot be stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from bnfuzz import formats
from bnfuzz.conventions import Conventions, Summation
from bnfuzz.errors import UsageError

FROM_THE_SIGNATURE = ("outputs", "affine", "running", "modes", "fixed_scalars", "handed_scalars")
"""Fields that follow from the function's parameters and its backward."""

_HINTS = get_type_hints(Conventions)
STATABLE = tuple(name for name in _HINTS if name not in FROM_THE_SIGNATURE)


def stated(record: object, where: str) -> dict[str, Any]:
    """The stated fields by name; empty for None. Raises UsageError, naming `where`, for what is no such record."""
    if record is None:
        return {}
    if isinstance(record, Conventions):
        return {
            field.name: getattr(record, field.name)
            for field in fields(Conventions)
            if field.name in STATABLE and (field.default is MISSING or getattr(record, field.name) != field.default)
        }
    if not isinstance(record, Mapping):
        raise UsageError(
            f"{where} is of type {type(record).__name__}; give a dict of fields, such as "
            '{"running_ddof": 1}, or a bnfuzz.Conventions'
        )
    return {str(name): _checked(str(name), value, where) for name, value in record.items()}


def with_stated(base: Conventions, record: object, where: str) -> Conventions:
    """`base`, what the signature says, with the fields that the record states."""
    return replace(base, **stated(record, where))


def _checked(name: str, value: object, where: str) -> Any:
    if name in FROM_THE_SIGNATURE:
        raise UsageError(f"{where} states {name}, which the function's signature decides; leave it out")
    if name not in _HINTS:
        raise UsageError(f"{where} states {name!r}, which is no convention; use some of {', '.join(STATABLE)}")
    if name in ("formats", "compute"):
        return _format_rows(name, value, where)
    if name == "ranks":
        return _ranks(value, where)
    if name == "summation":
        return _summation(value, where)
    return _scalar(name, value, where)


def _scalar(name: str, value: object, where: str) -> Any:
    hint = _HINTS[name]
    literals = [
        literal for part in (hint, *get_args(hint)) if get_origin(part) is Literal for literal in get_args(part)
    ]
    plain = [part for part in (hint, *get_args(hint)) if isinstance(part, type)]
    if value in literals and isinstance(value, bool) == any(isinstance(known, bool) for known in literals):
        return value
    if float in plain and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if any(type(value) is part for part in plain):
        return value
    allowed = [*map(repr, literals), *(part.__name__ for part in plain)]
    raise UsageError(f"{where} states {name}={value!r}; give {' or '.join(allowed).replace('NoneType', 'None')}")


def _format_rows(name: str, value: object, where: str) -> tuple[tuple[str, ...], ...]:
    width = 3 if name == "formats" else 2
    what = "(data, parameters, statistics)" if name == "formats" else "(data, compute)"
    listed = value if isinstance(value, (list, tuple)) else ()
    rows = tuple(tuple(row) if isinstance(row, (list, tuple)) else () for row in listed)
    known = all(len(row) == width and all(entry in formats.FORMATS for entry in row) for row in rows)
    if not rows or not known:
        raise UsageError(f"{where} states {name}={value!r}; give rows {what} of {', '.join(formats.FORMATS)}")
    return rows


def _ranks(value: object, where: str) -> tuple[int, int]:
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(type(rank) is int for rank in value):
        low, high = value
        if 1 <= low <= high:
            return low, high
    raise UsageError(f"{where} states ranks={value!r}; give (smallest, largest) rank of x, such as (2, 5)")


def _summation(value: object, where: str) -> Summation:
    if isinstance(value, Summation):
        return value
    kinds = get_args(get_type_hints(Summation)["kind"])
    if isinstance(value, str) and value in kinds:
        return Summation(value)  # type: ignore[arg-type]  # one of the literals, as just seen
    raise UsageError(f"{where} states summation={value!r}; give one of {', '.join(kinds)}, or a bnfuzz.Summation")
