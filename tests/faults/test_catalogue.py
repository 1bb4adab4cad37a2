"""Every fault shows on its own example by far more than rounding, and the catalogue is complete."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.case import Inputs
from bnfuzz.conventions import ALL_FORMATS, MIXED_FORMATS
from bnfuzz.errors import UsageError
from bnfuzz.faults import backend
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE, OUT_OF_REACH
from bnfuzz.faults.textbook import CLEAN

from .plain import condition, plain

ROWS = """
onepass onepass_clamp naive_mean affine_rewrite eps_outside eps_missing eps_max eps_hard1e-5 eps_default_1e-3
eval_no_eps sq_not_sqrt std_missing_sqrt rv_std ddof1_norm rv_biased rv_bessel_batch_only momentum_swapped cumulative
first_batch_overwrites update_plus rv_not_updated rm_rv_swapped rv_has_eps stats_from_running blend_running_in_train
eval_uses_batch eval_bwd_batch_terms eval_dgamma_batch_xhat dx_running_stats_in_train dx_no_gamma dx_no_mean_term
dx_no_var_term dx_mean_twice dx_sign dx_stopgrad dx_stopgrad_var dx_eps_dropped_bwd dgamma_uses_x dgamma_no_invstd
dgamma_mul_std dgamma_mean dgamma_batch_only dbeta_uses_input world_size_x2 fix_gamma abs_gamma eval_gamma_ignored
beta_dropped beta_scaled gamma_plus1 axes_missing_spatial axes_instance global_stats_all_channels fold_no_bias
square-overflow accumulate-in-half eps-in-half stats-cast-down ema-in-half eps-clamp-min bessel-n1 one-value-raises
empty-updates-stats empty-crash ema-debias-zero update-in-eval update-only-in-backward update-lost-rebind
nonfinite-sticks cross-channel-leak mask-weight-sum mask-ignored sync-equal-weights sync-mean-of-vars sync-stopgrad
shape-from-memory grad-layout alias-x pad-lanes int32-index group-merge group-affine axis-negative one-output-mode
no-grad-input vmap-batch-axis
"""
"""Deviations collected from public reports about normalization layers."""

EXTRA = {"rv_unbiased", "update_twice", "gradient_accumulates", "variance_in_bfloat16", "rsqrt_12_bits"}

NARROW = replace(CONVENTIONS, compute=())
SETTINGS = [(triple, CONVENTIONS) for triple in ALL_FORMATS + MIXED_FORMATS] + [(ALL_FORMATS[0], NARROW)]
PLANTED = [
    pytest.param(fault, triple, conventions, id=f"{fault.name}-{'/'.join(triple)}-{len(conventions.compute)}")
    for fault in CATALOGUE.values()
    for triple, base in SETTINGS
    for conventions in [fault.conventions(base)]
    if fault.applies(fault.example.spec(triple), conventions)
]
SAME_NUMBERS = {"dx_stopgrad_var": "dx_no_var_term"}


def copied(inputs: Inputs) -> Inputs:
    return Inputs(**{name: array.copy() for name, array in inputs.items()})


def departures(fault, case, conventions) -> dict[str, float]:
    """Output -> largest |faulty - clean| in units of rounding: (log2(n) + 8)*kappa*u of compute, u of the output."""
    clean = dict(run(CLEAN, case.spec, copied(case.inputs), conventions).items())
    faulty = dict(run(fault.kernel, case.spec, copied(case.inputs), conventions).items())
    return {name: departure(case, conventions, name, clean[name], faulty[name]) for name in clean}


def departure(case, conventions, name, clean, faulty) -> float:
    spec = case.spec
    x = case.inputs.x[0]
    steps = list(x) if len(spec.steps) > 1 else [x]
    kappa = np.ones(spec.statistics_shape)
    if spec.n and name not in ("batch_mean", "new_running_mean", "dbeta"):
        kappa = np.max([condition(spec, {"x": values}, conventions) for values in steps], axis=0)
    if not name.endswith("_var"):
        kappa = kappa.max(initial=1.0)
    compute = conventions.compute_format(spec.data_format).unit_roundoff
    growth = np.log2(max(spec.n, 1)) + 8
    relative = np.broadcast_to(np.minimum(growth * kappa * compute, 1.0), clean.shape)
    stored = formats.of(clean).unit_roundoff
    clean, faulty = clean.astype(np.float64), faulty.astype(np.float64)
    finite = np.isfinite(clean)
    if (finite & ~np.isfinite(faulty)).any():
        return np.inf
    size = np.abs(clean)
    if not name.endswith("_var"):
        size = np.full_like(clean, size[finite].max(initial=0.0))
    unit = (relative + stored) * size
    if name == "y":
        unit = relative * 2 * float(np.abs(case.inputs.gamma.astype(np.float64)).max(initial=0.0)) + stored * size
    apart = finite & (faulty != clean)
    with np.errstate(divide="ignore"):
        return float((np.abs(faulty[apart] - clean[apart]) / unit[apart]).max(initial=0.0))


@pytest.mark.parametrize(("fault", "triple", "conventions"), PLANTED)
def test_shows(fault, triple, conventions):
    case = fault.example.case(conventions, triple)
    if fault.judged == "error":
        run(CLEAN, case.spec, case.inputs, conventions)
        with pytest.raises((ValueError, ZeroDivisionError)):
            run(fault.kernel, case.spec, case.inputs, conventions)
        return
    if fault.judged == "mutated":
        handed = copied(case.inputs)
        outputs = dict(run(fault.kernel, case.spec, handed, conventions).items())
        assert not np.array_equal(handed.x, case.inputs.x)
        for name, expected in run(CLEAN, case.spec, case.inputs, conventions).items():
            np.testing.assert_array_equal(outputs[name], expected)
        return
    found = departures(fault, case, conventions)
    assert max(found.values()) > 8, found
    assert (np.inf in found.values()) or fault.judged not in ("nonfinite", "leak")


@pytest.mark.parametrize("fault", CATALOGUE.values(), ids=CATALOGUE)
def test_shows_somewhere(fault):
    assert any(param.values[0] is fault for param in PLANTED)
    assert fault.description
    assert (fault.judged == "unstable") or fault.name not in ("onepass", "onepass_clamp", "affine_rewrite")


@pytest.mark.parametrize("fault", CATALOGUE.values(), ids=CATALOGUE)
def test_gone_where_nothing_is_replaced(fault):
    """The measure itself: the clean kernel planted as a fault departs by nothing."""
    case = fault.example.case(fault.conventions(CONVENTIONS))
    assert set(departures(replace(fault, kernel=CLEAN), case, fault.conventions(CONVENTIONS)).values()) == {0.0}


def test_faults_differ_from_each_other():
    """On one telling input of both modes no two faults of the same examples give the same bits."""
    by_outputs: dict[tuple[object, ...], str] = {}
    for fault in CATALOGUE.values():
        conventions = fault.conventions(CONVENTIONS)
        triple = (
            ("float16", "float32", "float32")
            if not fault.applies(fault.example.spec(), conventions)
            else ("float32",) * 3
        )
        case = fault.example.case(conventions, triple)
        if fault.judged in ("error", "mutated"):
            continue
        outputs = run(fault.kernel, case.spec, copied(case.inputs), conventions)
        key = (case.spec, *(array.tobytes() for _, array in outputs.items()))
        assert by_outputs.setdefault(key, fault.name) in (fault.name, SAME_NUMBERS.get(fault.name))


def test_complete():
    names = {row.replace("-", "_") for row in ROWS.split()}
    assert not set(CATALOGUE) & set(OUT_OF_REACH)
    assert set(CATALOGUE) | set(OUT_OF_REACH) == names | EXTRA
    assert set(CATALOGUE) >= EXTRA


def test_names_resolve():
    for name in backend.names():
        assert backend.entry(name).name == name.partition(":")[2]
    for wrong, clause in (
        ("dx_sign", "fault:NAME"),
        ("fault:dx_sing", "use one of"),
        ("fault:mask_ignored", "no mask"),
    ):
        with pytest.raises(UsageError, match=clause):
            backend.entry(wrong)


def test_training_fault_leaves_inference_alone():
    for fault in CATALOGUE.values():
        if not fault.name.startswith("dx_"):
            continue
        example = replace(fault.example, steps=("inference",))
        case = example.case(CONVENTIONS)
        assert not fault.applies(case.spec, CONVENTIONS)
        assert set(departures(fault, case, CONVENTIONS).values()) == {0.0}


def test_a_faulty_kernel_can_be_evaluated_exactly():
    """In float64 and unrounded a fault's outputs are what it means to compute: dx without the mean term here."""
    from bnfuzz.faults.run import run_trial

    fault = CATALOGUE["dx_no_mean_term"]
    case = fault.example.case(CONVENTIONS, MIXED_FORMATS[0])
    arrays = {name: array[0] for name, array in case.inputs.items()}
    dx = run_trial(fault.kernel, case.spec, arrays, CONVENTIONS, compute="float64", stored=False)["dx"]
    exact, _ = plain(case.spec, arrays, CONVENTIONS)
    g = arrays["cotangent"].astype(np.float64)
    x = arrays["x"].astype(np.float64)
    r = 1 / np.sqrt(x.var((0, 2), keepdims=True) + 1e-3)
    gamma = arrays["gamma"].astype(np.float64).reshape(1, 3, 1)
    assert dx.dtype == np.float64
    np.testing.assert_allclose(dx, exact["dx"] + gamma * r * g.mean((0, 2), keepdims=True), rtol=1e-9, atol=1e-12)
