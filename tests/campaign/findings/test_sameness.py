"""What counts as one fault does not depend on what was seen first, and never joins what no single deviation makes."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnfuzz.campaign.findings.sameness import CLASSES, Symptoms, covers, folded, same_fault, strand
from bnfuzz.case import OUTPUT_NAMES
from bnfuzz.judge.verdict import FAILING, FINDINGS, Kind, precedence

MODEST = settings(max_examples=200, derandomize=True, deadline=None)
OUTPUTS = (*OUTPUT_NAMES, "call")


def symptoms(*outputs: str, kind: str = "wrong", regime: str = "plain", mode: str = "training") -> Symptoms:
    """Named after the first output."""
    formats = "float32-float32-float32"
    return Symptoms(
        signature=f"v1/jax/batch_norm/{mode}/{outputs[0]}/{kind}/{formats}/{regime}", outputs=frozenset(outputs)
    )


@st.composite
def any_symptoms(draw: st.DrawFn) -> Symptoms:
    outputs = sorted(draw(st.sets(st.sampled_from(OUTPUT_NAMES), min_size=1)), key=OUTPUT_NAMES.index)
    kind = draw(st.sampled_from(["wrong", "unstable", "nonfinite", "shape", "range"]))
    return symptoms(*outputs, kind=kind, regime=draw(st.sampled_from(["plain", "offset"])))


@MODEST
@given(seen=st.lists(any_symptoms(), max_size=8), order=st.randoms(use_true_random=False))
def test_the_order_decides_nothing(seen, order):
    shuffled = list(seen)
    order.shuffle(shuffled)
    assert set(folded(seen)) == set(folded(shuffled))


@MODEST
@given(seen=st.lists(any_symptoms(), max_size=8))
def test_what_is_folded_is_told_apart_and_loses_nothing(seen):
    faults = folded(seen)
    assert not any(same_fault(one, other) for i, one in enumerate(faults) for other in faults[:i])
    assert folded(faults) == faults
    for one in seen:
        (of,) = (fault for fault in faults if fault.place == one.place and one.outputs <= fault.outputs)
        assert of.telling <= one.telling


@MODEST
@given(one=any_symptoms(), other=any_symptoms())
def test_one_fault_is_of_one_place_and_one_class(one, other):
    assert same_fault(one, other) == same_fault(other, one)
    if same_fault(one, other):
        assert one.place == other.place
    assert same_fault(one, one)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (symptoms("y"), symptoms("dx"), True),
        (symptoms("y"), symptoms("dgamma", "dx"), True),
        (symptoms("dgamma"), symptoms("dbeta"), True),
        (symptoms("batch_var"), symptoms("new_running_var"), True),
        (symptoms("new_running_mean"), symptoms("new_running_var"), True),
        (symptoms("y", kind="unstable"), symptoms("y", kind="nonfinite"), True),
        (symptoms("call", kind="mutated"), symptoms("dx"), False),
        (symptoms("call", "dx", kind="mutated"), symptoms("dx"), True),
        (symptoms("y"), symptoms("new_running_var"), False),
        (symptoms("y", "new_running_var"), symptoms("new_running_var"), True),
        (symptoms("y"), symptoms("dbeta"), False),
        (symptoms("y", mode="training+inference"), symptoms("new_running_var", mode="training+inference"), True),
        (symptoms("dx"), symptoms("new_running_mean"), False),
        (symptoms("y"), symptoms("y", kind="dtype"), False),
        (symptoms("call", kind="error"), symptoms("call", kind="crash"), False),
        (symptoms("dx"), symptoms("dx", kind="nondeterministic"), False),
        (symptoms("y"), symptoms("y", regime="offset"), False),
        (symptoms("y"), symptoms("y", mode="inference"), False),
    ],
    ids=lambda value: "" if isinstance(value, bool) else "+".join(sorted(value.outputs)),
)
def test_which_are_one(one, other, same):
    assert same_fault(one, other) == same


def test_the_most_telling_signature_stands():
    (fault,) = folded([symptoms("dx"), symptoms("y", "dx", kind="unstable"), symptoms("y", kind="wrong")])
    assert fault.signature == symptoms("y", kind="wrong").signature
    assert fault.outputs == {"y", "dx"}


kinds_of_a_trial = st.dictionaries(st.sampled_from(OUTPUTS), st.sampled_from(get_args(Kind)))


@MODEST
@given(kinds=kinds_of_a_trial)
def test_a_strand_is_of_one_class_and_holds_what_names_the_trial(kinds):
    found = strand(kinds)
    findings = {name for name, kind in kinds.items() if kind in FINDINGS}
    assert bool(found) == bool(findings)
    if not found:
        return
    assert len({CLASSES.get(kinds[name], kinds[name]) for name in found}) == 1
    failing = {name for name in findings if kinds[name] in FAILING}
    first = min(failing or findings, key=lambda name: OUTPUTS.index(name) if name != "call" else -1)
    assert found[0] == first


def test_a_running_statistic_beside_right_statistics_is_another_fault():
    right = {"batch_mean": "ok", "batch_var": "ok"}
    assert strand({**right, "y": "wrong", "dx": "wrong", "new_running_var": "wrong"}) == ("y", "dx")
    assert strand({**right, "new_running_var": "wrong"}) == ("new_running_var",)
    assert strand({"y": "wrong", "new_running_var": "wrong"}) == ("y", "new_running_var")
    assert strand({**right, "batch_var": "range", "dx": "wrong", "new_running_var": "wrong"}) == (
        "dx",
        "new_running_var",
    )


@MODEST
@given(recorded=any_symptoms(), seen=any_symptoms())
def test_what_is_on_record_covers_no_more_than_it_says(recorded, seen):
    if covers(recorded, seen):
        assert same_fault(recorded, seen)
        assert seen.outputs <= recorded.outputs
        kinds = [one.signature.split("/")[5] for one in (recorded, seen)]
        assert precedence(kinds[0]) <= precedence(kinds[1])
    assert covers(recorded, recorded)
    assert not covers(symptoms("y", "dx", kind="unstable"), symptoms("dx", kind="wrong"))
    assert not covers(symptoms("dx", "y"), symptoms("y"))
    assert covers(symptoms("y", "dx"), symptoms("dx", kind="unstable"))
