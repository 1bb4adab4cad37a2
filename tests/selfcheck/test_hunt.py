"""Planted faults are found, whether the catalogue knows them or not; what deviates from nothing is not."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from bnfuzz.cli import selfcheck as command
from bnfuzz.faults import textbook
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.fault import fault
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.selfcheck import tables
from bnfuzz.selfcheck.hunt import Hunt

PLANS = 400
SECONDS = 600.0
"""No budget of its own: a slow machine must not miss what a fast one finds."""


@pytest.fixture(scope="module")
def whole() -> Hunt:
    hunt = Hunt(CATALOGUE.values(), seed=3)
    hunt.run(seconds=SECONDS, plans=PLANS)
    return hunt


def test_every_fault_is_found(whole):
    assert {fault.name: whole.trials[fault.name] for fault in whole.at_large} == {}
    assert statistics.median(found.trials for found in whole.found.values()) < 200


def test_what_is_found_is_told(whole):
    assert len(tables.fault_rows(whole)) == 1 + len(CATALOGUE)
    for name, found in whole.found.items():
        assert found.signature.split("/")[1] == f"fault:{name}"
        assert found.verdict.kind == found.signature.split("/")[5]
        assert found.families
    exact = {"error", "mutated"}
    for name, found in whole.found.items():
        assert (found.verdict.kind in exact) == (CATALOGUE[name].judged in exact), name


def test_what_reaches_other_channels_is_a_leak(whole):
    """A NaN that a leak brings along is not the fault's own kind."""
    assert whole.found["cross_channel_leak"].verdict.kind == "leak"
    assert {name for name, fault in CATALOGUE.items() if fault.judged == "leak"} == {"cross_channel_leak"}


def crowded(p):
    """Each channel is moved by a little of the next one's sum: nothing is NaN, and the bound is wide at an offset."""
    return textbook.mean(p) + p.scalar(2.0**-20) * np.roll(textbook.mean(p), 1, axis=1)


def test_a_leak_of_finite_values_is_a_leak():
    hunt = Hunt([fault("crowded", "", mean=crowded)], seed=0)
    hunt.run(seconds=SECONDS, plans=PLANS)
    assert hunt.found["crowded"].verdict.kind == "leak"


def doubled_gamma(p):
    return p.gamma * p.gamma * p.xhat + p.beta


def ten_bits(p):
    return textbook.affine(p) * p.scalar(1 + 2.0**-10)


def rolled_dx(p):
    return np.roll(textbook.dx(p), 1, axis=0)


def squared_weight(p, old, new):
    weight = p.weights[1] * p.weights[1]
    return (p.scalar(1.0) - weight) * old + weight * new


def first_left_out(p):
    return p.average(p.x[1:]) if p.geometry.n > 1 else textbook.mean(p)


def gradient_of_gamma_clipped(p):
    return np.clip(textbook.dgamma(p), -1, 1)


UNKNOWN = (
    fault("gamma_twice", "", affine=doubled_gamma),
    fault("y_to_ten_bits", "", affine=ten_bits),
    fault("dx_of_the_next_sample", "", dx=rolled_dx),
    fault("momentum_squared", "", running_mean=lambda p, old: squared_weight(p, old, p.mean)),
    fault("first_value_left_out", "", mean=first_left_out),
    fault("dgamma_clipped", "", dgamma=gradient_of_gamma_clipped),
)


def test_faults_that_no_catalogue_knows_are_found():
    hunt = Hunt(UNKNOWN, seed=0)
    hunt.run(seconds=SECONDS, plans=PLANS)
    assert hunt.at_large == []


BLIND = replace(CATALOGUE["dx_sign"], name="no_fault", kernel=CLEAN)


def test_the_clean_kernel_is_never_found():
    hunt = Hunt([BLIND], seed=0)
    hunt.run(seconds=SECONDS, plans=60)
    assert hunt.found == {}
    assert hunt.at_large == [BLIND]
    assert tables.fault_rows(hunt)[1][1] == "MISSED"


def test_a_miss_fails_the_command(monkeypatch):
    monkeypatch.setattr(command, "CATALOGUE", {"no_fault": BLIND})
    monkeypatch.setattr(command, "SHORT_PLANS", 3)
    result = CliRunner().invoke(command.selfcheck, ["--short", "--fault", "no_fault"])
    assert result.exit_code == 1
    assert "MISSED" in result.output
    assert "0 of 1 faults" in result.output


def test_the_same_seed_finds_the_same():
    def signatures(seed):
        hunt = Hunt([CATALOGUE[name] for name in ("eps_hard1e_5", "pad_lanes", "abs_gamma")], seed=seed)
        hunt.run(seconds=SECONDS, plans=PLANS)
        return [(found.signature, found.trials) for found in hunt.found.values()]

    assert signatures(7) == signatures(7)


def test_seconds_end_a_hunt():
    times = iter(range(1000))
    hunt = Hunt([BLIND], seed=0, clock=lambda: float(next(times)))
    hunt.run(seconds=3.0)
    assert hunt.plans < 4
