"""Arrays as Python expressions that evaluate to the same bits with NumPy alone, for scripts that others run.

    np.array([[10000.195], [9999.581]], np.float32)
    np.full((64, 1), 1000000.0, np.float32)
    np.resize(np.array([1.0, -1.0], np.float32), (1024, 4))
    np.frombuffer(zlib.decompress(base64.b64decode("…")), "<u4").view(np.float32).reshape((512, 8))

Small arrays are lists of the shortest decimals that read back to the same bits; larger ones are a formula where one
gives exactly their bits, and packed bytes otherwise. NumPy has no bfloat16: such an array becomes one of float32 with
the same values, every one of which float32 holds. A NaN becomes the plain quiet one.
"""

from __future__ import annotations

import base64
import math
import textwrap
import zlib
from collections.abc import Iterator

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array
from bnfuzz.casefile.exactarray import exact_bits, shortest
from bnfuzz.formats import Format

LISTED = 64
"""Arrays of at most so many elements are written out, whatever is in them."""

PERIOD = 16
"""Longest pattern that is looked for."""

EXCEPTIONS = 8
"""How often the rarer one of two values may occur where they are told apart by number."""

LINE = 100
"""Characters of a line."""

NAMED = 30
"""Of these the part that a name and a dtype may take."""


def array_literal(array: Array) -> str:
    """The expression; it needs `np`, and `base64` and `zlib` where it is packed."""
    kind = formats.of(array)
    if kind.name == "bfloat16":
        return array_literal(np.asarray(array, dtype=np.float32))
    if array.size == 0:
        return f"np.zeros({array.shape}, {_dtype(kind)})"
    if array.size <= LISTED:
        return f"np.array({_wrapped(array, kind)}, {_dtype(kind)})"
    for expression, values in _formulas(array, kind):
        if np.array_equal(exact_bits(values), exact_bits(array)):
            return expression
    return _packed(array, kind)


def number_literal(value: float, kind: Format) -> str:
    """The shortest expression that a NumPy conversion rounds to `value`, a number of the format."""
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(shortest(value, kind))


def _dtype(kind: Format) -> str:
    return f"np.{kind.name}"


def _wrapped(array: Array, kind: Format, margin: str = "") -> str:
    """`_nested`, broken into lines where it is longer than one."""
    line = _nested(array, kind)
    if len(line) <= LINE - NAMED - len(margin) or array.ndim == 0:
        return line
    inner = f"{margin}    "
    if array.ndim > 1:
        parts = "".join(f"{inner}{_wrapped(np.asarray(part), kind, inner)},\n" for part in array)
        return f"[\n{parts}{margin}]"
    body = textwrap.fill(line[1:-1], width=LINE, initial_indent=inner, subsequent_indent=inner, break_long_words=False)
    return f"[\n{body},\n{margin}]"


def _nested(array: Array, kind: Format) -> str:
    if array.ndim == 0:
        return number_literal(float(array), kind)
    return f"[{', '.join(_nested(np.asarray(part), kind) for part in array)}]"


def _formulas(array: Array, kind: Format) -> Iterator[tuple[str, Array]]:
    """Candidates, each with what it evaluates to: constant, two values of which one is rare, a repeated pattern."""
    flat, shape, name = array.ravel(), array.shape, _dtype(kind)
    bits = exact_bits(flat)

    def number(place: int) -> str:
        return number_literal(float(flat[place]), kind)

    yield f"np.full({shape}, {number(0)}, {name})", np.full(shape, flat[0], kind.dtype)
    distinct, places, counts = np.unique(bits, return_index=True, return_counts=True)
    if len(distinct) == 2 and counts.min() <= EXCEPTIONS:
        few, most = int(places[np.argmin(counts)]), int(places[np.argmax(counts)])
        rare = np.flatnonzero(bits == bits[few])
        chosen = f"np.isin(np.arange({flat.size}), {rare.tolist()})"
        values = np.where(bits == bits[few], flat[few], flat[most])
        yield (
            f"np.where({chosen}, {number(few)}, {number(most)}).astype({name}).reshape({shape})",
            values.reshape(shape),
        )
    for period in range(2, PERIOD + 1):
        if np.array_equal(bits[period:], bits[:-period]):
            pattern = f"np.array({_nested(flat[:period], kind)}, {name})"
            yield f"np.resize({pattern}, {shape})", np.resize(flat[:period], shape)
            return


def _packed(array: Array, kind: Format) -> str:
    bits = exact_bits(array)
    text = base64.b64encode(zlib.compress(bits.tobytes(), 9)).decode("ascii")
    lines = [text[start : start + LINE] for start in range(0, len(text), LINE)]
    quoted = "\n".join(f'    "{line}"' for line in lines)
    unsigned = f"<u{kind.bits // 8}"
    return (
        f'np.frombuffer(zlib.decompress(base64.b64decode(\n{quoted}\n)), "{unsigned}")'
        f".astype(np.uint{kind.bits}).view({_dtype(kind)}).reshape({array.shape})"
    )
