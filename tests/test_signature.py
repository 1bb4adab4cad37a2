"""Signatures: one identity per fault, whatever the data, the messages and the order of the verdicts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.case import OUTPUT_NAMES, batch_norm_spec
from bnfuzz.judge.verdict import FAILING, FINDINGS, KINDS, Regime, Verdict, precedence
from bnfuzz.signature import Parts, first_failing, parts_of, signature, titled

SPEC = batch_norm_spec((4, 3), data_format="bfloat16")

judged = st.builds(
    Verdict,
    output=st.sampled_from(OUTPUT_NAMES),
    kind=st.sampled_from(KINDS),
    severity=st.floats(0, 1e9),
    regime=st.sampled_from(get_args(Regime)),
    why=st.text(max_size=5),
)
groups = st.lists(judged, max_size=6, unique_by=lambda verdict: verdict.output).map(tuple)


def test_the_parts() -> None:
    verdicts = (Verdict(output="dx", kind="wrong"), Verdict(output="y", kind="unstable", regime="offset"))
    expected = "v1/flax/batch_norm/training/y/unstable/bfloat16-float32-float32/offset"
    assert signature(SPEC, "flax", verdicts) == expected
    steps = replace(SPEC, steps=("training", "inference"))
    assert "/training+inference/" in str(signature(steps, "flax", verdicts))


@given(st.lists(judged, min_size=1, max_size=3, unique_by=lambda verdict: verdict.output).map(tuple))
def test_the_parts_are_read_back(verdicts: tuple[Verdict, ...]) -> None:
    named = signature(replace(SPEC, steps=("training", "inference")), "target:/home/me/a.py:f", verdicts)
    first = first_failing(verdicts)
    assert (named is None) == (first is None)
    if named is not None and first is not None:
        steps, formats = "training+inference", "bfloat16-float32-float32"
        said = ("v1", "target:a.py:f", "batch_norm", steps, first.output, first.kind, formats, first.regime)
        assert parts_of(named) == Parts(*said)


@pytest.mark.parametrize("text", ["", "v1/flax/*", "v1/flax/batch_norm/training/y/wrong/float32/plain/more"])
def test_what_is_no_signature_has_no_parts(text: str) -> None:
    assert parts_of(text) is None


def test_titles() -> None:
    assert titled("jax", "1") == "jax 1"
    assert titled("jax@1", "1") == "jax@1"
    assert titled("jax", None) == "jax"


def test_no_finding_no_signature() -> None:
    calm = tuple(Verdict(output="y", kind=kind) for kind in KINDS if kind not in FINDINGS)  # type: ignore[arg-type]
    assert signature(SPEC, "flax", calm) is None
    assert signature(SPEC, "flax", ()) is None


def test_what_fails_a_run_names_the_finding() -> None:
    verdicts = (
        Verdict(output="batch_var", kind="range"),
        Verdict(output="dx", kind="wrong"),
        Verdict(output="dbeta", kind="unstable"),
    )
    first = first_failing(verdicts)
    assert first is not None
    assert first.output == "dbeta"


@pytest.mark.parametrize("kind", ["error", "crash", "hang"])
def test_a_call_that_gave_nothing_comes_before_all_outputs(kind: str) -> None:
    verdicts = (Verdict(output="batch_mean", kind="wrong"), Verdict(output="call", kind=kind))  # type: ignore[arg-type]
    assert f"/call/{kind}/" in str(signature(SPEC, "flax", verdicts))


@given(groups, st.randoms(use_true_random=False), st.integers(1, 9))
def test_independent_of_order_data_messages_and_shape(
    verdicts: tuple[Verdict, ...], shuffler: random.Random, rows: int
) -> None:
    other = tuple(
        replace(verdict, severity=2.0, why="else", n=7) for verdict in shuffler.sample(verdicts, len(verdicts))
    )
    longer = batch_norm_spec((rows, 1), data_format="bfloat16", eps=1e-3)
    assert signature(SPEC, "jax", verdicts) == signature(longer, "jax", other)


@given(groups)
def test_the_first_failing_output_in_data_flow_order(verdicts: tuple[Verdict, ...]) -> None:
    first = first_failing(verdicts)
    found = [verdict for verdict in verdicts if verdict.kind in FINDINGS]
    assert (first is None) == (not found)
    if first is not None:
        pool = [verdict for verdict in found if verdict.kind in FAILING] or found
        assert first == min(pool, key=lambda verdict: OUTPUT_NAMES.index(verdict.output))


def test_precedence_is_the_order_of_the_table() -> None:
    assert [precedence(kind) for kind in KINDS] == list(range(len(KINDS)))  # type: ignore[arg-type]
    assert precedence("nonfinite") < precedence("wrong") < precedence("unstable") < precedence("range")
    assert {"range", "nondeterministic"} == FINDINGS - FAILING
