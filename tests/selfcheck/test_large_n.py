"""Small deviations over many values: found where a backend states how it sums, and told beside the noise to expect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.case import Case, Inputs, Spec, batch_norm_spec, expected_arrays
from bnfuzz.conventions import Conventions, Summation
from bnfuzz.faults import sums
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.kernel import Kernel
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.judge.compare import judge
from bnfuzz.judge.verdict import FAILING, Verdict
from bnfuzz.numerics.reference import reference
from bnfuzz.report.text import failure_text
from bnfuzz.report.words import noise_note

STATED = [Summation("pairwise"), Summation("lanes", lanes=32)]
BY_NAME = pytest.mark.parametrize("summation", STATED, ids=lambda summation: summation.kind)
FAULTS = pytest.mark.parametrize(("name", "n"), [("eps_default_1e_3", 24_000), ("ddof1_norm", 2_048)])


def noise(n: int) -> tuple[Spec, Inputs]:
    """Standard normal data of two channels, eps 1e-5."""
    spec = batch_norm_spec((n, 2), eps=1e-5)
    rng = np.random.default_rng(0)
    arrays = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        drawn = rng.standard_normal((1, *shape))
        arrays[name] = (1 + drawn**2 if name == "running_var" else drawn).astype(formats.named(format_name).dtype)
    return spec, Inputs(**arrays)


def verdicts(kernel: Kernel, spec: Spec, inputs: Inputs, conventions: Conventions) -> tuple[Verdict, ...]:
    exact = reference(spec, inputs, conventions)
    return judge(exact, run(kernel, spec, inputs, conventions)).verdicts(0)


@FAULTS
@BY_NAME
def test_the_deviation_is_found_and_told(name: str, n: int, summation: Summation) -> None:
    spec, inputs = noise(n)
    fault = CATALOGUE[name]
    conventions = fault.conventions(replace(CONVENTIONS, summation=summation))
    judged = verdicts(fault.kernel, spec, inputs, conventions)
    assert {verdict.kind for verdict in judged} & FAILING
    text = failure_text(Case(spec=spec, inputs=inputs), name, judged)
    told = [line for line in text.splitlines() if "is the worst case; noise is typically near" in line]
    assert len(told) == 1
    assert len(told[0]) <= 130


def test_eps_is_within_what_any_order_of_summation_allows() -> None:
    spec, inputs = noise(24_000)
    judged = verdicts(CATALOGUE["eps_default_1e_3"].kernel, spec, inputs, CONVENTIONS)
    assert not {verdict.kind for verdict in judged} & FAILING


def test_no_noise_is_told_of_few_values_or_without_a_bound() -> None:
    assert "near 5e-07 (pairwise sums) to 2.5e-07 (a running sum)" in noise_note(1e-6, 16)
    assert not noise_note(1e-6, 15)
    assert not noise_note(np.inf, 1000)
    assert not noise_note(0.0, 1000)


@FAULTS
@BY_NAME
def test_the_clean_kernel_passes(name: str, n: int, summation: Summation) -> None:
    spec, inputs = noise(n)
    total = sums.pairwise if summation.kind == "pairwise" else sums.blocked
    conventions = CATALOGUE[name].conventions(replace(CONVENTIONS, summation=summation))
    judged = verdicts(replace(CLEAN, total=total), spec, inputs, conventions)
    assert not {verdict.kind for verdict in judged} & FAILING
    assert "ok" in {verdict.kind for verdict in judged}
