"""Sound kernels are not accused; unsound ones are; the quick ways give what the slow ones give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from bnfuzz.case import Inputs, Outputs, batch_norm_spec, expected_arrays
from bnfuzz.cli import selfcheck as command
from bnfuzz.errors import UsageError
from bnfuzz.evaluation import References
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.sound import SOUND, Sound
from bnfuzz.faults.together import run_together
from bnfuzz.judge.compare import judge
from bnfuzz.judge.verdict import FAILING
from bnfuzz.selfcheck.page import page
from bnfuzz.selfcheck.pairs import PAIRS, largest_told
from bnfuzz.selfcheck.sieve import suspects
from bnfuzz.selfcheck.soak import soak
from bnfuzz.selfcheck.soundness import Soundness
from bnfuzz.selfcheck.vocabulary import plans_of_round, small_plans
from bnfuzz.strategies import ValueFamily

SECONDS = 600.0


def some_plans(pair: str, count: int, seed: int = 0):
    return plans_of_round(small_plans(PAIRS[pair].triples, 64), seed, 0)[-count:]


def test_no_false_alarm_on_the_plans_of_a_hunt():
    sound = Soundness(SOUND.values(), seed=3)
    sound.run(seconds=SECONDS, plans=20)
    assert sound.alarms == []
    assert sound.judged > 1_000


@pytest.mark.parametrize("pair", PAIRS)
def test_no_false_alarm_in_a_soak(pair):
    kernels = [kernel for kernel in SOUND.values() if kernel.verdict == "ok"]
    sound = Soundness(kernels, seed=3)
    sound.soak(pair, trials=3_000 if pair == "float64" else 20_000)
    assert sound.alarms == []
    assert all(counts.worst <= 1 for counts in sound.tallies[pair].outputs.values())


def planted(name: str) -> Sound:
    return Sound(name=name, description="", kernel=CATALOGUE[name].kernel)


def test_an_unsound_kernel_is_accused_with_its_case():
    sound = Soundness([planted("dx_sign")], seed=0)
    sound.soak("float32", trials=500)
    assert sound.alarmed["dx_sign"] > 0
    alarm = sound.alarms[0]
    assert (alarm.verdict.output, alarm.verdict.kind) == ("dx", "wrong")
    outputs = run(planted("dx_sign").kernel, alarm.case.spec, alarm.case.inputs)
    again = judge(References(alarm.case.inputs).of(alarm.case.spec, CONVENTIONS), outputs)
    assert alarm.verdict.kind in {verdict.kind for verdict in again.verdicts(0)}


def test_what_a_kernel_is_known_for_is_no_alarm():
    """A constant channel of 2^34: beta is lost beside 2^34/sqrt(eps)."""
    constant = (ValueFamily("large_constant", 34, 0),)
    training = next(plan for plan in some_plans("float32", 60) if plan.spec.mode == "training" and plan.spec.n > 2)
    spec = replace(training.spec, eps=1e-5, has_gamma=True, has_beta=True)
    plan = replace(training, families=constant, spec=spec, gamma="one", beta="large")
    strayed = Soundness([SOUND["folded"]], seed=0)
    strayed.try_plan(plan, CONVENTIONS)
    assert strayed.alarms == []
    assert strayed.strayed["folded"] > 0
    claimed = Soundness([replace(SOUND["folded"], verdict="ok")], seed=0)
    claimed.try_plan(plan, CONVENTIONS)
    assert claimed.alarmed["folded"] == strayed.strayed["folded"]


def test_a_false_alarm_fails_the_command_and_is_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "SOUND", {"dx_sign": planted("dx_sign")})
    monkeypatch.setattr(command, "SHORT_SOUND_PLANS", 1)
    arguments = ["--short", "--sound", "dx_sign", "--keep", str(tmp_path / "kept"), "--write", str(tmp_path / "p.md")]
    result = CliRunner().invoke(command.selfcheck, arguments)
    assert result.exit_code == 1
    assert "FALSE ALARM v1/sound:dx_sign" in result.output
    assert list((tmp_path / "kept").glob("dx_sign-*.json"))
    assert "Do not edit" in (tmp_path / "p.md").read_text()


def test_unknown_names_are_refused():
    for arguments in (["--fault", "dx_sing"], ["--fault", "mask_ignored"], ["--sound", "pairwize"]):
        result = CliRunner().invoke(command.selfcheck, arguments)
        assert isinstance(result.exception, UsageError)
    with pytest.raises(UsageError, match="no format pair"):
        soak(["pairwise"], ["float8"], trials=1, seed=0, jobs=1)


def test_processes_add_up():
    result = soak(["pairwise", "welford"], ["float32", "bfloat16"], trials=100, seed=0, jobs=2)
    assert list(result.tallies) == ["float32", "bfloat16"]
    assert all(tally.judged >= 100 for tally in result.tallies.values())
    text = page("bnfuzz selfcheck --soak 100", None, None, result)
    assert "| bfloat16 | y |" in text


@pytest.mark.parametrize("pair", PAIRS)
def test_all_trials_together_give_the_bits_of_one_after_the_other(pair):
    for plan in some_plans(pair, 4):
        inputs = plan.expand(3)
        for sound in SOUND.values():
            conventions = sound.conventions(PAIRS[pair].conventions)
            alone = dict(run(sound.kernel, plan.spec, inputs, conventions).items())
            together = dict(run_together(sound.kernel, plan.spec, inputs, conventions).items())
            assert alone.keys() == together.keys()
            for name, array in alone.items():
                assert together[name].dtype == array.dtype
                np.testing.assert_array_equal(together[name].astype(float), array.astype(float), f"{sound.name} {name}")


def test_sequences_are_not_run_together():
    spec = replace(batch_norm_spec((2, 3)), steps=("training", "training"))
    inputs = Inputs(**{name: np.ones((1, *shape), np.float32) for name, (shape, _) in expected_arrays(spec).items()})
    with pytest.raises(UsageError, match="one step"):
        run_together(SOUND["pairwise"].kernel, spec, inputs, CONVENTIONS)


@pytest.mark.parametrize("pair", ["float32", "float16", "bfloat16/float32"])
def test_the_sieve_lets_nothing_through_that_the_judge_would_fail(pair):
    """On faulty outputs and on outputs with one element changed: no unsuspected trial has a failing verdict."""
    rng = np.random.default_rng(0)
    let_through = 0
    for plan in some_plans(pair, 6):
        inputs = plan.expand(16)
        conventions = PAIRS[pair].conventions
        reference = References(inputs).of(plan.spec, conventions)
        for name in ("variance_in_bfloat16", "rsqrt_12_bits", "onepass"):
            outputs = dict(run_together(CATALOGUE[name].kernel, plan.spec, inputs, conventions).items())
            touched = rng.choice(sorted(outputs))
            array = outputs[touched].reshape(16, -1)
            array[rng.integers(0, 16), 0] = rng.choice([np.nan, np.inf, 0.0, 1.0])
            observed = Outputs(**outputs)
            suspected = suspects(reference, observed)
            judged = judge(reference, observed)
            for trial in np.flatnonzero(~suspected):
                assert not {verdict.kind for verdict in judged.verdicts(int(trial))} & (FAILING | {"uncertain"})
                let_through += 1
    assert let_through > 10


def test_wrong_shapes_and_formats_are_suspect():
    plan = some_plans("float32", 1)[0]
    inputs = plan.expand(2)
    reference = References(inputs).of(plan.spec, CONVENTIONS)
    outputs = run_together(SOUND["pairwise"].kernel, plan.spec, inputs, CONVENTIONS)
    assert not suspects(reference, outputs).any()
    assert suspects(reference, replace(outputs, y=outputs.y.astype(np.float64))).all()
    assert suspects(reference, replace(outputs, y=outputs.y[..., np.newaxis])).all()


@pytest.mark.parametrize("shape", [(0, 3), (2, 3, 0), (3, 0), (0, 0)])
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_outputs_without_elements_are_judged(shape, mode):
    spec = batch_norm_spec(shape, steps=(mode,))
    inputs = Inputs(**{name: np.ones((1, *form), np.float32) for name, (form, _) in expected_arrays(spec).items()})
    judged = judge(References(inputs).of(spec, CONVENTIONS), run(SOUND["pairwise"].kernel, spec, inputs))
    assert {verdict.kind for verdict in judged.verdicts(0)} <= {"ok", "vacuous"}


def test_the_longest_sums_that_must_be_told():
    assert largest_told("float32") == 2.0**20
    assert largest_told("bfloat16") == 16
    assert largest_told("bfloat16/float32") == 2.0**20
