"""Two batch norms against each other: sound kernels are the same, each fault is laid at the right door."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case, Inputs, batch_norm_spec, expected_arrays
from bnfuzz.diagnosis.contrast.contrast import contrast
from bnfuzz.diagnosis.contrast.trials import FEW_VALUES, smaller, varied_inputs, varied_spec
from bnfuzz.diagnosis.documented import told, whose_default
from bnfuzz.errors import UsageError
from bnfuzz.report.contrast.text import contrast_text

KERNEL = """
import numpy as np
from bnfuzz.case import batch_norm_spec
from bnfuzz.faults.backend import CONVENTIONS, entry
from bnfuzz.faults.run import run_steps

KERNEL = entry("{name}").kernel

def run(arrays, axis, eps, training=True, **others):
    name = str(arrays["x"].dtype)
    spec = batch_norm_spec(
        arrays["x"].shape, axis, data_format=name, parameter_format=name, statistics_format=name, eps=eps,
        steps=("training" if training else "inference",), **others,
    )
    return run_steps(KERNEL, spec, arrays, CONVENTIONS)[0]

def batch_norm(x, gamma, beta, running_mean, running_var, *, eps=1e-5, momentum=0.1, axis=1, training=True):
    arrays = dict(x=x, gamma=gamma, beta=beta, running_mean=running_mean, running_var=running_var)
    out = run(arrays, axis, eps, training, momentum=momentum, cotangent="sum")
    return out["y"], out["new_running_mean"], out["new_running_var"]

def backward(x, gamma, beta, cotangent, *, eps=1e-5, axis=1):
    zero = np.zeros_like(gamma)
    arrays = dict(x=x, gamma=gamma, beta=beta, running_mean=zero, running_var=zero + 1, cotangent=cotangent)
    out = run(arrays, axis, eps)
    return out["dx"], out["dgamma"], out["dbeta"]
"""
"""A catalogue kernel as a user's own file: it goes the whole way that users' files go."""

PLAIN = """
def batch_norm(x, gamma, beta{options}):
    axes, shape = (0, 2), (1, -1, 1)
    half, deviation = x.dtype.type(0.5), x - x.mean(axes, keepdims=True)
    variance = (deviation * deviation).mean(axes, keepdims=True)
    return deviation / (variance + x.dtype.type({eps})) ** half * gamma.reshape(shape) + beta.reshape(shape)
"""


@pytest.fixture(scope="module")
def pool():
    with Pool() as pool:
        yield pool


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")

    def write(source: str, name: str) -> str:
        path: Path = folder / f"{name.replace(':', '_')}.py"
        path.write_text(source, encoding="utf-8")
        return f"target:{path}:batch_norm"

    return write


@pytest.fixture(scope="module")
def kernel(planted):
    return lambda name: planted(KERNEL.format(name=name), name)


def case_of(*, seed: int = 5, shape: tuple[int, ...] = (6, 3, 4), **others) -> Case:
    """Plain inputs, as somebody compares two functions: gamma 1, beta 0, fresh buffers."""
    spec = batch_norm_spec(shape, 1, **{"eps": None, "momentum": None, **others})
    rng = np.random.default_rng(seed)
    values = {"gamma": 1.0, "beta": 0.0, "running_mean": 0.0, "running_var": 1.0}
    arrays = {
        name: (np.full((1, *shape), values[name]) if name in values else rng.standard_normal((1, *shape))).astype("f4")
        for name, (shape, _) in expected_arrays(spec).items()
    }
    return Case(spec=spec, inputs=Inputs(**arrays))


@pytest.mark.parametrize("name", ["sequential", "kahan", "autodiff", "scale_first"])
def test_sound_kernels_are_the_same_function(pool, kernel, name):
    found = contrast(pool, kernel("sound:pairwise"), kernel(f"sound:{name}"), case_of())
    assert found.same
    assert found.a.sound
    assert found.b.sound
    text = contrast_text(found)
    assert "THE SAME FUNCTION up to rounding." in text
    assert "inference too" in text


FAULTS = {
    "ddof1_norm": ("y", "dgamma", "dx"),
    "global_stats_all_channels": ("y", "dgamma", "dx"),
    "eps_outside": ("y", "dgamma", "dx"),
    "std_missing_sqrt": ("y", "dgamma", "dx"),
    "beta_dropped": ("y",),
    "dx_no_mean_term": ("dx",),
    "dx_no_var_term": ("dx",),
    "dx_no_gamma": ("dx",),
    "dx_sign": ("dx",),
    "dgamma_mean": ("dgamma",),
    "dgamma_uses_x": ("dgamma",),
    "dbeta_uses_input": ("dbeta",),
    "rv_std": ("new_running_var",),
    "rv_not_updated": ("new_running_var",),
    "eval_uses_batch": ("y",),
    "eval_no_eps": ("y",),
}


@pytest.mark.parametrize(("name", "swapped"), [(name, bool(i % 2)) for i, name in enumerate(FAULTS)])
def test_a_fault_is_laid_at_the_door_of_the_side_that_has_it(pool, kernel, name, swapped):
    sides = (kernel(f"fault:{name}"), kernel("sound:pairwise"))
    found = contrast(pool, *(sides if swapped else sides[::-1]), case_of())
    (difference,) = found.differences
    assert not found.same
    assert difference.name == name
    assert difference.at_fault == (("A",) if swapped else ("B",))
    wrong, right = (found.a, found.b) if swapped else (found.b, found.a)
    assert right.sound
    assert set(wrong.failing) == set(FAULTS[name])
    assert f"{difference.at_fault[0]} is wrong in" in contrast_text(found)


def test_the_same_fault_on_both_sides_is_the_same_function_and_no_batch_norm(pool, kernel):
    name = kernel("fault:dx_no_mean_term")
    found = contrast(pool, name, name, case_of())
    assert found.same
    text = contrast_text(found)
    assert "but it is not batch norm" in text
    assert "dx_no_mean_term" in text


@pytest.mark.parametrize(
    ("fault", "eps", "asked"),
    [("eps_hard1e_5", 1e-5, None), ("eps_default_1e_3", 1e-3, None), ("eps_clamp_min", 1e-5, 1e-7)],
)
def test_an_eps_that_is_given_and_ignored(pool, kernel, fault, eps, asked):
    found = contrast(pool, kernel("sound:pairwise"), kernel(f"fault:{fault}"), case_of(eps=asked))
    (difference,) = found.differences
    assert (difference.name, difference.at_fault) == ("eps", ("B",))
    assert np.float32(found.b.eps) == np.float32(eps)
    assert told(eps) in contrast_text(found)


@pytest.mark.parametrize("eps", ["1e-3", "2e-5", "0.0237"])
def test_an_eps_without_an_argument_is_found_from_the_outputs(pool, planted, eps):
    mine = planted(PLAIN.format(options="", eps=eps), f"own_{eps[-1]}")
    yours = planted(PLAIN.format(options=", eps=1e-5", eps="eps"), "given")
    found = contrast(pool, yours, mine, case_of(has_running=False, cotangent="sum"))
    (difference,) = found.differences
    assert difference.name == "eps"
    assert difference.at_fault == ()
    assert difference.sentence == f"A normalises with eps 1e-05, B with eps {told(float(eps))}"
    equal, *largest = found.equal_eps
    assert np.float32(equal) == np.float32(eps)
    assert max(largest) < 1


@pytest.mark.parametrize(
    ("argument", "said"),
    [("eps=1e-5", "the default of its argument"), ("eps", "handed to it, as it has no default")],
)
def test_whose_the_eps_is(pool, planted, argument, said):
    theirs = planted(PLAIN.format(options=f", *, {argument}", eps="eps"), f"whose_{len(argument)}")
    own = planted(PLAIN.format(options="", eps="1e-3"), "own_3")
    found = contrast(pool, theirs, own, case_of(has_running=False, cotangent="sum"))
    assert found.differences[0].evidence[0].startswith(f"A: eps 1e-05, {said}. ")


def test_momentum_and_ddof_are_conventions(pool, kernel):
    for fault, name in (("momentum_swapped", "momentum"), ("rv_unbiased", "running_ddof")):
        found = contrast(pool, kernel("sound:pairwise"), kernel(f"fault:{fault}"), case_of())
        (difference,) = found.differences
        assert (difference.name, difference.at_fault) == (name, ())
        assert found.a.sound
        assert found.b.sound


def test_gamma_taken_as_one_is_a_convention(pool, kernel):
    (difference,) = contrast(pool, kernel("fault:fix_gamma"), kernel("sound:pairwise"), case_of()).differences
    assert difference.name == "fix_gamma"
    assert difference.sentence.startswith("A takes gamma as 1")


@pytest.mark.parametrize("name", ["onepass", "onepass_clamp"])
def test_a_formula_that_loses_its_digits_is_not_the_same_function(pool, kernel, name):
    found = contrast(pool, kernel("sound:pairwise"), kernel(f"fault:{name}"), case_of())
    (difference,) = found.differences
    assert difference.at_fault == ("B",)
    assert difference.name in ("onepass", "onepass_clamp")
    # Where the variance comes out negative its root is NaN; clamped at 0 it is merely far off.
    assert f"B is {'nonfinite' if name == 'onepass' else 'unstable'} in y" in contrast_text(found)
    assert "where the mean is far larger than the spread: onepass" in difference.sentence
    assert {about for about, fit in found.b.fits.items() if not fit.agrees} == {"offset"}


def test_exact_zeros_are_named(pool, kernel):
    for cotangent, zeros in (("sum", ("dx", "dgamma")), ("mean_square", ("dbeta",))):
        case = case_of(cotangent=cotangent)
        found = contrast(pool, kernel("sound:sequential"), kernel("sound:autodiff"), case)
        text = contrast_text(found)
        for output in zeros:
            assert f"{output}: the exact value is 0 (" in text
        assert "nothing." in text
        assert found.same


def test_a_function_that_raises_is_the_difference(pool, kernel, planted):
    raising = planted("def batch_norm(x, gamma, beta, *, eps, axis):\n    raise RuntimeError('no kernel')\n", "raises")
    found = contrast(pool, raising, kernel("sound:pairwise"), case_of())
    assert found.differences[0].at_fault == ("A",)
    assert "A gives nothing on your inputs: error: RuntimeError: no kernel" in contrast_text(found)


def test_a_function_that_writes_into_its_inputs_is_the_difference(pool, planted):
    plain = PLAIN.format(options=", eps=1e-5", eps="eps")
    writing = planted(plain.replace("    axes", "    beta += 1\n    beta = beta - 1\n    axes"), "writing")
    found = contrast(pool, planted(plain, "given"), writing, case_of(has_running=False, cotangent="sum"))
    (difference,) = found.differences
    assert (difference.sentence, difference.at_fault) == ("B changes its beta", ("B",))


def test_a_function_that_takes_its_own_shape_only_is_read_on_that(pool, planted):
    fixed = "    assert x.shape == (40, 3, 4)\n    axes"
    mine = planted(PLAIN.format(options=", eps=1e-5", eps="eps").replace("    axes", fixed), "fixed")
    found = contrast(pool, mine, mine, case_of(shape=(40, 3, 4), has_running=False, cotangent="sum"))
    assert found.same
    assert found.a.sound
    assert found.a.answers["varied"].spec.shape == (40, 3, 4)


@pytest.mark.parametrize(("shape", "message"), [((0, 3, 4), "at least one element"), ((6, 3, 4), "2 steps")])
def test_what_cannot_be_compared(pool, kernel, shape, message):
    case = case_of(shape=shape)
    if "steps" in message:
        spec = batch_norm_spec(shape, 1, steps=("training", "training"), cotangent="sum")
        arrays = dict(case.inputs.items())
        arrays["x"] = np.stack([arrays["x"]] * 2, axis=1)
        del arrays["cotangent"]
        case = Case(spec=spec, inputs=Inputs(**arrays))
    with pytest.raises(UsageError, match=message):
        contrast(pool, kernel("sound:pairwise"), kernel("sound:kahan"), case)


def test_varied_trials_have_few_values_and_nothing_at_its_default():
    spec = varied_spec(batch_norm_spec((20, 30, 40, 5), -1))
    assert spec.shape == smaller(batch_norm_spec((20, 30, 40, 5), -1))
    assert 2 <= spec.n <= FEW_VALUES
    assert spec.shape[-1] == 5
    inputs = varied_inputs(spec, seed=0)
    assert np.all(inputs.gamma != 1)
    assert np.all(inputs.beta != 0)
    assert (inputs.gamma > 0).any()
    assert (inputs.gamma < 0).any()
    assert np.ptp(inputs.cotangent) > 0
    spreads = np.std(inputs.x, axis=(1, 2, 3, 4))
    assert spreads.min() < 0.01
    assert spreads.max() > 1
    assert all(np.array_equal(a, dict(varied_inputs(spec, seed=0).items())[name]) for name, a in inputs.items())


def test_a_single_value_per_channel_becomes_several():
    assert varied_spec(batch_norm_spec((1, 3), 1)).n > 1


def test_documented_defaults_are_those_of_the_adapters():
    from bnfuzz.backends import registry

    for label in ("mxnet", "mxnet-gluon", "flax", "torch"):
        backend = registry.get(label)
        framework = "jax" if label == "flax" else backend.framework
        documented = whose_default(backend.conventions.default_eps, framework)
        assert documented.split(".")[0] in ("mx", "gluon", "flax", "torch")
    assert whose_default(0.123, "jax") == ""
    assert told(0.0010000000474974513) == "0.001"
