"""Case files from strangers: whatever cannot be read gives an error with file, place and remedy, in bounded room."""

from __future__ import annotations

import json
import os
import random
import tracemalloc
from base64 import b64encode
from pathlib import Path
from typing import Any
from zlib import compress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.casefile import case_id, dumps, files, loads, read
from bnfuzz.errors import CaseFileError, UsageError

TEXT = """\
{
  "case": {
    "inputs": {
      "gamma": {"format": "float32", "shape": [1], "values": [3.0]},
      "x": {"format": "float32", "shape": [2, 1], "values": [10000.195, 9999.581]}
    },
    "spec": {
      "cotangent": "sum",
      "data_format": "float32",
      "eps": 1e-05,
      "has_beta": false,
      "has_gamma": true,
      "has_running": false,
      "layout_cotangent": "contiguous",
      "layout_x": "contiguous",
      "momentum": 0.1,
      "operation": "batch_norm",
      "parameter_axes": [1],
      "parameter_format": "float32",
      "reduced_axes": [0],
      "shape": [2, 1],
      "statistics_format": "float32",
      "steps": ["training"]
    }
  },
  "environment": {"python": "CPython 3.11"},
  "expectations": [
    {
      "backend": "flax",
      "cause": "one-pass variance",
      "confirmed": true,
      "expect": {"y": "wrong"},
      "signature": "v1/flax/batch_norm/training/y/wrong/float32-float32-float32/offset"
    }
  ],
  "id": "34121ac83f2f79e8",
  "origin": {"campaign": "seed 7, round 3", "seed": 7, "title": "two close values"},
  "schema": 2,
  "state": "open",
  "verdicts": {
    "flax": [
      {
        "exact": 2.99984,
        "index": [0, 0],
        "kind": "wrong",
        "n": 2,
        "observed": 290.9,
        "output": "y",
        "severity": 100000.0
      },
      {"kind": "ok", "output": "dx", "severity": 0.25}
    ]
  }
}
"""
TREE: dict[str, Any] = json.loads(TEXT)


def changed(path: str, value: object = None) -> dict[str, Any]:
    """A copy of TREE with the item at the dotted path set, or deleted where the value is None."""
    tree = json.loads(json.dumps(TREE))
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    inner = tree
    for step in steps:
        inner = inner[step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return tree


def test_the_untouched_file_is_readable_and_in_the_writers_own_layout() -> None:
    assert dumps(loads(TEXT, "x.json")) == TEXT


HOSTILE: dict[str, tuple[dict[str, Any], str, str]] = {
    "no schema": (changed("schema"), "$.schema", "give the integer 2"),
    "schema as text": (changed("schema", "2"), "$.schema", "give the integer 2"),
    "older schema": (changed("schema", 0), "$.schema", "older than 1, the oldest that is read"),
    "a new field in an old file": (
        changed("schema", 1) | {"descent": {"from": "0" * 16, "severity": 2.0}},
        "$",
        "'descent' was unexpected",
    ),
    "descent from nowhere": (changed("descent", {"from": "x", "severity": 1.0}), "$.descent.from", "does not match"),
    "newer schema": (changed("schema", 3), "$.schema", "upgrade bnfuzz"),
    "edited value": (changed("case.inputs.x.values.0", 10000.2), "$.id", "leave the line `id` out"),
    "made-up id": (changed("id", "0" * 16), "$.id", "leave the line `id` out"),
    "path as id": (changed("id", "../../etc/passwd"), "$.id", "does not match"),
    "unknown key": (changed("exec", "import os"), "$", "'exec' was unexpected"),
    "no case": (changed("case"), "$", "'case' is a required property"),
    "case as list": (changed("case", [1]), "$.case", "is not of type 'object'"),
    "no x": (changed("case.inputs.x"), "$.case.inputs", "'x' is a required property"),
    "unknown input": (changed("case.inputs.z", {}), "$.case.inputs", "'z' was unexpected"),
    "missing input": (changed("case.inputs.gamma"), "$.case.inputs", "gamma is missing"),
    "extra input": (changed("case.inputs.beta", TREE["case"]["inputs"]["gamma"]), "$.case.inputs.beta", "leave it out"),
    "wrong shape": (changed("case.inputs.x.shape", [1, 2]), "$.case.inputs.x.shape", "which asks for [2, 1]"),
    "wrong format": (changed("case.inputs.x.format", "float64"), "$.case.inputs.x.format", "asks for float32"),
    "unknown format": (changed("case.inputs.x.format", "float8"), "$.case.inputs.x.format", "'float8' is not one of"),
    "negative size": (changed("case.spec.shape", [-2, 1]), "$.case.spec.shape[0]", "less than the minimum"),
    "a billion elements": (changed("case.spec.shape", [10**9, 1]), "$.case.spec", "the limit is"),
    "rank 9": (changed("case.spec.shape", [1] * 9), "$.case.spec.shape", "too long"),
    "a million steps": (changed("case.spec.steps", ["training"] * 10**5), "$.case.spec.steps", "too long"),
    "many large steps": (
        changed("case.spec", TREE["case"]["spec"] | {"shape": [1 << 20, 1], "steps": ["training"] * 999}),
        "$.case.inputs",
        "all arrays together",
    ),
    "huge axis": (changed("case.spec.reduced_axes", [1e30]), "$.case.spec.reduced_axes[0]", "greater than the maximum"),
    "huge size": (changed("case.spec.shape", [1e30, 1]), "$.case.spec.shape[0]", "greater than the maximum"),
    "huge index": (changed("verdicts.flax.0.index", [1e20]), "$.verdicts.flax[0].index[0]", "greater than the max"),
    "huge seed": (changed("origin.seed", 1e39), "$.origin.seed", "greater than the maximum"),
    "axis outside": (changed("case.spec.reduced_axes", [7]), "$.case.spec", "must ascend within 0..1"),
    "half an axis": (changed("case.spec.reduced_axes", [0.5]), "$.case.spec.reduced_axes[0]", "not of type 'integer'"),
    "no eps": (changed("case.spec.eps"), "$.case.spec", "'eps' is a required property"),
    "eps as word": (changed("case.spec.eps", "tiny"), "$.case.spec.eps", "is not one of ['nan', 'inf', '-inf']"),
    "value as object": (changed("case.inputs.x.values.1", {"a": 1}), "$.case.inputs.x.values[1]", "is no number"),
    "unknown state": (changed("state", "closed"), "$.state", "is not one of"),
    "unknown kind": (changed("expectations.0.expect.y", "bad"), "$.expectations[0].expect.y", "is not one of"),
    "empty expectation": (changed("expectations.0.expect", {}), "$.expectations[0].expect", "should be non-empty"),
    "unknown word": (changed("expectations.0.expect", "fine"), "$.expectations[0].expect", "'ok' was expected"),
    "bad range": (changed("expectations.0.versions", "new"), "$.expectations[0]", "no version range; write one"),
    "bad signature": (changed("expectations.0.signature", "../x"), "$.expectations[0].signature", "does not match"),
    "script as link": (changed("origin.link", "javascript:alert(1)"), "$.origin.link", "does not match"),
    "verdict of no kind": (changed("verdicts.flax.0.kind"), "$.verdicts.flax[0]", "required property"),
    "large reference": (
        changed("reference", {"y": {"format": "float64", "shape": [10**6], "packed": "", "sha256": "0" * 64}}),
        "$.reference.y.shape",
        "the limit is",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_does_not_fit_is_named_with_place_and_remedy(name: str) -> None:
    tree, place, problem = HOSTILE[name]
    with pytest.raises(CaseFileError) as caught:
        loads(json.dumps(tree), "folder/x.json")
    assert str(caught.value).startswith(f"folder/x.json: at {place}: ")
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\xff\xfe{\x00}\x00", "byte 0 is no UTF-8; save the file as UTF-8"),
        (b"\x80\x04\x95pickle", "byte 0 is no UTF-8"),
        (b"[]", "at $: [] is no case file; it must be one JSON object"),
        (b"null", "at $: None is no case file"),
        (b"", "at line 1 column 1"),
        (b"[" * 200_000, "at $: nested too deeply"),
        (b'{"schema": 1, "schema": 1}', "at $.schema: this key is given twice"),
    ],
)
def test_files_that_are_no_case_file(data: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(CaseFileError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {problem}")


def test_things_that_are_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "endless.json").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "loop", "endless", "missing", "nul\0"):
        with pytest.raises(CaseFileError, match=r"(is no regular file; remove it|cannot be read .*; check the name)"):
            read(tmp_path / f"{name}.json")


def test_files_above_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    (tmp_path / "x.json").write_text(" " * 101)
    with pytest.raises(CaseFileError, match="is larger than 100 bytes, the limit; shrink the case"):
        read(tmp_path / "x.json")
    with pytest.raises(UsageError, match="the limit is 100: shrink it first"):
        dumps(loads(TEXT, "x.json"))


def test_a_zip_bomb_takes_little_memory() -> None:
    bomb = b64encode(compress(bytes(1 << 26), 9)).decode()
    array = {"format": "float32", "shape": [2, 1], "packed": bomb, "sha256": "0" * 64}
    text = json.dumps(changed("case.inputs.x", array))
    tracemalloc.start()
    try:
        with pytest.raises(CaseFileError, match="holds more than the 8 bytes"):
            loads(text, "bomb.json")
        assert tracemalloc.get_traced_memory()[1] < 8 * len(text) + (1 << 22)
    finally:
        tracemalloc.stop()


def test_a_thousand_corrupted_files() -> None:
    rng = random.Random(20240)
    text = TEXT.encode()
    words = [b"NaN", b"1e999", b"null", b'"', b"{", b"]", b",", b"\x00", b"\xff", b"9" * 30, b"[" * 50, b"\\u0000"]
    messages = []
    for _ in range(1000):
        data = bytearray(text)
        for _ in range(rng.randint(1, 3)):
            at, size = rng.randrange(len(data)), rng.randint(0, 20)
            match rng.randrange(4):
                case 0:
                    data[at] ^= 1 << rng.randrange(8)
                case 1:
                    data[at : at + size] = rng.choice(words)
                case 2:
                    data[at:at] = data[rng.randrange(len(data)) :][:size]
                case _:
                    del data[at : at + size]
        try:
            file = loads(data.decode("utf-8", errors="surrogateescape"), "corpus/x.json")
        except CaseFileError as error:
            messages.append(str(error))
        else:
            # Only what is no part of the case can have changed.
            assert file.id == case_id(file.case)
            dumps(file)
    assert len(messages) > 800
    assert all(message.startswith("corpus/x.json: at ") for message in messages)
    assert max(map(len, messages)) < 800


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path] + [place for key, item in items for place in places(item, (*path, key))]


@settings(deadline=None)
@given(st.sampled_from(places(TREE)[1:]), json_values)
def test_any_value_at_any_place(place: tuple[Any, ...], value: object) -> None:
    tree = json.loads(json.dumps(TREE))
    inner = tree
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    try:
        file = loads(json.dumps(tree), "x.json")
    except CaseFileError as error:
        message = str(error)
    else:
        message = f"x.json: at $ {loads(dumps(file), 'x.json').id}"
    assert message.startswith("x.json: at $")
