"""Numbers and arrays as JSON values that read back to the same bits in their format.

A small array is a list of numbers, each the shortest decimal that rounds to the element's bits, with "nan", "inf"
and "-inf" as strings and -0.0 kept. A large one is its bits: little-endian, zlib, base64, with a SHA-256 digest.
Every NaN becomes the format's positive quiet NaN without payload: sign and payload of a NaN are not kept.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import zlib
from typing import Any

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array
from bnfuzz.casefile.exactjson import PlaceError, below, shown
from bnfuzz.formats import Format

INLINE_WRITTEN = 256
"""Arrays of more elements are written packed."""

INLINE_READ = 65_536
"""Elements of a list that are accepted in reading (hand-written files)."""

_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def exact_bits(array: Array) -> Array:
    """The array's bits as unsigned little-endian integers, NaNs normalised."""
    kind = formats.of(array)
    bits = np.ascontiguousarray(array).view(kind.bits_dtype).astype(kind.bits_dtype.newbyteorder("<"))
    fraction = kind.precision - 1
    exponent = (1 << kind.bits - kind.precision) - 1 << fraction
    nan = (bits & bits.dtype.type((1 << kind.bits - 1) - 1)) > bits.dtype.type(exponent)
    bits[nan] = exponent | 1 << fraction - 1
    return bits


def encode_number(value: float) -> float | str:
    """A float64 as a JSON value."""
    number = float(value)
    if math.isnan(number):
        return "nan"
    return number if math.isfinite(number) else ("inf" if number > 0 else "-inf")


def decode_number(value: object, place: str) -> float:
    """The float64 of a JSON value; raises PlaceError where it is none."""
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise PlaceError(place, f'{shown(value)} is no number; write one, or "nan", "inf", "-inf"')


def shortest(value: float, kind: Format) -> float:
    """The float64 with the fewest decimal digits that rounds to `value`, a finite number of the format."""
    if kind.name == "float64":
        return value
    for digits in range(1, 17):
        candidate = float(f"{value:.{digits}g}")
        if _rounded(candidate, kind) == value:
            return candidate
    return value


def _rounded(value: float, kind: Format) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return formats.round_to(value, kind.name)


def encode_array(array: Array) -> dict[str, Any]:
    """An array as {"format", "shape", "values"}, or with "packed" and "sha256" in place of values when large."""
    kind = formats.of(array)
    tree: dict[str, Any] = {"format": kind.name, "shape": list(array.shape)}
    if array.size > INLINE_WRITTEN:
        raw = exact_bits(array).tobytes()
        packed = base64.b64encode(zlib.compress(raw, 9)).decode("ascii")
        return tree | {"packed": packed, "sha256": hashlib.sha256(raw).hexdigest()}
    numbers = [float(element) for element in array.ravel()]
    values = [shortest(number, kind) if math.isfinite(number) else encode_number(number) for number in numbers]
    return tree | {"values": values}


def decode_array(tree: dict[str, Any], place: str, *, limit: int) -> Array:
    """The array of a tree of that structure (checked before), of at most `limit` elements; raises PlaceError."""
    kind = formats.named(tree["format"])
    shape = tuple(int(size) for size in tree["shape"])
    size = math.prod(shape)
    if size > limit:
        raise PlaceError(below(place, "shape"), f"{size} elements; the limit is {limit}")
    if ("packed" in tree) == ("values" in tree):
        raise PlaceError(place, "give either values or packed, not both or none")
    if "packed" in tree:
        flat = _unpack(tree, place, kind, size)
    else:
        flat = _listed(tree["values"], below(place, "values"), kind, size)
    try:
        return flat.reshape(shape)
    except ValueError:
        raise PlaceError(below(place, "shape"), f"{shown(shape)} is too large an axis for an empty array") from None


def _listed(values: list[Any], place: str, kind: Format, size: int) -> Array:
    if len(values) != size:
        raise PlaceError(place, f"{len(values)} values, but the shape has {size} elements; correct either")
    numbers = np.array([decode_number(value, below(place, i)) for i, value in enumerate(values)], dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        array = numbers.astype(kind.dtype)
    back = array.astype(np.float64)
    lost = (np.isinf(back) & ~np.isinf(numbers)) | ((back == 0) & (numbers != 0))
    if lost.any():
        i = int(np.argmax(lost))
        remedy = 'write "inf" or "-inf"' if np.isinf(back[i]) else "write 0"
        raise PlaceError(below(place, i), f"{values[i]!r} becomes {back[i]} in {kind.name}; {remedy} if that is meant")
    return array


def _unpack(tree: dict[str, Any], place: str, kind: Format, size: int) -> Array:
    place = below(place, "packed")
    expected = size * kind.bits // 8
    remedy = "take the file from its source again"
    if "sha256" not in tree:
        raise PlaceError(place, "a packed array needs its sha256; " + remedy)
    try:
        compressed = base64.b64decode(tree["packed"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise PlaceError(place, f"no base64 ({error}); {remedy}") from None
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(compressed, expected + 1)
    except zlib.error as error:
        raise PlaceError(place, f"no zlib stream ({error}); {remedy}") from None
    if len(raw) != expected or not stream.eof or stream.unused_data:
        amount = "more" if len(raw) > expected or stream.unused_data else "fewer"
        raise PlaceError(place, f"holds {amount} than the {expected} bytes that format and shape ask for; {remedy}")
    digest = hashlib.sha256(raw).hexdigest()
    if digest != tree["sha256"]:
        raise PlaceError(place, f"has sha256 {digest}, not {shown(tree['sha256'])} as stated; {remedy}")
    bits = np.frombuffer(raw, dtype=kind.bits_dtype.newbyteorder("<")).astype(kind.bits_dtype)
    return bits.view(kind.dtype)
