"""Arrays keep their bits in JSON, in every format."""

from __future__ import annotations

import math
import zlib
from base64 import b64encode
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bnfuzz import formats
from bnfuzz.casefile import exactarray
from bnfuzz.casefile.exactarray import decode_array, decode_number, encode_array, encode_number, exact_bits, shortest
from bnfuzz.casefile.exactjson import PlaceError, parse, render

LIMIT = 1 << 20


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Arrays of any format and shape with any bits; shrinks to an empty or zero float16 array."""
    kind = formats.named(draw(st.sampled_from(sorted(formats.FORMATS))))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    return draw(hnp.arrays(kind.bits_dtype, shape)).view(kind.dtype)


def round_trip(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    back = decode_array(parse(render(encode_array(array))), "$", limit=LIMIT)
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    return back


@given(arrays())
def test_bits_survive_as_numbers_and_packed(array: np.ndarray[Any, Any]) -> None:
    assert np.array_equal(exact_bits(round_trip(array)), exact_bits(array))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exactarray, "INLINE_WRITTEN", -1)
        assert "packed" in encode_array(array)
        assert np.array_equal(round_trip(array).ravel().view(exact_bits(array).dtype), exact_bits(array).ravel())


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_number_of_a_sixteen_bit_format(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exactarray, "INLINE_WRITTEN", 1 << 16)
    array = np.arange(1 << 16, dtype=np.uint16).view(formats.named(name).dtype)
    assert np.array_equal(exact_bits(round_trip(array)), exact_bits(array))


@pytest.mark.parametrize("kind", formats.FORMATS.values(), ids=lambda kind: kind.name)
def test_the_edges_of_each_format(kind: formats.Format) -> None:
    edges = [0.0, -0.0, kind.smallest_subnormal, kind.smallest_normal, kind.largest, 1 + 2 * kind.unit_roundoff]
    array = np.array([*edges, *(-edge for edge in edges), math.inf, -math.inf, math.nan]).astype(kind.dtype)
    assert np.array_equal(round_trip(array).view(kind.bits_dtype), exact_bits(array))


def test_every_nan_becomes_the_plain_one() -> None:
    payloads = np.array([0x7FC00001, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], dtype=np.uint32).view(np.float32)
    assert set(exact_bits(payloads).tolist()) == {0x7FC00000}
    assert set(exact_bits(round_trip(payloads)).tolist()) == {0x7FC00000}


SHORT = [
    ("float32", 0.10000000149011612, 0.1),
    ("float32", 16777216.0, 16777216.0),
    ("float32", 3.4028234663852886e38, 3.4028235e38),
    ("float32", 1.401298464324817e-45, 1e-45),
    ("float16", 0.0999755859375, 0.1),
    ("float16", 65504.0, 65500.0),
    ("bfloat16", 9984.0, 10000.0),
    ("bfloat16", 3.140625, 3.14),
    ("float64", 0.1, 0.1),
    ("float64", 5e-324, 5e-324),
]


@pytest.mark.parametrize(("name", "value", "expected"), SHORT)
def test_the_shortest_decimal(name: str, value: float, expected: float) -> None:
    assert shortest(value, formats.named(name)) == expected


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_no_decimal_is_much_longer_than_numpys(value: float) -> None:
    ours = repr(shortest(value, formats.named("float32")))
    theirs = np.format_float_scientific(np.float32(value), unique=True, trim="-")
    digits = [len(text.lower().split("e")[0].replace(".", "").strip("-0")) for text in (ours, theirs)]
    assert digits[0] <= digits[1] + 1
    assert digits[0] <= 9


@given(st.floats())
def test_numbers(value: float) -> None:
    back = decode_number(parse(render([encode_number(value)]))[0], "$")
    if math.isnan(value):
        assert math.isnan(back)
    else:
        assert (back, math.copysign(1, back)) == (value, math.copysign(1, value))


@pytest.mark.parametrize("value", ["NaN", "1.0", "", None, True, [], {}])
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(PlaceError, match=r'\$\.x: .* is no number; write one, or "nan"'):
        decode_number(value, "$.x")


def packed(raw: bytes, **others: Any) -> dict[str, Any]:
    tree = {
        "format": "float32",
        "shape": [len(raw) // 4],
        "packed": b64encode(zlib.compress(raw, 9)).decode(),
        "sha256": sha256(raw).hexdigest(),
    }
    return {name: value for name, value in (tree | others).items() if value is not None}


RAW = np.arange(1000, dtype="<f4").tobytes()
LISTED: dict[str, Any] = {"format": "float16", "shape": [2, 1]}

REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "too few values": (LISTED | {"values": [1]}, "$.values", "1 values, but the shape has 2"),
    "too many values": (LISTED | {"values": [1, 2, 3]}, "$.values", "3 values"),
    "nested values": (LISTED | {"values": [[1], [2]]}, "$.values[0]", "is no number"),
    "a word": (LISTED | {"values": [1, "one"]}, "$.values[1]", "is no number"),
    "too large for the format": (LISTED | {"values": [1, 1e6]}, "$.values[1]", 'becomes inf in float16; write "inf"'),
    "too small for the format": (LISTED | {"values": [-1e-9, 1]}, "$.values[0]", "becomes -0.0 in float16; write 0"),
    "neither": (LISTED, "$", "either values or packed"),
    "both": (packed(RAW, values=[1.0]), "$", "either values or packed"),
    "a billion elements": (LISTED | {"shape": [10**9], "values": []}, "$.shape", "limit is"),
    "impossible empty shape": (LISTED | {"shape": [0, 10**18, 10**18], "values": []}, "$.shape", "too large an axis"),
    "no base64": (packed(RAW, packed="!" * 40), "$.packed", "no base64"),
    "not even letters": (packed(RAW, packed="é"), "$.packed", "no base64"),
    "no zlib": (packed(RAW, packed=b64encode(b"hello").decode()), "$.packed", "no zlib stream"),
    "cut short": (packed(RAW, packed=b64encode(zlib.compress(RAW)[:-9]).decode()), "$.packed", "holds fewer"),
    "more follows": (packed(RAW, packed=b64encode(zlib.compress(RAW) + b"x").decode()), "$.packed", "holds more"),
    "too long": (packed(RAW, shape=[999]), "$.packed", "holds more"),
    "too short": (packed(RAW, shape=[1001]), "$.packed", "holds fewer"),
    "wrong digest": (packed(RAW, sha256="0" * 64), "$.packed", "as stated; take the file from its source again"),
    "no digest": (packed(RAW, sha256=None), "$.packed", "needs its sha256"),
    "zip bomb": (packed(bytes(1 << 26), shape=[10]), "$.packed", "holds more than the 40 bytes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_place_and_remedy(name: str) -> None:
    tree, place, problem = REFUSED[name]
    with pytest.raises(PlaceError) as caught:
        decode_array(tree, "$", limit=LIMIT)
    assert caught.value.place == place
    assert problem in caught.value.problem
