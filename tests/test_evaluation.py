"""Blocks through a worker of the backend `numpy`: verdicts per step, from the backend's own state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz import evaluation
from bnfuzz.backends.numpy_reference import NumpyReference
from bnfuzz.backends.pool import Pool, Reply
from bnfuzz.case import Case, Inputs, Outputs, batch_norm_spec, expected_arrays
from bnfuzz.evaluation import CALL, References, Result, evaluate_block, evaluate_case
from bnfuzz.numerics.reference import RUNGS

NUMPY = NumpyReference().conventions


@pytest.fixture(scope="module")
def pool():
    with Pool() as workers:
        yield workers


def inputs_of(spec, trials=3, seed=0) -> Inputs:
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        values = rng.standard_normal((trials, *shape))
        arrays[name] = (np.abs(values) if name == "running_var" else values).astype(format_name)
    return Inputs(**arrays)


def ran(pool, spec, inputs) -> Outputs:
    outputs = pool.run(["numpy"], spec, inputs)["numpy"].outputs
    assert outputs is not None
    return outputs


def judged(spec, inputs, outputs) -> Result:
    """What evaluation makes of a reply with these outputs."""
    reply = Reply(backend="numpy", status="ok", outputs=outputs)
    return evaluation._result("numpy", reply, spec, inputs, NUMPY, References(inputs))


def kinds(result: Result, trial: int) -> dict[str, str]:
    return {verdict.output: verdict.kind for verdict in result.verdicts(trial)}


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("cotangent", ["explicit", "sum", "mean_square"])
def test_one_step(pool, mode, cotangent):
    spec = batch_norm_spec((4, 3, 2), 1, steps=(mode,), cotangent=cotangent)
    result = evaluate_block(pool, ["numpy"], spec, inputs_of(spec))["numpy"]
    assert result.judged
    assert result.failing().size == 0
    assert all(result.headline(trial) is None for trial in range(3))
    assert all(set(kinds(result, trial).values()) == {"ok"} for trial in range(3))


STEPS = ("training", "training", "inference", "training")


def test_a_sequence_passes_step_by_step(pool):
    spec = batch_norm_spec((4, 2), steps=STEPS)
    result = evaluate_block(pool, ["numpy"], spec, inputs_of(spec))["numpy"]
    assert len(result.steps) == len(STEPS)
    assert result.failing().size == 0
    assert set(kinds(result, 1).values()) == {"ok"}


def test_each_step_starts_from_what_the_backend_left(pool):
    """A backend whose state goes astray is at fault in that step alone; the steps after it follow its own state."""
    spec = batch_norm_spec((4, 2), steps=STEPS)
    inputs = inputs_of(spec)
    outputs = ran(pool, spec, inputs)
    mean = outputs.new_running_mean.copy()
    mean[1, 0] += np.float32(0.5)
    first_two = replace(spec, steps=STEPS[:2])
    given = Inputs(**{name: a[:, :2] if name in ("x", "cotangent") else a for name, a in inputs.items()})
    shifted = replace(given, running_mean=mean[:, 0], running_var=outputs.new_running_var[:, 0])
    second = replace(spec, steps=("training",))
    follow = ran(pool, second, shifted.at_step(1, running_mean=mean[:, 0], running_var=outputs.new_running_var[:, 0]))
    astray = {}
    for name, array in outputs.items():
        astray[name] = array[:, :2].copy()
        astray[name][:, 1] = getattr(follow, name)
    astray["new_running_mean"][:, 0] = mean[:, 0]
    result = judged(first_two, given, Outputs(**astray))
    assert result.failing().tolist() == [1]
    assert [step.failing().tolist() for step in result.steps] == [[1], []]
    (found,) = (verdict for verdict in result.verdicts(1) if verdict.kind != "ok")
    assert (found.output, found.kind) == ("new_running_mean", "wrong")
    assert found.why.startswith("step 1")


def test_the_worst_step_speaks_for_an_output(pool):
    spec = batch_norm_spec((4, 2), steps=("training", "training"))
    inputs = inputs_of(spec, trials=1)
    outputs = ran(pool, spec, inputs)
    y = outputs.y.copy()
    y[0, 0, 0, 0] += np.float32(0.01)
    y[0, 1, 0, 0] += np.float32(1.0)
    result = judged(spec, inputs, replace(outputs, y=y))
    (found,) = (verdict for verdict in result.verdicts(0) if verdict.output == "y")
    assert found.kind == "wrong"
    assert found.why == "step 2"
    assert result.headline(0) == found


def test_a_state_of_the_wrong_format_ends_the_sequence(pool):
    spec = batch_norm_spec((4, 2), steps=("training", "training"))
    inputs = inputs_of(spec)
    outputs = ran(pool, spec, inputs)
    for wrong, kind in (
        (outputs.new_running_var.astype(np.float64), "dtype"),
        (outputs.new_running_var[..., :1], "shape"),
    ):
        result = judged(spec, inputs, replace(outputs, new_running_var=wrong))
        assert len(result.steps) == 1
        assert kinds(result, 0)["new_running_var"] == kind


def test_mpmath_confirms(pool):
    spec = batch_norm_spec((4, 2), steps=("training",))
    inputs = inputs_of(spec)
    inputs.x[1] += 1e4
    first = evaluate_block(pool, ["numpy"], spec, inputs)["numpy"]
    confirmed = evaluate_block(pool, ["numpy"], spec, inputs, rung="mpmath")["numpy"]
    assert set(confirmed.steps[0].reference.rungs) == {"mpmath"}
    assert first.steps[0].reference.rungs[0] in RUNGS[:2]
    for trial in range(3):
        assert kinds(first, trial) == kinds(confirmed, trial)
        for one, other in zip(first.verdicts(trial), confirmed.verdicts(trial), strict=True):
            assert one.severity == pytest.approx(other.severity, rel=1e-3, abs=1e-6)


def test_mpmath_confirms_a_finding(pool):
    spec = batch_norm_spec((4, 2))
    inputs = inputs_of(spec)
    outputs = ran(pool, spec, inputs)
    wrong = replace(outputs, dx=outputs.dx + np.float32(1e-3))
    reply = Reply(backend="numpy", status="ok", outputs=wrong)
    for rung in (None, *RUNGS):
        result = evaluation._result("numpy", reply, spec, inputs, NUMPY, References(inputs, rung))
        assert kinds(result, 0)["dx"] == "wrong"
        assert result.failing().tolist() == [0, 1, 2]


def test_one_case(pool):
    spec = batch_norm_spec((4, 2), steps=("training", "inference"))
    verdicts = evaluate_case(pool, "numpy", Case(spec=spec, inputs=inputs_of(spec, trials=1)))
    assert {verdict.kind for verdict in verdicts} == {"ok"}
    assert "batch_mean" in {verdict.output for verdict in verdicts}


def test_what_cannot_be_expressed_is_unsupported(pool):
    spec = replace(batch_norm_spec((4, 2), has_running=False), operation="layer_norm", reduced_axes=(1,))
    result = evaluate_block(pool, ["numpy"], spec, inputs_of(spec))["numpy"]
    assert not result.judged
    assert result.failing().size == 0
    assert kinds(result, 0) == {CALL: "unsupported"}


@pytest.mark.parametrize("status", ["error", "crash", "hang"])
@pytest.mark.parametrize(
    ("shape", "steps", "regime"),
    [
        ((4, 2), ("training",), "plain"),
        ((1, 2), ("training",), "n1"),
        ((1, 2), ("inference",), "plain"),
        ((0, 2), ("inference",), "empty"),
        ((2, 0), ("training",), "empty"),
    ],
)
def test_a_failed_call_is_a_verdict_on_the_call(status, shape, steps, regime):
    reply = Reply(backend="numpy", status=status, message="died of SIGSEGV")
    result = Result("numpy", reply, batch_norm_spec(shape, steps=steps))
    (found,) = result.verdicts(0)
    assert (found.output, found.kind, found.why, found.regime) == (CALL, status, "died of SIGSEGV", regime)
    assert result.failing().tolist() == [0]
    assert result.headline(0) == found


def test_mutated_inputs_outrank_what_passed(pool):
    spec = batch_norm_spec((4, 2))
    inputs = inputs_of(spec)
    reply = Reply(backend="numpy", status="ok", outputs=ran(pool, spec, inputs), mutated=("x", "gamma"))
    result = evaluation._result("numpy", reply, spec, inputs, NUMPY, References(inputs))
    assert result.failing().tolist() == [0, 1, 2]
    headline = result.headline(2)
    assert headline is not None
    assert (headline.output, headline.kind) == (CALL, "mutated")
    assert "x, gamma" in headline.why


def test_references_are_shared_between_equal_rules():
    spec = batch_norm_spec((4, 2))
    references = References(inputs_of(spec))
    first = references.of(spec, NUMPY)
    assert references.of(spec, replace(NUMPY, source="elsewhere", ranks=(2, 4))) is first
    assert references.of(spec, replace(NUMPY, running_ddof=1)) is not first


def test_what_a_step_does_not_give_is_not_judged(pool):
    """An implementation that offers gradients in training only: its inference steps hold all bits set."""
    spec = batch_norm_spec((4, 3), 1, steps=("training", "inference"))
    inputs = inputs_of(spec)
    outputs = ran(pool, spec, inputs)
    assert outputs.dx is not None
    dx = outputs.dx.copy()
    dx[:, 1].view(np.uint8)[...] = 0xFF
    result = judged(spec, inputs, replace(outputs, dx=dx))
    assert result.failing().size == 0
    assert "dx" in {output.name for output in result.steps[0].outputs}
    assert "dx" not in {output.name for output in result.steps[1].outputs}
    nan = outputs.dx.copy()
    nan[:, 1] = np.nan
    assert kinds(judged(spec, inputs, replace(outputs, dx=nan)), 0)["dx"] == "nonfinite"


def test_kinds_are_those_of_the_verdicts(pool):
    for steps in (("training",), ("training", "inference", "training")):
        spec = batch_norm_spec((4, 3), 1, steps=steps)
        inputs = inputs_of(spec)
        outputs = ran(pool, spec, inputs)
        assert outputs.y is not None
        result = judged(spec, inputs, replace(outputs, y=outputs.y * np.float32(1.5)))
        for trial in range(3):
            assert result.kinds(trial) == kinds(result, trial)
