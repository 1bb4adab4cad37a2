"""Specs, Cases and Verdicts as JSON trees, and the id of a Case.

Trees come from `exactjson.parse` and have passed the schema; what a schema cannot say is checked here.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from bnfuzz.case import MAX_ELEMENTS, Case, Inputs, Spec, expected_arrays
from bnfuzz.casefile.exactarray import decode_array, decode_number, encode_array, encode_number, exact_bits
from bnfuzz.casefile.exactjson import PlaceError, below
from bnfuzz.errors import UsageError, printable
from bnfuzz.formats import of
from bnfuzz.judge.verdict import Verdict

MAX_TOTAL = 2 * MAX_ELEMENTS
"""Elements of all arrays of a case file together: bounds the memory that a stranger's file can ask for."""

MAX_TEXT = 20_000
"""Characters of a free text; longer ones are cut in writing."""


def clipped(text: str, limit: int = MAX_TEXT) -> str:
    """The text fit for a case file: printable, and at most `limit` characters."""
    text = printable(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def spec_tree(spec: Spec) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for entry in fields(Spec):
        value = getattr(spec, entry.name)
        if isinstance(value, float):
            value = encode_number(value)
        tree[entry.name] = list(value) if isinstance(value, tuple) else value
    return tree


def spec_from_tree(tree: dict[str, Any], place: str) -> Spec:
    values = dict(tree)
    for name in ("eps", "momentum"):
        if values[name] is not None:
            values[name] = decode_number(values[name], below(place, name))
    for name in ("shape", "reduced_axes", "parameter_axes"):
        values[name] = tuple(int(number) for number in values[name])
    values["steps"] = tuple(values["steps"])
    try:
        return Spec(**values)
    except UsageError as error:
        raise PlaceError(place, str(error)) from None


def case_tree(case: Case) -> dict[str, Any]:
    inputs = {name: encode_array(np.asarray(array[0])) for name, array in case.inputs.items()}
    return {"spec": spec_tree(case.spec), "inputs": inputs}


def case_from_tree(tree: dict[str, Any], place: str) -> Case:
    spec = spec_from_tree(tree["spec"], below(place, "spec"))
    expected = expected_arrays(spec)
    place = below(place, "inputs")
    given = tree["inputs"]
    for name in expected:
        if name not in given:
            raise PlaceError(place, f"{name} is missing; this spec needs it")
    total = sum(math.prod(shape) for shape, _ in expected.values())
    if total > MAX_TOTAL:
        raise PlaceError(place, f"{total} elements in all arrays together; the limit is {MAX_TOTAL}")
    arrays = {}
    for name, entry in given.items():
        here = below(place, name)
        if name not in expected:
            raise PlaceError(here, "this spec does without it; leave it out")
        shape, format_name = expected[name]
        stated = tuple(int(size) for size in entry["shape"])
        if stated != shape:
            raise PlaceError(
                below(here, "shape"), f"{list(stated)} does not fit the spec, which asks for {list(shape)}"
            )
        if entry["format"] != format_name:
            problem = f"{entry['format']} does not fit the spec, which asks for {format_name}"
            raise PlaceError(below(here, "format"), problem)
        arrays[name] = decode_array(entry, here, limit=MAX_ELEMENTS)[np.newaxis]
    return Case(spec=spec, inputs=Inputs(**arrays))


def case_id(case: Case) -> str:
    """16 hex digits of the SHA-256 of the canonical form: the Spec, and each array's format, shape and exact bits.

    NaNs count as equal, -0.0 and 0.0 do not; memory layout of the arrays plays no part (the Spec's layouts do).
    """
    arrays = {}
    for name, array in case.inputs.items():
        digest = hashlib.sha256(exact_bits(array).tobytes()).hexdigest()
        arrays[name] = [of(array).name, list(array.shape[1:]), digest]
    canonical = json.dumps({"spec": spec_tree(case.spec), "inputs": arrays}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:16]


def verdict_tree(verdict: Verdict) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    tree: dict[str, Any] = {}
    for entry in fields(Verdict):
        value = getattr(verdict, entry.name)
        # By text: -0.0 equals the default 0.0, and must be written.
        if entry.default is not MISSING and str(value) == str(entry.default):
            continue
        if entry.name == "index":
            tree[entry.name] = [int(position) for position in value]
        elif isinstance(entry.default, float):
            tree[entry.name] = encode_number(value)
        elif isinstance(entry.default, int):
            tree[entry.name] = int(value)
        else:
            tree[entry.name] = clipped(value)
    return tree


def verdict_from_tree(tree: dict[str, Any], place: str) -> Verdict:
    values = dict(tree)
    for entry in fields(Verdict):
        if entry.name in tree and isinstance(entry.default, float):
            values[entry.name] = decode_number(tree[entry.name], below(place, entry.name))
        elif entry.name in tree and isinstance(entry.default, int):
            values[entry.name] = int(tree[entry.name])
    if "index" in values:
        values["index"] = tuple(int(position) for position in values["index"])
    return Verdict(**values)
