"""bnfuzz.check: sound functions pass and the result says what that means; wrong ones fail in words that help."""

from __future__ import annotations

import inspect
import json
import warnings

import numpy as np
import pytest

import bnfuzz
from bnfuzz.campaign.tally import OutputTally
from bnfuzz.case import Case, Inputs, batch_norm_spec
from bnfuzz.casefile import read
from bnfuzz.contract import Contract
from bnfuzz.errors import UsageError
from bnfuzz.testing import CheckFailure, CheckResult, check

FEW = {"trials": 120}


def _over(x, axis):
    return tuple(a for a in range(x.ndim) if a != axis), [-1 if a == axis else 1 for a in range(x.ndim)]


def sound(x, gamma, beta, *, eps, axis):
    axes, along = _over(x, axis)
    deviation = x - x.mean(axes, keepdims=True)
    variance = (deviation * deviation).mean(axes, keepdims=True)
    return deviation / np.sqrt(variance + x.dtype.type(eps)) * gamma.reshape(along) + beta.reshape(along)


def gradients(x, gamma, beta, cotangent, *, eps, axis):
    axes, along = _over(x, axis)
    deviation = x - x.mean(axes, keepdims=True)
    r = 1 / np.sqrt((deviation * deviation).mean(axes, keepdims=True) + x.dtype.type(eps))
    xhat = deviation * r
    centred = cotangent - cotangent.mean(axes, keepdims=True)
    dx = gamma.reshape(along) * r * (centred - xhat * (cotangent * xhat).mean(axes, keepdims=True))
    return dx, (cotangent * xhat).sum(axes), cotangent.sum(axes)


def no_mean_of_the_cotangent(x, gamma, beta, cotangent, *, eps, axis):
    axes, along = _over(x, axis)
    deviation = x - x.mean(axes, keepdims=True)
    r = 1 / np.sqrt((deviation * deviation).mean(axes, keepdims=True) + x.dtype.type(eps))
    xhat = deviation * r
    dx = gamma.reshape(along) * r * (cotangent - xhat * (cotangent * xhat).mean(axes, keepdims=True))
    return dx, (cotangent * xhat).sum(axes), cotangent.sum(axes)


def hard_wired(x, gamma, beta, *, eps, axis):
    return sound(x, gamma, beta, eps=1e-3, axis=axis)


def half_the_digits(x, gamma, beta, *, eps, axis):
    return sound(x, gamma * x.dtype.type(1 + 2.0**-12), beta, eps=eps, axis=axis)


def refuses_three_channels(x, gamma, beta, *, eps, axis):
    if x.shape[axis] == 3:
        raise ValueError("no kernel for three channels")
    return sound(x, gamma, beta, eps=eps, axis=axis)


def unscaled_sums(x, gamma, beta, *, eps, axis):
    return sound(x, gamma, beta, eps=eps, axis=axis) + 0 * x.sum()


def test_a_sound_function_passes_and_the_result_says_what_that_means():
    result = bnfuzz.check(sound, backward=gradients, **FEW)
    assert isinstance(result, CheckResult)
    assert result.tally.judged >= 110
    assert set(result.worst) == {"y", "dgamma", "dbeta", "dx"}
    assert all(ratio <= 1 for ratio in result.worst.values())
    text = str(result)
    assert f"{result.tally.judged} trials, {result.informative} of 480 checks informative" in text
    for part in (
        "sound (numpy) passed",
        "float64",
        "modes training",
        f"{len(result.shapes)} shapes",
        "offset",
        "seed 0",
    ):
        assert part in text
    assert "looser" not in text


def test_what_says_nothing_is_counted_apart_from_what_the_reference_cannot_tell():
    """An uncertain check has a bound that says something: it may be among the informative ones."""
    result = CheckResult(name="f", framework="numpy", contract=Contract(), formats=(), seed=0)
    result.tally.judged = 10
    result.tally.outputs["y"] = OutputTally(cases=10, informative=9, vacuous=1, uncertain=3)
    result.tally.outputs["dx"] = OutputTally(cases=10, informative=8, vacuous=2)
    counts = "10 trials, 17 of 20 checks informative, 3 vacuous; 3 uncertain (the reference cannot tell)"
    assert str(result).splitlines()[0].endswith(counts)


def test_a_sound_function_of_jax_passes_with_its_gradients():
    jnp = pytest.importorskip("jax.numpy")

    def batch_norm(x, gamma, beta, *, eps, axis):
        axes, along = _over(x, axis)
        deviation = x - x.mean(axes, keepdims=True)
        variance = (deviation * deviation).mean(axes, keepdims=True)
        return deviation / jnp.sqrt(variance + eps) * gamma.reshape(along) + beta.reshape(along)

    result = check(batch_norm, framework="jax", shapes=[(6, 3), (2, 3, 4)], trials=60)
    assert result.formats == (("float32", "float32", "float32"),)
    assert result.shapes <= {(6, 3), (2, 3, 4)}
    assert set(result.worst) == {"y", "dgamma", "dbeta", "dx"}


def test_the_framework_is_the_one_that_the_code_names():
    pytest.importorskip("jax")
    scope = {}
    exec(
        "import jax.numpy as jnp\n"
        "def f(x, gamma, beta, *, eps, axis):\n"
        "    d = x - x.mean(1 - axis, keepdims=True)\n"
        "    along = [-1, 1] if axis == 0 else [1, -1]\n"
        "    r = 1 / jnp.sqrt((d * d).mean(1 - axis, keepdims=True) + eps)\n"
        "    return d * r * gamma.reshape(along) + beta.reshape(along)\n",
        scope,
    )
    assert check(scope["f"], shapes=[(4, 2)], trials=20).framework == "jax"
    assert check(sound, shapes=[(4, 2)], trials=20).framework == "numpy"


def test_the_same_seed_checks_the_same():
    first, again, other = (check(sound, seed=seed, **FEW) for seed in (3, 3, 4))
    assert first.worst == again.worst
    assert first.drawn == again.drawn
    assert (first.worst, first.drawn) != (other.worst, other.drawn)


def test_a_wrong_forward_is_told_in_full():
    with pytest.raises(CheckFailure) as caught:
        check(hard_wired, formats=["float32"], **FEW)
    text, finding = str(caught.value), caught.value.finding
    assert isinstance(caught.value, AssertionError)
    assert finding.confirmed
    (verdict,) = finding.verdicts
    assert verdict.kind == "wrong"
    for part in (
        "hard_wired (numpy) is not batch norm: y wrong",
        "batch norm, training: x [",
        "error/bound",
        f"{verdict.exact:.9g}",
        f"{verdict.observed:.9g}",
        f"{verdict.bound:.3g}",
        "cause: eps_default_1e_3",
        "to see it again:",
        "import numpy as np",
    ):
        assert part in text


def test_the_code_in_the_text_shows_the_failure_again():
    with pytest.raises(CheckFailure) as caught:
        check(hard_wired, formats=["float32"], **FEW)
    text, finding = str(caught.value), caught.value.finding
    code = text[text.index("to see it again:") :].splitlines()[1:]
    *steps, call, comment = [line.strip() for line in code]
    scope = {"hard_wired": hard_wired}
    exec("\n".join(steps), scope)
    (verdict,) = finding.verdicts
    assert eval(call, scope)[verdict.index] == np.float32(verdict.observed)
    assert comment.startswith("# y[")


def test_a_wrong_gradient_is_told_with_its_cause():
    with pytest.raises(CheckFailure, match="dx wrong") as caught:
        check(sound, backward=no_mean_of_the_cotangent, formats=["float32"], **FEW)
    assert "cause: dx_no_mean_term" in str(caught.value)
    assert "cotangent = " in str(caught.value) or "the loss" in str(caught.value)


def test_the_backward_of_the_module_is_judged_too(monkeypatch):
    """As `bnfuzz fuzz --target` does it; one that is only imported there belongs to something else."""
    monkeypatch.setitem(globals(), "backward", no_mean_of_the_cotangent)
    with pytest.raises(CheckFailure, match="dx_no_mean_term"):
        bnfuzz.check(sound, **FEW)
    monkeypatch.setitem(globals(), "backward", inspect.unwrap)
    assert set(bnfuzz.check(sound, **FEW).worst) == {"y"}


def test_it_is_said_where_no_gradients_are_judged():
    unjudged = "gradients not judged: there is no backward"
    assert unjudged in str(bnfuzz.check(sound, trials=20))
    assert unjudged not in str(bnfuzz.check(sound, backward=gradients, trials=20))


def test_values_that_reach_other_channels_are_a_leak():
    with pytest.raises(CheckFailure, match="y leak") as caught:
        check(unscaled_sums, shapes=[(4, 3)], families=["noise"], formats=["float32"], **FEW)
    assert "# channel" in str(caught.value)


def test_what_a_function_raises_is_shown_with_its_own_traceback_and_the_case():
    with pytest.raises(CheckFailure) as caught:
        check(refuses_three_channels, shapes=[(2, 3), (4, 2)], **FEW)
    text = str(caught.value)
    assert "refuses_three_channels raised on this case:" in text
    assert "batch norm, training: x [" in text
    assert 'raise ValueError("no kernel for three channels")' in text
    assert text.endswith("ValueError: no kernel for three channels")
    assert "bnfuzz/backends" not in text


class Counting:
    """A sound function that counts its calls; `off` says of which of them something else is done."""

    def __init__(self, wrong, *, off):
        self.wrong, self.off, self.calls = wrong, off, 0

    def __call__(self, x, gamma, beta, *, eps, axis):
        self.calls += 1
        y = sound(x, gamma, beta, eps=eps, axis=axis)
        return self.wrong(y) if self.off(self.calls) else y


def _raise(y):
    raise ArithmeticError("not today")


@pytest.mark.parametrize("call", [1, 40, 97])
def test_what_is_raised_once_fails_the_check_although_it_does_not_come_again(call):
    once = Counting(_raise, off=lambda calls: calls == call)
    with pytest.raises(CheckFailure, match="ArithmeticError: not today") as caught:
        check(once, framework="numpy", trials=60)
    assert "in none of them when they were made again" in str(caught.value)
    assert "batch norm, training: x [" in str(caught.value)


@pytest.mark.parametrize("call", [2, 3])
def test_what_is_raised_by_a_call_that_only_relates_trials_fails_the_check(call):
    """The one trial is judged by the first call; the second repeats it, the third has other values in one channel."""
    once = Counting(_raise, off=lambda calls: calls == call)
    with pytest.raises(CheckFailure, match="raised on this case, and not when it was called again"):
        check(once, framework="numpy", shapes=[(4, 3)], families=["noise"], formats=["float32"], trials=1)


def test_a_failure_that_does_not_come_again_is_told_although_the_check_passes():
    once = Counting(lambda y: y + y.dtype.type(1), off=lambda calls: calls in (3, 5))
    result = check(once, framework="numpy", shapes=[(4, 3)], families=["noise"], formats=["float32"], trials=60)
    assert result.tally.outputs["y"].findings == result.below["unconfirmed"] == 2
    assert result.unconfirmed["y wrong"] == result.tally.outputs["y"].worst > 1e3 > result.worst["y"]
    assert "seen, and no failure: 2 trials unconfirmed\n  unconfirmed: y wrong, error/bound up to " in str(result)
    sound_one = check(sound, shapes=[(4, 3)], families=["noise"], formats=["float32"], trials=60)
    assert "unconfirmed" not in str(sound_one)


def test_a_result_of_the_wrong_type_is_an_error_of_the_function():
    with pytest.raises(CheckFailure, match="y shape"):
        check(lambda x, gamma, beta, *, eps, axis: "y", backward=None, **FEW)


@pytest.mark.parametrize("terms", [{"ulps": 2**24}, {"accept": ["wrong", "unstable"]}])
def test_a_looser_contract_passes_more_and_is_printed(terms):
    narrow = {"families": ["noise"], "formats": ["float32"], "shapes": [(6, 2)], "trials": 40}
    with pytest.raises(CheckFailure):
        check(half_the_digits, **narrow)
    text = str(check(half_the_digits, **narrow, **terms))
    assert "looser than the bounds: " in text
    assert ("16777216 ULPs" in text) or ("accepted: wrong, unstable" in text and "no failure" in text)


def test_conventions_that_are_stated_are_no_fault():
    def own_eps(x, gamma, beta):
        return sound(x, gamma, beta, eps=1e-3, axis=1)

    with pytest.raises(CheckFailure):
        check(own_eps, framework="numpy", formats=["float32"], **FEW)
    result = check(own_eps, framework="numpy", conventions={"default_eps": 1e-3}, **FEW)
    assert result.tally.judged


def test_only_the_stated_ranks_are_drawn():
    def of_images(x, gamma, beta, *, eps, axis):
        _batch, _channels, _height, _width = x.shape
        return sound(x, gamma, beta, eps=eps, axis=axis)

    result = bnfuzz.check(of_images, conventions={"ranks": (4, 4), "channel_axes": 1}, **FEW)
    assert {len(shape) for shape in result.shapes} == {4}


def test_given_cases_come_first_and_are_enough_to_fail(tmp_path):
    x = np.array([[[1e-3, 1], [0, 2], [2e-3, 4]]], np.float32)
    one = np.ones((1, 2), np.float32)
    spec = batch_norm_spec((3, 2), 1, has_running=False, cotangent="sum")
    case = Case(spec=spec, inputs=Inputs(x=x, gamma=one, beta=one * 0))
    with pytest.raises(CheckFailure) as caught:
        check(hard_wired, cases=[case], save=tmp_path)
    (path,) = (tmp_path / "found").glob("*.json")
    assert str(path) in str(caught.value)
    assert read(path).case.spec.shape[0] <= 3
    with pytest.raises(CheckFailure):
        check(hard_wired, cases=[path])
    assert check(sound, cases=[path], trials=1).tally.judged >= 2


def test_large_cases_go_to_a_file(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def only_large(x, gamma, beta, *, eps, axis):
        return sound(x, gamma, beta, eps=eps, axis=axis) + x.dtype.type(x.size > 100)

    with pytest.raises(CheckFailure) as caught:
        check(only_large, framework="numpy", shapes=[(80, 2)], formats=["float32"], trials=20)
    (path,) = tmp_path.glob("bnfuzz-*.json")
    assert f'cases=["{path}"]' in str(caught.value)
    assert json.loads(path.read_text())["case"]


def test_warnings_of_numpy_are_no_errors_of_the_function():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check(sound, families=["near_overflow"], trials=40).tally.judged


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"framework": "keras"}, "framework 'keras' is unknown"),
        ({"formats": ["float8"]}, "formats holds 'float8', which is no format"),
        ({"formats": ["bfloat16"]}, "takes float32, float64; state more in conventions="),
        ({"modes": ["inference"]}, "it takes no running statistics"),
        ({"modes": ["eval"]}, "modes holds 'eval'; use some of training, inference"),
        ({"shapes": [(0, 3)]}, "shapes holds (0, 3); give tuples of positive sizes"),
        ({"shapes": [()]}, "shapes holds ()"),
        ({"shapes": [3]}, "shapes holds 3"),
        ({"shapes": 3}, "shapes=3 is no list"),
        ({"channel_axis": 9}, "takes nothing of what the arguments leave"),
        ({"channel_axis": 1.5}, "channel_axis=1.5 is no int"),
        ({"channel_axis": 2, "shapes": [(4, 3)]}, "channel_axis=2: shapes holds (4, 3)"),
        ({"cases": 0}, "cases=0 is no list"),
        ({"save": "/dev/null"}, "/dev/null is no folder"),
        ({"trials": 0}, "trials=0 must be at least 1"),
        ({"seed": -1}, "seed=-1 not negative"),
        ({"families": ["noisy"]}, "noisy"),
        ({"accept": ["bad"]}, "accept holds 'bad'"),
        ({"ulps": -1}, "ulps=-1"),
        ({"conventions": {"eps": 1}}, "states 'eps', which is no convention"),
        ({"cases": ["nowhere.json"]}, "nowhere.json"),
        ({"backward": 3}, "backward is of type int"),
        ({"shapes": [(2, 2, 2, 2, 2, 2, 2)]}, "takes nothing of what the arguments leave"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises(UsageError) as caught:
        check(sound, **{**FEW, **arguments})
    assert message in str(caught.value)


@pytest.mark.parametrize(("f", "message"), [(3, "takes a function, not a int"), (lambda x: x, "cannot be called as")])
def test_what_is_no_such_function(f, message):
    with pytest.raises(UsageError) as caught:
        check(f)
    assert message in str(caught.value)
