"""Relations within bounds and limits: sound kernels keep them, and no verdict accuses what the judge does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.case import Outputs, batch_norm_spec
from bnfuzz.faults.backend import run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.sound import SOUND
from bnfuzz.faults.textbook import CLEAN
from bnfuzz.judge.compare import judge
from bnfuzz.judge.relations import LIMITS, RELATIONS, compare_within, draws_of
from bnfuzz.judge.relations.relation import Variant
from bnfuzz.judge.verdict import FINDINGS
from bnfuzz.numerics.reference import reference
from bnfuzz.relating import NAMES, UNCHANGED_INPUTS, relate

from .inprocess import InProcess, noise, of_kernel

SPEC = batch_norm_spec((4, 3, 2), 1, eps=1e-3)
BOUNDED = ("layout", "permutation", "scaling")


def fault(name):
    return of_kernel(CATALOGUE[name].kernel)


def test_every_relation_is_reported_in_order():
    related = relate(of_kernel(), "k", SPEC, noise(SPEC, 3))
    assert tuple(related) == NAMES
    assert all(len(verdicts) == 3 for verdicts in related.values())


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("name", SOUND)
def test_sound_kernels(name, mode):
    spec = replace(SPEC, steps=(mode,))
    sound = SOUND[name]
    runs = of_kernel(sound.kernel)
    related = relate(runs, "k", spec, noise(spec, 6), seed=3)
    seen = Counter(verdict.kind for relation in related.values() for verdict in relation)
    assert set(seen) <= {"ok", "vacuous"}


def test_scaling_keeps_bits_and_an_absolute_threshold_does_not():
    def clamped(spec, inputs):
        return run(CLEAN, replace(spec, eps=max(spec.eps, 1e-3)), inputs)

    spec = replace(SPEC, eps=1e-3)
    inputs = noise(spec, 2)
    told = [relate(of_kernel(), "k", spec, inputs, seed=seed)["scaling"][0] for seed in range(6)]
    assert all(verdict.kind == "ok" and verdict.why.endswith("same bits") for verdict in told)
    seen = {relate(InProcess(clamped), "k", spec, inputs, seed=seed)["scaling"][0].kind for seed in range(6)}
    assert seen == {"ok", "wrong"}  # it shows where eps becomes smaller


def test_scaling_leaves_out_what_leaves_the_format():
    spec = replace(SPEC, data_format="float16", parameter_format="float16", statistics_format="float16")
    inputs = noise(spec, 2)
    inputs.running_var[0] = 6e4
    for seed in range(6):
        verdicts = relate(of_kernel(), "k", spec, inputs, seed=seed)["scaling"]
        grows = "2^-" not in verdicts[1].why
        assert [verdict.kind for verdict in verdicts] == (["vacuous", "ok"] if grows else ["ok", "ok"])
    assert relate(of_kernel(), "k", replace(spec, eps=None), inputs)["scaling"][0].kind == "vacuous"


def test_a_layout_that_is_ignored():
    related = relate(fault("shape_from_memory"), "k", SPEC, noise(SPEC, 2))
    assert {verdict.kind for verdict in related["layout"]} == {"wrong"}
    assert {verdict.kind for verdict in related["permutation"]} == {"ok"}


def test_a_sample_that_counts_by_its_place():
    def weighted(spec, inputs):
        outputs = run(CLEAN, spec, inputs)
        y = outputs.y.copy()
        y[:, 0] *= np.float32(1.01)
        return replace(outputs, y=y)

    spec = batch_norm_spec((4, 3), 1, eps=1e-3)
    seen = [relate(InProcess(weighted), "k", spec, noise(spec, 1), seed=seed)["permutation"][0] for seed in range(8)]
    assert ("y", "wrong") in {(verdict.output, verdict.kind) for verdict in seen}


def test_a_violation_that_the_judge_does_not_see_is_uncertain():
    """It cannot be, unless a bound is at fault: here the way back is."""
    inputs = noise(SPEC, 2)
    conventions = of_kernel().stated
    judged = judge(reference(SPEC, inputs, conventions), run(CLEAN, SPEC, inputs))
    wrong_way = Variant(
        spec=SPEC,
        inputs=inputs,
        what=("again",) * 2,
        back=lambda name, array: array[:, ::-1] if name == "y" else array,
    )
    assert {verdict.kind for verdict in compare_within(judged, judged, wrong_way)} == {"uncertain"}


@pytest.mark.parametrize("name", BOUNDED)
def test_exact_values_are_related(name):
    """The reference of the varied block, brought back, is that of the block."""
    inputs = noise(SPEC, 3)
    conventions = of_kernel().stated
    first = reference(SPEC, inputs, conventions)
    for seed in range(4):
        variant = RELATIONS[name].vary(SPEC, inputs, draws_of(inputs, seed))
        second = reference(variant.spec, variant.inputs, conventions)
        for output, one in first.outputs.items():
            two = second.outputs[output]
            distance = np.abs(one.value - variant.back(output, two.value))
            assert (distance <= one.rung_bound + variant.back(output, two.rung_bound)).all(), output


def test_relatives_are_permuted_with_their_parameters():
    spec = replace(SPEC, operation="layer_norm", reduced_axes=(1, 2), parameter_axes=(2, 1))
    inputs = noise(spec, 2)
    for seed in range(4):
        variant = RELATIONS["permutation"].vary(spec, inputs, draws_of(inputs, seed))
        one, two = run(CLEAN, spec, inputs), run(CLEAN, spec, variant.inputs)
        for output, array in one.items():
            back = variant.back(output, getattr(two, output))
            np.testing.assert_allclose(back, array, rtol=1e-3, atol=1e-4, err_msg=output)


def test_sum_of_dx():
    verdicts = relate(fault("dx_no_mean_term"), "k", SPEC, noise(SPEC, 4))["sum of dx"]
    assert {(verdict.output, verdict.kind) for verdict in verdicts} == {("dx", "wrong")}
    assert all(verdict.severity > 100 for verdict in verdicts)
    spec = replace(SPEC, steps=("inference",))
    assert relate(of_kernel(), "k", spec, noise(spec, 1))["sum of dx"][0].kind == "vacuous"


def test_single_values_and_constant_channels():
    name = next(iter(LIMITS))
    spec = batch_norm_spec((1, 3), 1, eps=1e-3)
    verdict = relate(of_kernel(), "k", spec, noise(spec, 1))[name][0]
    assert (verdict.kind, verdict.regime, verdict.why) == ("ok", "n1", "y is beta to the bit in 3 of 3 elements")

    inputs = noise(SPEC, 2)
    inputs.x[0, :, 1] = 3.25
    constant, ordinary = relate(of_kernel(), "k", SPEC, inputs)[name]
    assert (constant.kind, constant.regime) == ("ok", "constant")
    assert constant.why == "y is beta to the bit in 8 of 8 elements"
    assert ordinary.kind == "vacuous"

    def off(spec, inputs):
        return Outputs(**{key: array + array.dtype.type(0.5) for key, array in run(CLEAN, spec, inputs).items()})

    assert relate(InProcess(off), "k", SPEC, inputs)[name][0].kind == "wrong"


def test_mutated_inputs():
    verdicts = relate(fault("alias_x"), "k", SPEC, noise(SPEC, 2))[UNCHANGED_INPUTS]
    assert {(verdict.kind, verdict.why) for verdict in verdicts} == {("mutated", "changed its x")}
    assert relate(of_kernel(), "k", SPEC, noise(SPEC, 2))[UNCHANGED_INPUTS][0].kind == "ok"


def test_sequences_are_not_compared_within_bounds():
    spec = replace(SPEC, steps=("training", "inference"))
    related = relate(of_kernel(), "k", spec, noise(spec, 1))
    assert {related[name][0].kind for name in (*BOUNDED, *LIMITS)} == {"vacuous"}


@pytest.mark.parametrize("name", ["onepass", "eps_outside", "dx_no_mean_term", "dx_sign"])
def test_no_accusation_of_its_own(name):
    """Whatever a bounded relation calls a finding is one of the judge's findings, in one of the two blocks."""
    inputs = noise(SPEC, 8)
    related = relate(fault(name), "k", SPEC, inputs)
    assert not any(verdict.kind == "uncertain" for verdicts in related.values() for verdict in verdicts)
    judged = judge(reference(SPEC, inputs, of_kernel().stated), run(CATALOGUE[name].kernel, SPEC, inputs))
    for relation in LIMITS:
        for k, verdict in enumerate(related[relation]):
            kinds = {output.kinds[k] for output in judged.outputs if output.name == verdict.output}
            assert verdict.kind not in FINDINGS or verdict.kind in kinds


def test_a_rightful_overflow_in_one_block_is_no_violation():
    names = ("data_format", "parameter_format", "statistics_format")
    spec = replace(batch_norm_spec((4, 2), 1, eps=1e-2), **dict.fromkeys(names, "float16"))
    inputs = noise(spec, 2)
    inputs.x[0] *= 64  # batch_var fits, 256 times as much does not
    kinds = {relate(of_kernel(), "k", spec, inputs, seed=seed)["scaling"][0].kind for seed in range(16)}
    assert kinds == {"ok"}
