"""Frames read back bit for bit, and broken ones are refused."""

from __future__ import annotations

import json
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from bnfuzz.backends import wire
from bnfuzz.backends.registry import get, names
from bnfuzz.case import Spec, batch_norm_spec
from bnfuzz.conventions import Conventions, Summation

SHAPES = st.one_of(st.just(()), npst.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
TRAVELLING = ["float16", "float32", "float64", "bfloat16", "int32", "uint16", "bool", "complex64"]


def reader(data: bytes):
    position = 0

    def read(count: int) -> bytes:
        nonlocal position
        piece = data[position : position + count]
        position += count
        if len(piece) != count:
            raise EOFError
        return piece

    return read


def array_of(format_name: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    dtype = np.dtype(ml_dtypes.bfloat16) if format_name == "bfloat16" else np.dtype(format_name)
    count = int(np.prod(shape, dtype=int)) * dtype.itemsize
    raw = random.integers(0, 2 if format_name == "bool" else 256, size=count, dtype=np.uint8)
    return np.frombuffer(raw.tobytes(), dtype=dtype).reshape(shape)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TRAVELLING), SHAPES), max_size=4), st.integers(0, 2**32))
def test_arrays_come_back_bit_for_bit(kinds, seed):
    random = np.random.default_rng(seed)
    arrays = {f"a{index}": array_of(kind, shape, random) for index, (kind, shape) in enumerate(kinds)}
    header, back = wire.decode(reader(wire.encode({"do": "run", "eps": 1e-5}, arrays)))
    assert header == {"do": "run", "eps": 1e-5}
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert (back[name].dtype, back[name].shape) == (array.dtype, array.shape)
        assert back[name].tobytes() == array.tobytes()


def test_other_layouts_and_byte_orders_travel_as_values():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for sent in (array.T, array[:, ::-1], np.broadcast_to(array[:1], (4, 3)), array.astype(">f4")):
        _, back = wire.decode(reader(wire.encode({}, {"a": sent})))
        assert back["a"].tolist() == sent.tolist()


def test_bfloat16_bits_without_ml_dtypes_travel_as_bfloat16():
    bits = np.array([0x3F80, 0xFFFF, 0], np.uint16).view(wire.BFLOAT16_BITS)
    _, back = wire.decode(reader(wire.encode({}, {"a": bits})))
    assert back["a"].dtype == ml_dtypes.bfloat16
    assert back["a"].tobytes() == bits.tobytes()


@pytest.mark.parametrize("array", [np.array(["text"]), np.array([None]), np.zeros(2, "M8[s]")])
def test_what_is_no_number_cannot_travel(array):
    with pytest.raises(wire.WireError, match="only arrays of numbers"):
        wire.encode({}, {"a": array})


def frame(rows: list, body: bytes = b"") -> bytes:
    text = json.dumps({"arrays": rows}).encode()
    return wire.MAGIC + struct.pack("<I", len(text)) + text + body


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"HTTP/1.1", id="magic"),
        pytest.param(wire.MAGIC + struct.pack("<I", wire.MAX_HEADER + 1), id="header-too-long"),
        pytest.param(wire.MAGIC + struct.pack("<I", 4) + b"{{{{", id="not-json"),
        pytest.param(wire.MAGIC + struct.pack("<I", 2) + b"[]", id="not-an-object"),
        pytest.param(frame([["a", "float32", [2], 9]]), id="length-against-shape"),
        pytest.param(frame([["a", "object", [1], 8]]), id="format"),
        pytest.param(frame([["a", "float32", [-1, -1], 4]]), id="negative-size"),
        pytest.param(frame([["a", "float32", [0], 0], ["a", "float32", [0], 0]]), id="twice"),
        pytest.param(frame([["a", "float64", [1 << 30], 1 << 33]]), id="too-many-bytes"),
    ],
)
def test_broken_frames_are_refused(data):
    with pytest.raises(wire.WireError):
        wire.decode(reader(data))


def test_a_frame_cut_short_is_an_end_of_stream():
    whole = wire.encode({}, {"a": np.zeros(3)})
    with pytest.raises(EOFError):
        wire.decode(reader(whole[:-1]))


@pytest.mark.parametrize("eps", [1e-5, 0.1 + 0.2, 0.0, 5e-324, float("inf"), None])
def test_specs_come_back_equal(eps):
    spec = batch_norm_spec((2, 3, 0), -2, eps=eps, steps=("training", "inference"), data_format="float16")
    assert wire.from_json(Spec, json.loads(json.dumps(wire.to_json(spec)))) == spec


@pytest.mark.parametrize("name", names())
def test_conventions_come_back_equal(name):
    conventions = get(name).conventions
    assert wire.from_json(Conventions, json.loads(json.dumps(wire.to_json(conventions)))) == conventions
    lanes = Conventions(source="s", summation=Summation("lanes", 8))
    assert wire.from_json(Conventions, json.loads(json.dumps(wire.to_json(lanes)))) == lanes


def test_an_unknown_field_is_refused():
    with pytest.raises(wire.WireError, match="no field sharpness"):
        wire.from_json(Spec, {"sharpness": 1})
