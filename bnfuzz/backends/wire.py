"""Frames between parent and worker: a JSON header and raw array bytes, nothing that runs code.

    magic (4) | header length (4, little-endian) | header (JSON) | bytes of the arrays, in the header's order

The two sides may hold different NumPy versions, and one may lack ml_dtypes: bfloat16 travels as its bits,
which that side sees as elements of `BFLOAT16_BITS`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

import numpy as np

from bnfuzz.case import Array, Spec
from bnfuzz.conventions import Conventions, Summation
from bnfuzz.errors import BnfuzzError

MAGIC = b"BNF1"
MAX_HEADER = 1 << 22
MAX_BYTES = 1 << 32
MAX_RANK = 32

BFLOAT16_BITS = np.dtype([("bfloat16", "<u2")])
"""What bfloat16 elements are where ml_dtypes is missing."""

_SIZES = {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64), "complex": (64, 128)}
PLAIN = frozenset(["bool", *(f"{kind}{bits}" for kind, sizes in _SIZES.items() for bits in sizes)])

Header = dict[str, Any]
Record = TypeVar("Record", Spec, Conventions)


class WireError(BnfuzzError):
    """Bytes that are no frame, or an array that cannot travel."""


def bfloat16_dtype() -> np.dtype[Any]:
    """ml_dtypes' bfloat16, or the plain bits without ml_dtypes."""
    try:
        import ml_dtypes
    except ImportError:
        return BFLOAT16_BITS
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def format_of(name: str, array: Array) -> str:
    """The format name that the array travels under; raises WireError for objects, strings and the like."""
    if array.dtype == BFLOAT16_BITS or array.dtype.name == "bfloat16":
        return "bfloat16"
    if array.dtype.name not in PLAIN or array.ndim > MAX_RANK:
        raise WireError(f"{name} has dtype {array.dtype} and rank {array.ndim}; only arrays of numbers can travel")
    return str(array.dtype.name)


def encode(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """One frame. `header` holds JSON values; arrays of any layout are sent in C order, bit for bit."""
    rows, blobs = [], []
    for name, array in arrays.items():
        format_name = format_of(name, array)
        blob = (
            array.tobytes() if array.dtype.byteorder != ">" else array.astype(array.dtype.newbyteorder("<")).tobytes()
        )
        rows.append([name, format_name, list(array.shape), len(blob)])
        blobs.append(blob)
    text = json.dumps({**header, "arrays": rows}).encode()
    if len(text) > MAX_HEADER or sum(map(len, blobs)) > MAX_BYTES:
        raise WireError(f"a frame of {len(text)} + {sum(map(len, blobs))} bytes is larger than the limit")
    return b"".join([MAGIC, struct.pack("<I", len(text)), text, *blobs])


def decode(read: Callable[[int], bytes]) -> tuple[Header, dict[str, Array]]:
    """The next frame. `read(n)` gives exactly n bytes or raises. The arrays are read-only."""
    start = read(8)
    if start[:4] != MAGIC:
        raise WireError(f"a frame starts with {start[:4]!r}, not {MAGIC!r}")
    (length,) = struct.unpack("<I", start[4:])
    if length > MAX_HEADER:
        raise WireError(f"a header of {length} bytes is larger than the limit of {MAX_HEADER}")
    try:
        header = json.loads(read(length))
        rows = [(str(n), str(f), tuple(map(int, s)), int(b)) for n, f, s, b in header.pop("arrays")]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WireError(f"a header cannot be read: {error}") from error
    arrays: dict[str, Array] = {}
    total = 0
    for name, format_name, shape, nbytes in rows:
        dtype = _dtype_of(format_name)
        count = int(np.prod(shape, dtype=object)) if shape else 1
        total += nbytes
        if name in arrays or len(shape) > MAX_RANK or min(shape, default=0) < 0:
            raise WireError(f"array {name} of shape {shape} comes twice or has an impossible shape")
        if count * dtype.itemsize != nbytes or total > MAX_BYTES:
            raise WireError(f"array {name} of shape {shape} and format {format_name} cannot have {nbytes} bytes")
        arrays[name] = np.frombuffer(read(nbytes), dtype=dtype, count=count).reshape(shape)
    return header, arrays


def _dtype_of(format_name: str) -> np.dtype[Any]:
    if format_name == "bfloat16":
        return bfloat16_dtype()
    if format_name not in PLAIN:
        raise WireError(f"format {format_name!r} is unknown")
    return np.dtype(format_name)


def to_json(record: Spec | Conventions) -> Header:
    """The fields as JSON values; floats keep their bits (Python writes the shortest form that reads back)."""
    return asdict(record)


def from_json(kind: type[Record], values: Mapping[str, Any]) -> Record:
    """What `to_json` wrote; raises WireError where a field is unknown."""
    known = {field.name for field in fields(kind)}
    if not set(values) <= known:
        raise WireError(f"{kind.__name__} has no field {', '.join(sorted(set(values) - known))}")
    frozen = {name: _tuples(value) for name, value in values.items()}
    if isinstance(frozen.get("summation"), dict):
        frozen["summation"] = Summation(**frozen["summation"])
    return kind(**frozen)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, (list, tuple)) else value
