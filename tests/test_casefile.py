"""Case files: exact round trips, a stable id, and a clear error for whatever cannot be read."""

from __future__ import annotations

import json
import math
import os
import random
import tracemalloc
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bnfuzz import casefile, formats, storedcase
from bnfuzz.case import Case, Cotangent, Inputs, Layout, Mode, Operation, Spec, batch_norm_spec, expected_arrays
from bnfuzz.casefile import CaseFile, Expectation, Origin, case_id, dumps, from_finding, loads, read
from bnfuzz.casetree import clipped
from bnfuzz.errors import CaseFileError, InternalError, UsageError
from bnfuzz.exactarray import exact_bits
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import FINDINGS, KINDS, Information, Regime, Verdict

SIGNATURE = "v1/flax/batch_norm/training/y/wrong/float32-float32-float32/offset"


def small_case(first: float = 10000.195) -> Case:
    spec = batch_norm_spec((2, 1), has_running=False, has_beta=False, cotangent="sum")
    x = np.array([[[first], [9999.581]]], dtype=np.float32)
    return Case(spec=spec, inputs=Inputs(x=x, gamma=np.full((1, 1), 3, np.float32)))


def small_file() -> CaseFile:
    wrong = Verdict(output="y", kind="wrong", severity=1e5, index=(0, 0), exact=2.99984, observed=290.9, n=2)
    fine = Verdict(output="dx", kind="ok", severity=0.25)
    finding = Finding(
        case=small_case(),
        backend="flax",
        verdicts=(wrong, fine),
        signature=SIGNATURE,
        environment={"python": "CPython 3.11"},
        confirmed=True,
        cause="one-pass variance",
        origin="seed 7, round 3",
    )
    return from_finding(finding, title="two close values", seed=7)


TREE: dict[str, Any] = json.loads(dumps(small_file()))


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


finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.floats()
format_names = st.sampled_from(get_args(formats.FormatName))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Cases of any operation and format with any bits; shrinks to zeros in a float16 batch norm."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    axes = st.lists(st.sampled_from(range(len(shape))), unique=True)
    steps = tuple(draw(st.lists(st.sampled_from(get_args(Mode)), min_size=1, max_size=3)))
    spec = Spec(
        operation=draw(st.sampled_from(get_args(Operation))),
        shape=shape,
        reduced_axes=tuple(sorted(draw(axes))),
        parameter_axes=tuple(axis - draw(st.sampled_from([0, len(shape)])) for axis in draw(axes)),
        data_format=draw(format_names),
        parameter_format=draw(format_names),
        statistics_format=draw(format_names),
        eps=draw(scalars),
        momentum=draw(scalars),
        has_gamma=draw(st.booleans()),
        has_beta=draw(st.booleans()),
        has_running="inference" in steps or draw(st.booleans()),
        steps=steps,
        cotangent=draw(st.sampled_from(get_args(Cotangent))),
        layout_x=draw(st.sampled_from(get_args(Layout))),
        layout_cotangent=draw(st.sampled_from(get_args(Layout))),
    )
    arrays = {}
    for name, (size, format_name) in expected_arrays(spec).items():
        kind = formats.named(format_name)
        arrays[name] = draw(hnp.arrays(kind.bits_dtype, (1, *size))).view(kind.dtype)
    return Case(spec=spec, inputs=Inputs(**arrays))


verdicts = st.builds(
    Verdict,
    output=st.sampled_from(["y", "dx", "call"]),
    kind=st.sampled_from(KINDS),
    severity=st.floats(),
    regime=st.sampled_from(get_args(Regime)),
    information=st.sampled_from(get_args(Information)),
    index=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    exact=st.floats(),
    observed=st.floats(),
    failing=st.integers(0, 10**6),
    why=st.text(max_size=20).map(clipped),
)


def same(first: object, second: object) -> bool:
    """Equality by what is shown, so that NaN equals NaN."""
    return repr(first) == repr(second)


@settings(max_examples=150, deadline=None)
@given(cases(), st.lists(verdicts, max_size=3).map(tuple), st.sampled_from(storedcase.STATES))
def test_what_is_written_reads_back(case: Case, judged: tuple[Verdict, ...], state: storedcase.State) -> None:
    file = CaseFile(
        case=case,
        state=state,
        origin=Origin(title="a", link="https://example.org/1", seed=-3, note="γ\nδ"),
        expectations=(
            Expectation(backend="jax*", versions=">=0.4,<0.6"),
            Expectation(backend="flax", findings={"y": "wrong"}, signature=SIGNATURE, why="x", confirmed=True),
        ),
        verdicts={"flax": judged} if judged else {},
        reference={"y": np.array([0.1, math.inf])},
    )
    text = dumps(file)
    back = loads(text, "here")
    assert same(back.case.spec, case.spec)
    for (name, array), (other, read_back) in zip(case.inputs.items(), back.case.inputs.items(), strict=True):
        assert (name, array.dtype, array.shape) == (other, read_back.dtype, read_back.shape)
        assert np.array_equal(exact_bits(array), exact_bits(read_back))
    assert back.id == file.id
    for name in ("state", "origin", "expectations", "verdicts", "reference"):
        assert same(getattr(back, name), getattr(file, name))
    assert dumps(back) == text


@given(st.randoms(use_true_random=False))
def test_the_id_does_not_depend_on_the_order_of_keys(shuffler: random.Random) -> None:
    def shuffled(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {key: shuffled(tree[key]) for key in shuffler.sample(sorted(tree), len(tree))}
        return [shuffled(item) for item in tree] if isinstance(tree, list) else tree

    assert loads(json.dumps(shuffled(TREE), indent=shuffler.choice([None, 1])), "here").id == TREE["id"]


def test_the_id_sees_every_bit_and_no_memory_layout() -> None:
    case = small_case()
    other = case.inputs.x.copy(order="F")[:, ::-1][:, ::-1]
    assert case_id(replace(case, inputs=replace(case.inputs, x=other))) == case_id(case)
    different = [
        small_case(10000.196),
        replace(case, spec=replace(case.spec, eps=1.0000000000000002e-5)),
        replace(case, spec=replace(case.spec, parameter_axes=(-1,))),
        replace(case, inputs=replace(case.inputs, gamma=np.full((1, 1), -0.0, np.float32))),
        replace(case, inputs=replace(case.inputs, gamma=np.full((1, 1), 0.0, np.float32))),
    ]
    assert len({case_id(case), *map(case_id, different)}) == 6


def test_the_id_is_the_same_in_every_release() -> None:
    assert case_id(small_case()) == TREE["id"] == "34121ac83f2f79e8"


def test_a_file_is_readable() -> None:
    lines = dumps(small_file()).splitlines()
    assert '      "x": {"format": "float32", "shape": [2, 1], "values": [10000.195, 9999.581]}' in lines
    assert max(map(len, lines)) <= 120


def test_large_arrays_are_packed() -> None:
    x = np.random.default_rng(0).standard_normal((1, 4096, 4)).astype(np.float32)
    spec = batch_norm_spec((4096, 4), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
    text = dumps(CaseFile(case=Case(spec=spec, inputs=Inputs(x=x))))
    assert '"packed"' in text
    assert len(text) < x.nbytes * 1.4 + 2000
    assert np.array_equal(loads(text, "here").case.inputs.x, x)


def test_the_schema_speaks_the_language_of_the_code() -> None:
    schema = casefile._validator().schema
    spec, verdict = (schema["$defs"][name] for name in ("spec", "verdict"))
    names = [field.name for field in fields(Spec)]
    assert sorted(spec["required"]) == sorted(spec["properties"]) == sorted(names)
    assert sorted(verdict["properties"]) == sorted(field.name for field in fields(Verdict))
    assert verdict["properties"]["kind"]["enum"] == list(KINDS)
    assert verdict["properties"]["regime"]["enum"] == list(get_args(Regime))
    assert verdict["properties"]["information"]["enum"] == list(get_args(Information))
    assert set(schema["$defs"]["finding_kind"]["enum"]) == FINDINGS
    assert schema["$defs"]["format"]["enum"] == list(formats.FORMATS)
    assert schema["$defs"]["layout"]["enum"] == list(get_args(Layout))
    assert spec["properties"]["operation"]["enum"] == list(get_args(Operation))
    assert spec["properties"]["cotangent"]["enum"] == list(get_args(Cotangent))
    assert spec["properties"]["steps"]["items"]["enum"] == list(get_args(Mode))
    assert set(schema["properties"]["state"]["enum"]) == set(storedcase.STATES)
    assert set(schema["properties"]["case"]["properties"]["inputs"]["properties"]) == {
        field.name for field in fields(Inputs)
    }
    casefile._validator().check_schema(schema)


HOSTILE: dict[str, tuple[dict[str, Any], str, str]] = {
    "no schema": (changed("schema"), "$.schema", "give the integer 1"),
    "schema as text": (changed("schema", "1"), "$.schema", "give the integer 1"),
    "older schema": (changed("schema", 0), "$.schema", "run `bnfuzz corpus migrate`"),
    "newer schema": (changed("schema", 2), "$.schema", "upgrade bnfuzz"),
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
    monkeypatch.setattr(casefile, "MAX_BYTES", 100)
    (tmp_path / "x.json").write_text(" " * 101)
    with pytest.raises(CaseFileError, match="is larger than 100 bytes, the limit; shrink the case"):
        read(tmp_path / "x.json")
    with pytest.raises(UsageError, match="the limit is 100: shrink it first"):
        dumps(small_file())


def test_a_zip_bomb_takes_little_memory() -> None:
    from base64 import b64encode
    from zlib import compress

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
    text = dumps(small_file()).encode()
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


def test_texts_from_frameworks_are_made_fit() -> None:
    noisy = "\x1b[31mboom\ud800" + "x" * 50_000
    file = replace(small_file(), environment={"flag": noisy}, origin=Origin(title=noisy, campaign=noisy, note=noisy))
    file = replace(file, verdicts={"flax": (Verdict(output="y", kind="error", why=noisy),)})
    back = loads(dumps(file), "here")
    assert back.verdicts["flax"][0].why.startswith("�[31mboom�xxx")
    assert back.verdicts["flax"][0].why.endswith("x…")
    assert len(back.origin.title) == 300


def test_a_writer_that_loses_bits_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    file = small_file()
    monkeypatch.setattr("bnfuzz.exactarray.shortest", lambda value, kind: float(f"{value:.3g}"))
    with pytest.raises((InternalError, CaseFileError)):
        dumps(file)


def test_migration_steps_are_taken_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {-1: lambda tree: tree | {"state": "opened"}, 0: lambda tree: tree | {"state": tree["state"][:4]}}
    monkeypatch.setattr(casefile, "MIGRATIONS", steps)
    old = json.dumps(changed("schema", -1))
    assert loads(old, "old.json", migrate=True).state == "open"
    with pytest.raises(CaseFileError, match="run `bnfuzz corpus migrate`"):
        loads(old, "old.json")
    with pytest.raises(CaseFileError, match="no migration from it is known"):
        loads(json.dumps(changed("schema", -5)), "old.json", migrate=True)
