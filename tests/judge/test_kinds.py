"""Every kind of verdict that the judge gives, its precedence, and the causes it names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.case import Outputs, batch_norm_spec
from bnfuzz.conventions import Summation
from bnfuzz.judge.compare import CENTRE, judge
from bnfuzz.judge.unstable import FOLDED, ONE_PASS, ORDER
from bnfuzz.judge.verdict import KINDS, precedence
from bnfuzz.numerics.reference import reference

from .example import PLAIN, case, changed, exact_outputs, inputs_of, only, verdict

F32 = np.float32


def test_the_exact_values_pass():
    for format_name in ("float32", "float16", "bfloat16"):
        result, outputs = case(data_format=format_name, trials=3)
        judgement = judge(result, outputs)
        assert {kind for output in judgement.outputs for kind in output.kinds} == {"ok"}
        assert judgement.failing().size == 0
        assert judgement.headline(0) is None
    formats = dict.fromkeys(("data_format", "parameter_format", "statistics_format"), "float64")
    result, outputs = case(**formats)
    assert {verdict.kind for verdict in judge(result, outputs).verdicts(0)} == {"ok"}


@pytest.mark.parametrize("name", ["y", "dgamma", "new_running_var"])
def test_a_wrong_shape(name):
    result, outputs = case()
    array = getattr(outputs, name)
    for wrong in (array[..., :-1], array.reshape(1, -1)[:, :1], np.concatenate([array, array])):
        if wrong.shape == array.shape:
            continue
        found = verdict(result, replace(outputs, **{name: wrong}), name)
        assert (found.kind, found.severity) == ("shape", np.inf)
        assert str(wrong.shape[1:]) in found.why
        assert str(array.shape[1:]) in found.why


def test_a_wrong_format():
    result, outputs = case()
    for wrong in ("float64", "float16", "int32", "bool", "complex64"):
        found = verdict(result, replace(outputs, y=outputs.y.astype(wrong)), "y")
        assert found.kind == "dtype"
        assert wrong in found.why
        assert "float32" in found.why


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["y", "dx", "dgamma", "dbeta", "batch_mean", "new_running_mean"])
def test_nan_and_infinity_where_nothing_overflows(name, value):
    result, outputs = case()
    found = verdict(result, changed(outputs, name, (0, *(0,) * (getattr(outputs, name).ndim - 1)), value), name)
    assert found.kind == "nonfinite"
    assert found.severity == np.inf
    assert found.failing == 1
    assert found.is_finding


def test_a_wrong_value():
    result, outputs = case()
    found = verdict(result, changed(outputs, "y", (0, 1, 2), outputs.y[0, 1, 2] + F32(0.01)), "y")
    assert (found.kind, found.index, found.failing) == ("wrong", (1, 2), 1)
    assert found.exact == result.outputs["y"].value[0, 1, 2]
    assert found.bound == result.outputs["y"].bound[0, 1, 2]
    assert found.observed == float(outputs.y[0, 1, 2] + F32(0.01))


def two_pass(x, gamma, beta, *, eps=1e-5, ddof=0):
    """y of one channel in float32, with a wrong eps or ddof."""
    n = F32(len(x) - ddof)
    d = x - x.sum(dtype=F32) / F32(len(x))
    return d / np.sqrt((d * d).sum(dtype=F32) / n + F32(eps)) * F32(gamma) + F32(beta)


@pytest.mark.parametrize("fault", [{"eps": 1e-3}, {"eps": 0.0}, {"ddof": 1}], ids=str)
def test_a_wrong_eps_or_ddof_is_found(fault):
    x = np.array([0.011, -0.004, 0.002, 0.007], dtype=F32)
    result, _ = case((4, 1), given={"x": x, "gamma": [1.5], "beta": [0.5]})
    right = verdict(result, only(result, "y", two_pass(x, 1.5, 0.5)), "y")
    wrong = verdict(result, only(result, "y", two_pass(x, 1.5, 0.5, **fault)), "y")
    assert right.kind == "ok"
    assert wrong.kind == "wrong"
    assert wrong.severity > 100


def one_pass(x, eps=1e-5):
    mean = x.sum(dtype=F32) / F32(len(x))
    variance = np.maximum((x * x).sum(dtype=F32) / F32(len(x)) - mean * mean, F32(0))
    return mean, variance, (x - mean) / np.sqrt(variance + F32(eps))


def test_a_one_pass_variance_is_unstable_and_named():
    """As flax's fast variance: about 290 for an exact 3."""
    x = np.array([10000.195, 9999.581], dtype=F32)
    result, _ = case((2, 1), given={"x": x, "gamma": [3.0], "beta": [0.0]})
    mean, variance, xhat = one_pass(x)
    assert variance == 0
    y = only(result, "y", F32(3) * xhat)
    found = verdict(result, y, "y")
    assert (found.kind, found.why) == ("unstable", ONE_PASS)
    assert abs(found.exact) == pytest.approx(2.99984, abs=1e-5)
    assert abs(found.observed) == pytest.approx(291, abs=1)
    assert verdict(result, replace(y, batch_mean=np.array([[mean]])), "batch_mean").kind == "ok"


def test_a_moderate_one_pass_variance_is_unstable_by_its_bound():
    rng = np.random.default_rng(1)
    x = (300 + rng.standard_normal(32)).astype(F32)
    result, _ = case((32, 1), given={"x": x, "gamma": [1.0], "beta": [0.0]})
    _, variance, xhat = one_pass(x)
    outputs = replace(only(result, "y", xhat), batch_var=variance.reshape(1, 1))
    for name in ("y", "batch_var"):
        found = verdict(result, outputs, name)
        assert (found.kind, found.why) == ("unstable", ONE_PASS), found


def test_a_wrong_value_beyond_every_unstable_formula_stays_wrong():
    x = np.array([10000.195, 9999.581], dtype=F32)
    result, _ = case((2, 1), given={"x": x, "gamma": [3.0], "beta": [0.0]})
    assert verdict(result, only(result, "y", [290.0, 290.0]), "y").kind == "wrong"


def test_folded_training_output_is_unstable():
    """As torch's 103.2 for 100: within the bound without the hard limit."""
    x = np.array([1e6, 1e6], dtype=F32)
    result, _ = case((1, 1, 2), channel_axis=1, given={"x": x, "gamma": [1.0], "beta": [100.0]})
    scale = F32(1) / np.sqrt(F32(0) + F32(1e-5))
    folded = x * scale + (F32(100) - x[0] * scale)
    found = verdict(result, only(result, "y", folded), "y")
    assert found.exact == 100.0
    assert abs(found.observed - 100) > 1
    assert (found.kind, found.why, found.regime) == ("unstable", CENTRE, "constant")
    assert found.bound < abs(found.observed - 100) <= found.raw_bound


def test_folded_output_beyond_the_raw_bound_is_named():
    x = (1000 + np.random.default_rng(2).standard_normal(16)).astype(F32)
    result, _ = case((16, 1), given={"x": x, "gamma": [2.0], "beta": [0.0]})
    mean = F32(x.astype(np.float64).mean())
    scale = F32(2) / np.sqrt(F32(x.astype(np.float64).var()) + F32(1e-5))
    rounding = F32(2.0**-24) * np.abs(x * scale)
    y = ((x - mean) * scale).astype(F32) + 8 * rounding
    found = verdict(result, only(result, "y", y), "y")
    assert found.kind in ("ok", "unstable")
    if found.kind == "unstable":
        assert found.why in (FOLDED, ONE_PASS, CENTRE)


def welford(x):
    mean, m2 = F32(0), F32(0)
    for count, value in enumerate(x, start=1):
        step = value - mean
        mean = mean + step / F32(count)
        m2 = m2 + step * (value - mean)
    return mean, m2 / F32(len(x))


def test_an_inconsistent_centre_is_unstable():
    """Welford on two neighbours among float32: about −8e9 where −1 is exact.

    They are 8192 times an odd number and the even one after it. Their mean is a tie, which goes to the even one, so
    that the second product, and with it the variance, is 0. Every other step is exact.
    """
    odd, spacing = 12_207_031, 8192
    x = np.array([odd * spacing, (odd + 1) * spacing], dtype=F32)
    assert [int(value) for value in x] == [odd * spacing, (odd + 1) * spacing]
    result, _ = case((2, 1), eps=1e-12, given={"x": x, "gamma": [1.0], "beta": [0.0]})
    mean, variance = welford(x)
    assert (mean, variance) == (x[1], 0)
    y = (x - mean) / np.sqrt(variance + F32(1e-12))
    assert [float(value) for value in y] == pytest.approx([-spacing / 1e-6, 0.0], rel=1e-6)
    found = verdict(result, only(result, "y", y), "y")
    assert found.exact == pytest.approx(-1.0)
    assert (found.kind, found.why) == ("unstable", CENTRE)


def test_overflow_of_intermediates_is_range():
    """Zeros for ±0.447 and ±1.342: the squares of 1e30 overflow."""
    x = np.array([1e30, -1e30, 2e30, 0], dtype=F32)
    result, _ = case((4, 1), given={"x": x, "gamma": [1.0], "beta": [0.0]})
    for observed in (np.zeros(4), np.full(4, np.nan)):
        found = verdict(result, only(result, "y", observed), "y")
        assert (found.kind, found.regime) == ("range", "range")
        assert found.is_finding


def test_dx_of_a_constant_float16_channel_is_range():
    spec = batch_norm_spec(
        (2, 1),
        data_format="float16",
        parameter_format="float16",
        statistics_format="float16",
        has_gamma=False,
        has_beta=False,
    )
    result = reference(spec, inputs_of(spec, x=[1000, 1000]), replace(PLAIN, compute=()))
    assert verdict(result, only(result, "dx", [np.nan, np.nan]), "dx").kind == "range"


@pytest.mark.parametrize(
    ("observed", "kind"), [(np.inf, "ok"), (-np.inf, "nonfinite"), (np.nan, "nonfinite"), (60000.0, "wrong")]
)
def test_a_correct_overflow(observed, kind):
    """y = 1.2e5 has no float16, but is nothing to float32: only Inf of its sign is right."""
    result, outputs = case(
        (2, 1), data_format="float16", eps=1e-5, given={"x": [1.0, -1.0], "gamma": [1.2e5], "beta": [0.0]}
    )
    assert result.outputs["y"].value[0, 0, 0] == pytest.approx(1.2e5, rel=1e-4)
    assert not result.outputs["y"].flag.any()
    found = verdict(result, changed(outputs, "y", (0, 0, 0), observed), "y")
    assert found.kind == kind
    if kind == "ok":
        assert found.severity < 1


def test_an_order_worse_than_the_stated_one_is_unstable():
    n = 512
    x = np.linspace(1, 2, n).astype(F32)
    stated = replace(PLAIN, summation=Summation("pairwise"))
    result, _ = case((n, 1), stated, given={"x": x, "gamma": [1.0], "beta": [0.0]})
    exact = result.outputs["batch_mean"]
    error = (exact.bound + exact.rung_bound).item() * 3
    found = verdict(result, only(result, "batch_mean", exact.value + error), "batch_mean")
    assert (found.kind, found.why) == ("unstable", ORDER)
    loose, _ = case((n, 1), given={"x": x, "gamma": [1.0], "beta": [0.0]})
    assert verdict(loose, only(loose, "batch_mean", exact.value + error), "batch_mean").kind == "ok"


def test_undefined_outputs_are_vacuous_whatever_they_are():
    result, outputs = case((4, 3), given={"x": np.where(np.arange(12) == 4, np.nan, 1.0 * np.arange(12))})
    nothing = changed(outputs, "y", (0, slice(None), 1), np.nan)
    found = verdict(result, nothing, "y")
    assert found.kind == "ok", "two channels are still judged"
    single, single_outputs = case((4, 1), given={"x": [np.nan, 1, 2, 3]})
    for value in (np.nan, 0.0, 1e30):
        assert verdict(single, changed(single_outputs, "y", ..., value), "y").kind == "vacuous"
    assert verdict(single, single_outputs, "dbeta").kind == "ok"
    other = changed(nothing, "y", (0, 0, 0), np.nan)
    assert verdict(result, other, "y").kind == "nonfinite"


def test_empty_outputs_are_ok():
    for shape in ((0, 3), (4, 0)):
        result, outputs = case(shape, conventions=replace(PLAIN, empty_statistics="keep"))
        kinds = {found.output: found.kind for found in judge(result, outputs).verdicts(0)}
        assert kinds.pop("batch_mean", "ok") in ("ok", "vacuous")
        assert kinds.pop("batch_var", "ok") in ("ok", "vacuous")
        assert set(kinds.values()) == {"ok"}


def test_a_reference_that_is_too_coarse_is_uncertain():
    result, outputs = case((4, 1))
    y = result.outputs["y"]
    coarse = replace(result, outputs=result.outputs | {"y": replace(y, rung_bound=y.bound * 2)})
    assert verdict(coarse, outputs, "y").kind == "uncertain"
    far = changed(outputs, "y", ..., outputs.y + F32(1))
    assert verdict(coarse, far, "y").kind == "wrong"


def test_the_worst_kind_names_the_output():
    assert [kind for kind in KINDS if kind in ("wrong", "nonfinite", "unstable", "range", "ok", "shape")] == [
        "shape",
        "nonfinite",
        "wrong",
        "unstable",
        "range",
        "ok",
    ]
    assert precedence("shape") < precedence("ok") < precedence("uncertain")
    result, outputs = case()
    both = changed(changed(outputs, "y", (0, 0, 0), 5.0), "y", (0, 1, 1), np.nan)
    found = verdict(result, both, "y")
    assert (found.kind, found.index, found.failing) == ("nonfinite", (1, 1), 1)


def test_the_headline_prefers_what_fails_a_run():
    x = np.array([1e30, -1e30, 2e30, 0], dtype=F32)
    result, outputs = case((4, 1), given={"x": x, "gamma": [1.0], "beta": [0.0]})
    ranged = changed(outputs, "y", ..., 0.0)
    assert judge(result, ranged).headline(0).kind == "range"
    both = changed(ranged, "dbeta", ..., outputs.dbeta + F32(1))
    assert judge(result, both).headline(0).output == "dbeta"
    assert judge(result, both).headline(0, ("y",)).output == "y"
    assert judge(result, ranged).headline(0, ("dx",)) is None


def test_trials_are_judged_apart():
    result, outputs = case(trials=4)
    judgement = judge(result, changed(outputs, "dx", (2, 0, 0), 1e3))
    assert judgement.failing().tolist() == [2]
    assert [judgement.verdicts(k)[-3].kind for k in range(4)] == ["ok", "ok", "wrong", "ok"]
    assert judgement.verdicts(2)[-3].output == "dx"


def test_absent_outputs_are_not_judged():
    result, outputs = case()
    assert [found.output for found in judge(result, Outputs(y=outputs.y)).verdicts(0)] == ["y"]
    assert judge(result, Outputs()).verdicts(0) == ()


def test_inference_keeps_the_statistics_to_the_bit():
    result, outputs = case(steps=("inference",))
    assert verdict(result, outputs, "new_running_mean").kind == "ok"
    next_up = np.nextafter(outputs.new_running_mean, F32(np.inf))
    assert verdict(result, replace(outputs, new_running_mean=next_up), "new_running_mean").kind == "wrong"


def test_exact_outputs_of_every_rung_pass():
    result, _ = case((8, 1), seed=3)
    confirmed = reference(result.spec, result.inputs, PLAIN, rung="mpmath")
    assert all(found.kind == "ok" for found in judge(confirmed, exact_outputs(result)).verdicts(0))
