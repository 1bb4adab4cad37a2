"""Looser contracts: what ULPs and accepted kinds let pass, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from bnfuzz.backends.pool import Reply
from bnfuzz.case import Inputs, Outputs, batch_norm_spec
from bnfuzz.contract import Contract
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError
from bnfuzz.evaluation import Result
from bnfuzz.judge.compare import judge
from bnfuzz.judge.verdict import FAILING, FINDINGS, Verdict
from bnfuzz.numerics.reference import reference

SPEC = batch_norm_spec((4, 2), 1, has_running=False, cotangent="sum")


def off_by(steps: int) -> Result:
    """A y that is `steps` neighbouring numbers off the correctly rounded one in a single element."""
    x = np.array([[[1, 5], [2, 7], [4, 6], [8, -3]]], np.float32)
    ones = np.ones((1, 2), np.float32)
    exact = reference(SPEC, Inputs(x=x, gamma=ones, beta=ones * 0), Conventions(source="test"))
    y = exact.outputs["y"].value.astype(np.float32)
    for _ in range(steps):
        y[0, 2, 1] = np.nextafter(y[0, 2, 1], np.float32(np.inf))
    outputs = Outputs(y=y)
    return Result("f", Reply(backend="f", status="ok", outputs=outputs), exact.spec, (judge(exact, outputs),))


def test_so_many_units_in_the_last_place_pass_and_no_more():
    far = off_by(1000)
    (strict,) = Contract().verdicts(far, 0)
    assert strict.kind == "wrong"
    for ulps, kind in ((1001, "ok"), (998, "wrong")):
        (verdict,) = Contract(ulps=ulps).verdicts(far, 0)
        assert verdict.kind == kind
    assert "within 1001 ULPs" in Contract(ulps=1001).verdicts(far, 0)[0].why


def test_what_passes_by_its_bound_needs_no_ulps():
    (verdict,) = Contract(ulps=0).verdicts(off_by(0), 0)
    assert verdict.kind == "ok"
    assert verdict.why == ""


@pytest.mark.parametrize("kind", sorted(FINDINGS))
def test_an_accepted_kind_never_fails(kind):
    verdict = Verdict(output="y", kind=kind)
    assert Contract().fails(verdict) == (kind in FAILING)
    assert not Contract(accept=(kind,)).fails(verdict)


def test_the_terms_are_told():
    assert Contract().words == ""
    assert Contract(ulps=4, accept=("unstable", "range")).words == (
        "errors of up to 4 ULPs of the exact value pass; accepted: unstable, range"
    )


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"ulps": -1}, "ulps=-1 must be a number"),
        ({"ulps": float("nan")}, "ulps=nan must be a number"),
        ({"ulps": "4"}, "ulps='4' must be a number"),
        ({"accept": ("ok",)}, "accept holds 'ok', which is no kind of finding; use some of shape"),
        ({"accept": ("instable",)}, "'instable'"),
    ],
    ids=str,
)
def test_bad_terms(terms, message):
    with pytest.raises(UsageError) as caught:
        Contract(**terms)
    assert message in str(caught.value)
