"""Leaks and nondeterminism: planted ones are named, sound implementations never accused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.case import Case, Inputs, Outputs, Spec, batch_norm_spec
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS
from bnfuzz.faults.backend import run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.judge.relations import EXACT
from bnfuzz.judge.relations.bits import differing
from bnfuzz.judge.relations.channels import places
from bnfuzz.judge.relations.groups import reached
from bnfuzz.relating import relate, relate_block, relate_case, relate_trials
from bnfuzz.signature import signature

from .inprocess import InProcess, noise, of_kernel

SPEC = batch_norm_spec((4, 3, 2), 1, eps=1e-3)
LEAK, POISON, TWICE = "channel independence", "poisoned channels", "determinism"


def kinds(runs, spec, inputs, name, **options):
    return Counter(verdict.kind for verdict in relate(runs, "k", spec, inputs, names=(name,), **options)[name])


def changed(change) -> InProcess:
    """The clean kernel with `change(outputs, inputs)` applied to writable copies of its outputs."""

    def compute(spec: Spec, inputs: Inputs) -> Outputs:
        outputs = {name: array.copy() for name, array in run(CLEAN, spec, inputs).items()}
        change(outputs, inputs)
        return Outputs(**outputs)

    return InProcess(compute)


def fickle(period: int) -> InProcess:
    """Flips the last bit of the first y of every `period`-th trial that it is ever given."""
    given = 0

    def flip(outputs, inputs):
        nonlocal given
        for k in range(inputs.trials):
            given += 1
            if given % period == 0:
                outputs["y"][k].reshape(-1)[:1].view(np.uint32)[...] ^= 1

    return changed(flip)


def test_planted_leak_of_nan_and_inf():
    runs = of_kernel(CATALOGUE["cross_channel_leak"].kernel)
    verdicts = relate(runs, "k", SPEC, noise(SPEC, 32), names=(LEAK,))[LEAK]
    for verdict in verdicts:
        poison_in_x = any(f"and {value} in x" in verdict.why for value in ("nan", "inf", "-inf"))
        assert verdict.kind == ("leak" if poison_in_x else "ok"), verdict
        if poison_in_x:
            assert verdict.output == "batch_mean"
            assert np.isfinite(verdict.exact)
            assert np.isnan(verdict.observed)
    assert {verdict.kind for verdict in verdicts} == {"leak", "ok"}


@pytest.mark.parametrize("source", ["x", "gamma", "beta", "cotangent", "running_mean", "running_var"])
def test_a_last_bit_from_another_channel(source):
    def leak(outputs, inputs):
        seen = np.asarray(getattr(inputs, source), np.float64).reshape(inputs.trials, -1)[:, -1]
        hashed = np.where(np.isfinite(seen), np.floor(np.abs(seen) * 256) % 256, 0)
        outputs["dx"].view(np.uint32)[:, 0, 0, 0] ^= hashed.astype(np.uint32)

    found = relate_case(changed(leak), "k", Case(spec=SPEC, inputs=noise(SPEC, 1)))
    assert [(verdict.output, verdict.kind, verdict.failing) for verdict in found] == [("dx", "leak", 1)]
    assert signature(SPEC, "k", found) == "v1/k/batch_norm/training/dx/leak/float32-float32-float32/plain"


def test_a_finding_is_reached_again_from_its_case():
    runs = of_kernel(CATALOGUE["cross_channel_leak"].kernel)
    inputs = noise(SPEC, 8)
    for k, verdict in enumerate(relate(runs, "k", SPEC, inputs, names=EXACT)[LEAK]):
        alone = relate(runs, "k", SPEC, inputs.trial(k), names=EXACT)[LEAK][0]
        assert repr(alone) == repr(verdict)
    assert all(found[0].kind == "leak" for found in relate_trials(runs, "k", SPEC, inputs))


@pytest.mark.parametrize("period", [4, 5, 7, 11])
def test_a_fickle_implementation_does_not_leak(period):
    inputs = noise(SPEC, 6)
    found = {verdict.kind for some in relate_trials(fickle(period), "k", SPEC, inputs) for verdict in some}
    assert found == {"nondeterministic"}
    seen = Counter()
    for seed in range(8):
        related = relate(fickle(period), "k", SPEC, inputs, names=EXACT, seed=seed)
        seen.update(verdict.kind for verdicts in related.values() for verdict in verdicts)
    assert not seen["leak"]


def test_nondeterminism_is_told():
    verdict = next(v for v in relate(fickle(4), "k", SPEC, noise(SPEC, 6))[TWICE] if v.kind != "ok")
    assert (verdict.output, verdict.kind, verdict.failing, verdict.ulps) == ("y", "nondeterministic", 1, 1.0)
    assert verdict.why.startswith("called again: y was ")


@pytest.mark.parametrize("name", ["x", "gamma", "beta", "cotangent", "running_mean"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_poisoned_channels(name, value):
    inputs = noise(SPEC, 4)
    poisoned = getattr(inputs, name).copy()
    where = (slice(None), 2, 1) if name in ("x", "cotangent") else (slice(None), 1)
    poisoned[where] = value
    inputs = replace(inputs, **{name: poisoned})
    assert kinds(of_kernel(), SPEC, inputs, POISON) == {"ok": 4}
    if name == "x":
        leaking = relate(of_kernel(CATALOGUE["cross_channel_leak"].kernel), "k", SPEC, inputs)[POISON]
        assert {(verdict.output, verdict.kind) for verdict in leaking} == {("batch_mean", "leak")}
        assert "new_running_var" in leaking[0].why


def test_statistics_after_a_nonfinite_batch():
    """A buffer that another channel's NaN spoils, with y and gradients sound."""

    def spoil(outputs, inputs):
        bad = np.isnan(inputs.x).reshape(inputs.trials, -1).any(axis=1)
        outputs["new_running_var"][bad] = np.nan

    inputs = noise(SPEC, 2)
    inputs.x[1, 0, 2] = np.nan
    verdicts = relate(changed(spoil), "k", SPEC, inputs)[POISON]
    assert [verdict.kind for verdict in verdicts] == ["vacuous", "leak"]
    assert verdicts[1].output == "new_running_var"


def test_poison_in_every_channel_or_none_says_nothing():
    inputs = noise(SPEC, 2)
    assert kinds(of_kernel(), SPEC, inputs, POISON) == {"vacuous": 2}
    inputs.x[:, 0] = np.nan
    assert kinds(of_kernel(), SPEC, inputs, POISON) == {"vacuous": 2}


@pytest.mark.parametrize("steps", [("inference",), ("training", "inference"), ("training", "training")])
def test_inference_and_sequences(steps):
    spec = replace(SPEC, steps=steps)
    assert kinds(of_kernel(), spec, noise(spec, 8), LEAK) == {"ok": 8}
    leaking = kinds(of_kernel(CATALOGUE["cross_channel_leak"].kernel), spec, noise(spec, 24), LEAK)
    assert (leaking["leak"] > 0) == ("training" in steps)


@pytest.mark.parametrize("operation", ["layer_norm", "instance_norm", "group_norm"])
def test_relatives(operation):
    axes = {"layer_norm": ((1, 2), (1, 2)), "instance_norm": ((2,), (1,)), "group_norm": ((2,), (1, 2))}[operation]
    spec = Spec(operation=operation, shape=(3, 4, 5), reduced_axes=axes[0], parameter_axes=axes[1])
    assert kinds(of_kernel(), spec, noise(spec, 12), LEAK) == {"ok": 12}


def test_what_a_group_reaches():
    groups = np.zeros((1, 3, 4), dtype=bool)
    groups[0, 1, 2] = True
    spec = Spec(operation="instance_norm", shape=(3, 4, 5), reduced_axes=(2,), parameter_axes=(1,))
    masks = reached(spec, groups)
    assert masks["y"].sum() == 5
    assert masks["y"][0, 1, 2].all()
    assert np.flatnonzero(masks["dgamma"][0]).tolist() == [2]
    assert masks["new_running_mean"].sum() == 1
    assert "gamma" not in places(spec, groups)


def test_one_channel_no_values_and_stride_zero_say_nothing():
    for spec in (batch_norm_spec((4, 1)), batch_norm_spec((0, 3)), replace(SPEC, layout_x="zero_stride")):
        inputs = noise(spec, 1)
        inputs.x[...] = 1.0
        assert kinds(of_kernel(), spec, inputs, LEAK) == {"vacuous": 1}


def test_bits():
    nan = np.array([np.nan, np.nan, 0.0, 1.0], np.float32)
    other = np.array([-np.nan, 1.0, -0.0, 1.0], np.float32)
    assert differing(nan, other).tolist() == [False, True, True, False]


def test_what_cannot_run_is_no_finding():
    spec = replace(SPEC, statistics_format="float64")
    found = relate(of_kernel(), "k", spec, noise(spec, 2))
    assert {verdict.kind for verdicts in found.values() for verdict in verdicts} == {"unsupported"}


def test_first_replies_are_used_again():
    runs = of_kernel()
    inputs = noise(SPEC, 4)
    first = runs.run(("k",), SPEC, inputs)
    related = relate_block(runs, ("k",), SPEC, inputs.select(slice(0, 2)), names=EXACT, first=first)["k"]
    assert runs.calls == 3
    assert all(len(verdicts) == 2 for verdicts in related.verdicts.values())


@pytest.mark.parametrize("triple", ALL_FORMATS + MIXED_FORMATS, ids="/".join)
def test_every_format(triple):
    names = ("data_format", "parameter_format", "statistics_format")
    spec = replace(SPEC, **dict(zip(names, triple, strict=True)))
    assert kinds(of_kernel(), spec, noise(spec, 16), LEAK) == {"ok": 16}
    assert kinds(of_kernel(CATALOGUE["cross_channel_leak"].kernel), spec, noise(spec, 16), LEAK)["leak"]
