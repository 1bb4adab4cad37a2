"""Stored cases shrunk again: taken up where they stopped, with their history, and never far below what was found."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Inputs, Outputs, Spec
from bnfuzz.casefile import CaseFile, Expectation, dumps, from_finding, loads
from bnfuzz.errors import UsageError
from bnfuzz.shrink import again
from bnfuzz.shrink.again import Again, shrink_again
from bnfuzz.shrink.goal import severity_floor
from bnfuzz.shrink.measure import measure
from bnfuzz.shrink.minimise import shrink
from bnfuzz.signature import first_failing

from .planted import BACKEND, InProcessPool, adversarial_case, one_pass
from .test_findings import finding_on

MINUTES = 600.0
"""Far more than any of these tests takes: none of them waits for a deadline."""


class StoredPool(InProcessPool):
    """A pool in process that tells versions."""

    def version(self, name: str) -> str:
        del name
        return "1.0"

    def versions(self, name: str) -> dict[str, str]:
        return {name: "1.0"}


def pool_of(kernel: Any = one_pass) -> Pool:
    return cast(Pool, StoredPool(kernel))


@pytest.fixture
def stored() -> CaseFile:
    finding = replace(finding_on(pool_of(), adversarial_case()), cause="one pass")
    file = from_finding(finding, title="a report", note="as it came")
    (expectation,) = file.expectations
    return replace(file, expectations=(replace(expectation, why="known", versions="<2", link="https://example.org/1"),))


@pytest.fixture
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of `shrink` stop after 1, 2, 3, … evaluations, as they do when their time is up."""
    rounds = itertools.count(1)
    monkeypatch.setattr(again, "shrink", lambda *a, **k: shrink(*a, **{**k, "most_evaluations": next(rounds)}))


def severity(file: CaseFile) -> float:
    first = first_failing(file.verdicts[BACKEND])
    assert first is not None
    return first.severity


@pytest.mark.usefixtures("few_at_a_time")
def test_it_goes_on_where_it_stopped_until_nothing_is_left(stored: CaseFile) -> None:
    file, rounds, steps = stored, 0, 0
    while file.descent is None or not file.descent.finished:
        done = shrink_again(pool_of(), file, BACKEND, seconds=MINUTES)
        assert done.file is not None
        assert done.finished == (done.file.descent is not None and done.file.descent.finished)
        assert measure(done.file.case) <= measure(file.case)
        steps += len(done.steps)
        # As it comes from the disk the next time.
        file, rounds = loads(dumps(done.file), "here"), rounds + 1
        assert rounds < 50
    assert rounds >= 2
    assert file.case.spec.size <= 4
    assert file.descent is not None
    assert len(file.descent.steps) == steps
    # The floor is that of the case as it was found, not of the last one: it does not sink round by round.
    assert (file.descent.origin, file.descent.severity) == (stored.id, severity(stored))
    assert severity(file) >= severity_floor(severity(stored))


def test_what_is_known_of_the_case_and_the_failure_stays(stored: CaseFile) -> None:
    done = shrink_again(pool_of(), stored, BACKEND, seconds=MINUTES)
    assert done.file is not None
    assert done.finished
    (old,), (new,) = stored.expectations, done.file.expectations
    assert (new.signature, new.why, new.versions, new.link, new.cause) == (
        old.signature,
        "known",
        "<2",
        "https://example.org/1",
        "one pass",
    )
    assert new.confirmed
    assert (done.file.origin, done.file.state) == (stored.origin, "open")
    assert done.file.verdicts.keys() == {BACKEND}
    once_more = shrink_again(pool_of(), done.file, BACKEND, seconds=MINUTES)
    assert (once_more.file, once_more.remark) == (done.file, "is as small as it gets")


def test_others_keep_the_larger_case(stored: CaseFile) -> None:
    both = replace(stored, expectations=(*stored.expectations, Expectation(backend="jax", findings={"y": "wrong"})))
    done = shrink_again(pool_of(), both, BACKEND, seconds=MINUTES)
    assert done.file is not None
    assert [entry.backend for entry in done.file.expectations] == [BACKEND]


def right(spec: Spec, inputs: Inputs) -> Outputs:
    wide = Inputs(**{name: array.astype(np.float64) for name, array in inputs.items()})
    y = one_pass(spec, wide).y
    assert y is not None
    return Outputs(y=y.astype(inputs.x.dtype))


def off_by_one(spec: Spec, inputs: Inputs) -> Outputs:
    y = right(spec, inputs).y
    assert y is not None
    return Outputs(y=(y + 1).astype(y.dtype))


@pytest.mark.parametrize(
    ("kernel", "remark"),
    [(right, "shows no failure now"), (off_by_one, "which is not what is recorded")],
)
def test_a_failure_that_is_gone_or_another_leaves_the_case_alone(kernel: Any, remark: str, stored: CaseFile) -> None:
    done = shrink_again(pool_of(kernel), stored, BACKEND, seconds=MINUTES)
    assert remark in done.remark
    assert done == Again(file=None, remark=done.remark)


def test_a_backend_without_a_record_is_misuse(stored: CaseFile) -> None:
    with pytest.raises(UsageError, match=f"x.json records no failure of jax; it records failures of {BACKEND}"):
        shrink_again(pool_of(), stored, "jax", seconds=MINUTES, where="x.json")
