"""Case files: exact round trips, a stable id, and a clear error for whatever cannot be read."""

from __future__ import annotations

import json
import math
import random
from dataclasses import fields, replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bnfuzz import formats
from bnfuzz.case import Case, Cotangent, Inputs, Layout, Mode, Operation, Spec, batch_norm_spec, expected_arrays
from bnfuzz.casefile import (
    CaseFile,
    Descent,
    Expectation,
    Origin,
    case_id,
    dumps,
    from_finding,
    loads,
    migrations,
    stored,
)
from bnfuzz.casefile.exactarray import exact_bits
from bnfuzz.casefile.tree import clipped
from bnfuzz.errors import CaseFileError, InternalError
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
@given(cases(), st.lists(verdicts, max_size=3).map(tuple), st.sampled_from(stored.STATES))
def test_what_is_written_reads_back(case: Case, judged: tuple[Verdict, ...], state: stored.State) -> None:
    file = CaseFile(
        case=case,
        state=state,
        descent=Descent(origin="0" * 16, severity=math.inf, steps=("fewer rows",), finished=True) if judged else None,
        origin=Origin(title="a", link="https://example.org/1", seed=2**100, note="γ\nδ"),
        expectations=(
            Expectation(backend="jax*", versions=">=0.4,<0.6"),
            Expectation(
                backend="flax", findings={"y": "wrong"}, signature=SIGNATURE, why="x", cause="one pass", confirmed=True
            ),
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
    for name in ("state", "origin", "descent", "expectations", "verdicts", "reference"):
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
    schema = migrations.validator(migrations.SCHEMA).schema
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
    assert set(schema["properties"]["state"]["enum"]) == set(stored.STATES)
    assert set(schema["properties"]["case"]["properties"]["inputs"]["properties"]) == {
        field.name for field in fields(Inputs)
    }
    migrations.validator(migrations.SCHEMA).check_schema(schema)


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
    monkeypatch.setattr("bnfuzz.casefile.exactarray.shortest", lambda value, kind: float(f"{value:.3g}"))
    with pytest.raises((InternalError, CaseFileError)):
        dumps(file)
