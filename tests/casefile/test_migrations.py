"""Older structures: every file of theirs is read, says the same as before, and is the same case."""

from __future__ import annotations

import copy
import json
from importlib import resources
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.case import Case, Inputs, batch_norm_spec
from bnfuzz.casefile import CaseFile, Descent, Expectation, Origin, dumps, loads
from bnfuzz.casefile.migrations import SCHEMA, STEPS, check, migrated, validator
from bnfuzz.errors import CaseFileError

SIGNATURE = "v1/flax/batch_norm/training/y/wrong/float32-float32-float32/offset"
texts = st.sampled_from(["", "one pass", "γ\nδ"])


@st.composite
def files(draw: st.DrawFn) -> CaseFile:
    """Stored cases with and without campaign, cause and reason; shrinks to a bare one."""
    spec = batch_norm_spec((2, 1), has_gamma=False, has_beta=False, has_running=False, cotangent="sum")
    x = np.array([[[draw(st.floats(width=32))], [0.0]]], dtype=np.float32)
    entry = st.builds(
        Expectation,
        backend=st.sampled_from(["flax", "jax*"]),
        findings=st.sampled_from([{}, {"y": "wrong"}]),
        signature=st.sampled_from(["", SIGNATURE]),
        why=texts,
        cause=texts,
        confirmed=st.booleans(),
    )
    return CaseFile(
        case=Case(spec=spec, inputs=Inputs(x=x)),
        state=draw(st.sampled_from(["open", "seed"])),
        origin=Origin(campaign=draw(st.sampled_from(["", "bnfuzz fuzz --seed 1"])), title=draw(texts)),
        descent=draw(st.none() | st.builds(Descent, origin=st.just("0" * 16), severity=st.just(2.0))),
        expectations=tuple(draw(st.lists(entry, max_size=3))),
    )


def as_first_structure(file: CaseFile) -> dict[str, Any]:
    """The tree as number 1 would have held it: one text, `why`, and no descent."""
    tree: dict[str, Any] = json.loads(dumps(file)) | {"schema": 1}
    tree.pop("descent", None)
    for entry in tree.get("expectations", []):
        text = entry.pop("why", "") or entry.pop("cause", "")
        entry.pop("cause", None)
        if text:
            entry["why"] = text
    return tree


@given(files())
def test_a_file_of_the_first_structure_reads_as_it_was_meant(file: CaseFile) -> None:
    tree = as_first_structure(file)
    check(tree, 1)
    before = copy.deepcopy(tree)
    back = loads(json.dumps(tree), "old.json")
    assert tree == before
    assert (back.id, back.state, back.origin, back.descent) == (file.id, file.state, file.origin, None)
    for old, new in zip(file.expectations, back.expectations, strict=True):
        said = old.why or old.cause
        by_campaign = bool(file.origin.campaign) and old.confirmed
        assert (new.why, new.cause) == (("", said) if by_campaign else (said, ""))
        assert (new.backend, new.findings, new.signature) == (old.backend, old.findings, old.signature)
    check(json.loads(dumps(back)), SCHEMA)


@given(files())
def test_the_newest_structure_is_left_alone(file: CaseFile) -> None:
    tree = json.loads(dumps(file))
    assert migrated(tree) == tree
    assert dumps(loads(json.dumps(tree), "x.json")) == dumps(file)


def test_every_number_has_a_structure_and_a_step_to_the_next() -> None:
    kept = {path.name for path in resources.files("bnfuzz.casefile").joinpath("schemas").iterdir()}
    assert kept == {f"{number}.json" for number in range(min(STEPS), SCHEMA + 1)}
    assert sorted(STEPS) == list(range(min(STEPS), SCHEMA))
    for number in range(min(STEPS), SCHEMA + 1):
        validator(number).check_schema(validator(number).schema)
        assert validator(number).schema["properties"]["schema"]["const"] == number


def test_a_step_never_sees_a_tree_that_is_not_of_its_structure() -> None:
    spoilt = {"schema": 1, "state": "open", "expectations": "none", "origin": {"campaign": "c"}, "case": {}}
    with pytest.raises(CaseFileError, match=r"old.json: at \$\..*structure: bnfuzz/casefile/schemas/1.json"):
        loads(json.dumps(spoilt), "old.json")
