"""Every alternative of every line, planted: the card reads it rightly, and says where it is not as documented."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.backends.pool import Reply
from bnfuzz.diagnosis.card import CANNOT_TELL
from bnfuzz.diagnosis.probes import PROBES
from bnfuzz.diagnosis.probes.compute import HALVES
from bnfuzz.diagnosis.probes.numbers import NARROWER
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.sound import SOUND
from bnfuzz.faults.textbook import CLEAN

from .planted import Planted, batch_norm, card, of_function, of_kernel

HALF_AS_SUCH = {"compute": ()}
OLD = replace(CONVENTIONS, momentum_weighs="old")
BESSEL = {"running_ddof": 1}
LINES = {probe.name: probe for probe in PROBES}
ROOT = next(name for name in LINES if name.startswith("1/√"))


def fault(name: str, **actual):
    return of_kernel(CATALOGUE[name].kernel, **actual)


def sound(name: str, **actual):
    return of_kernel(SOUND[name].kernel, **actual)


def clean(**actual):
    return of_kernel(CLEAN, **actual)


def said(other: Planted, **stated):
    """The same implementation under another documentation."""
    return replace(other, stated=replace(other.stated, **stated))


def written(stage: str) -> Planted:
    """Tells, like an adapter, what the running mean is after forward and after backward."""

    def stages(spec, inputs):
        old = inputs.running_mean[0]
        changed = {"forward": (old + 1, old + 1), "backward": (old, old + 1), "never": (old, old)}[stage]
        return {f"{name}@{step}": array[0] for name, array in inputs.items() for step in ("forward", "backward")} | {
            "running_mean@forward": changed[0],
            "running_mean@backward": changed[1],
        }

    return replace(clean(), stages=stages)


def from_batch(spec, inputs):
    """Never anything but the batch's statistics."""
    training = replace(spec, steps=("training",))
    return run(CLEAN, training, inputs, CONVENTIONS)


def writes_into_buffers(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training):
    y, mean, var = batch_norm()(
        x, gamma, beta, running_mean, running_var, eps=eps, momentum=momentum, axis=axis, training=training
    )
    running_mean[...], running_var[...] = mean, var
    return y, mean, var


def drifting() -> Planted:
    """Another last bit at each call."""
    plain = clean()
    calls = iter(range(1 << 20))

    def compute(spec, inputs):
        outputs = plain.compute(spec, inputs)
        return replace(outputs, y=np.nextafter(outputs.y, np.inf) if next(calls) % 2 else outputs.y)

    return Planted(compute, CONVENTIONS)


def flushing() -> Planted:
    plain = clean()

    def flushed(array):
        tiny = np.finfo(array.dtype).smallest_normal
        return np.where(np.abs(array) < tiny, array.dtype.type(0), array)

    def compute(spec, inputs):
        if spec.data_format not in ("float32", "float64"):
            return plain.compute(spec, inputs)
        outputs = plain.compute(spec, replace(inputs, x=flushed(inputs.x)))
        return replace(outputs, y=flushed(outputs.y))

    return Planted(compute, CONVENTIONS)


FUNCTIONS = {
    "added to the root": lambda var, eps: np.sqrt(var) + eps,
    "inside the root and added to it": lambda var, eps: np.sqrt(var + eps) + eps,
    "squared, inside the root": lambda var, eps: np.sqrt(var + eps * eps),
    "a lower limit of the variance": lambda var, eps: np.sqrt(np.maximum(var, eps)),
    "a lower limit of the root": lambda var, eps: np.maximum(np.sqrt(var), eps),
    "nowhere": lambda var, eps: np.sqrt(var),
    "inside the root": lambda var, eps: np.sqrt(var + eps),
}

FLOAT32_OF = 0.0010000000474974513
AS_IT_IS = "none: 0 and negative ones are taken as they are"
IN_PLACE = "returned as new arrays, and written into the given ones"


def refusing(rule):
    return batch_norm(refuses=lambda call: "not so" if rule(call) else "")


READINGS = [
    # line, implementation, what is to be observed, whether it is as documented
    *(("place of eps", of_function(batch_norm(root=root)), place, place == "inside the root")
      for place, root in FUNCTIONS.items()),
    ("place of eps", fault("eps_outside"), "added to the root", False),
    ("place of eps", fault("eps_max"), "a lower limit of the variance", False),
    ("place of eps", fault("eps_missing"), "nowhere", False),
    ("place of eps", fault("eps_hard1e_5"), "ignored for 1e-5", False),
    ("place of eps", fault("eps_default_1e_3"), "ignored for 1e-3", False),
    ("place of eps", fault("std_missing_sqrt"), "none of the known places", False),
    ("place of eps", fault("ddof1_norm"), "none of the known places", False),
    ("variance divides by", fault("ddof1_norm"), "n − 1", False),
    *(("variance divides by", of_function(batch_norm(root=root)), "n", True) for root in FUNCTIONS.values()),
    ("default eps", clean(default_eps=1e-3), "0.001", False),
    ("default eps", clean(default_eps=2e-5), "2e-05", False),
    ("default eps", clean(default_eps=FLOAT32_OF), f"{FLOAT32_OF}, the float32 nearest to 0.001", False),
    ("default eps", said(clean(default_eps=1e-3), default_eps=1e-3), "0.001", True),
    ("default eps", said(clean(), default_eps=float(np.float32(1e-5))), "1e-05", False),
    *(("format of eps", of_function(batch_norm(stores=name)), name, False) for name in NARROWER),
    ("format of eps", of_function(batch_norm(stores="float32"), scalar_format="float32"), "float32", True),
    ("format of eps", clean(), "as given", True),
    ("smallest eps", clean(), AS_IT_IS, True),
    ("smallest eps", of_function(refusing(lambda call: call.eps < 0)), "0", True),
    ("smallest eps", of_function(refusing(lambda call: call.eps <= 0)), "above 0", False),
    ("smallest eps", of_function(refusing(lambda call: call.eps <= 0), eps_minimum_excluded=True),
     "above 0", True),
    ("smallest eps", said(clean(), eps_minimum_excluded=True), AS_IT_IS, False),
    ("smallest eps", fault("eps_clamp_min"), "above 2^-40", False),
    ("momentum weighs", clean(), "the new statistic", True),
    ("momentum weighs", clean(momentum_weighs="old"), "the old statistic", False),
    ("momentum weighs", of_kernel(CLEAN, OLD, momentum_weighs="new"), "the new statistic", False),
    ("momentum weighs", of_kernel(CLEAN, OLD), "the old statistic", True),
    ("momentum weighs", fault("momentum_swapped"), "the old statistic", False),
    ("momentum weighs", fault("update_lost_rebind"), "nothing: they stay as they are", False),
    ("default momentum", clean(), "0.1 of the new statistic", True),
    ("default momentum", clean(momentum_weighs="old"), "0.1 of the old statistic", False),
    ("default momentum", clean(default_momentum=0.01), "weights 0.01 of the new and 0.99 of the old statistic", False),
    *(("format of momentum", of_function(batch_norm(stores=name)), name, False) for name in NARROWER),
    ("format of momentum", of_function(batch_norm(stores="float32"), momentum_format="float32"), "float32", True),
    ("format of momentum", clean(), "as given", True),
    ("running variance divides by", clean(), "n", True),
    ("running variance divides by", clean(running_ddof=1), "n − 1", False),
    ("running variance divides by", said(clean(running_ddof=1), running_ddof=1), "n − 1", True),
    ("running variance divides by", said(clean(), running_ddof=1), "n", False),
    ("running variance divides by", clean(momentum_weighs="old"), "n", True),
    ("running variance divides by", clean(momentum_weighs="old", running_ddof=1), "n − 1", False),
    ("running statistics", clean(), "returned as new arrays", True),
    ("running statistics", of_function(writes_into_buffers), IN_PLACE, False),
    ("running statistics", said(written("forward"), statistics_written="forward"), "written by forward", True),
    ("running statistics", said(written("backward"), statistics_written="backward"), "written by backward", True),
    ("running statistics", said(written("backward"), statistics_written="forward"), "written by backward", False),
    ("running statistics", said(written("never"), statistics_written="forward"), "never written", False),
    ("gamma is", clean(), "used and learned", True),
    ("gamma is", fault("fix_gamma"), "taken as 1, its gradient is 0", False),
    ("gamma is", said(fault("fix_gamma"), fix_gamma=True), "taken as 1, its gradient is 0", True),
    ("gamma is", said(clean(), fix_gamma=True), "used and learned", False),
    ("modes", clean(), "training, inference", True),
    ("modes", Planted(from_batch, CONVENTIONS), "training", False),
    ("modes", fault("eval_uses_batch"), "training", False),
    ("modes", Planted(from_batch, replace(CONVENTIONS, modes=("training",))), "training", True),
    ("channel axis", clean(), "any", True),
    ("channel axis", fault("axis_negative"), "1", False),
    ("channel axis", said(fault("axis_negative"), channel_axes=1), "1", True),
    ("ranks of x", clean(), "1..8", True),
    ("ranks of x", of_function(refusing(lambda call: not 2 <= call.x.ndim <= 4)), "2..4", False),
    ("ranks of x", of_function(refusing(lambda call: not 2 <= call.x.ndim <= 4), ranks=(2, 4)),
     "2..4", True),
    ("one value per channel", clean(), "y = beta, gradients 0", True),
    ("one value per channel", of_function(refusing(lambda call: call.n == 1)), "refused", False),
    ("one value per channel", of_function(refusing(lambda call: call.n == 1), single_value="refused"), "refused", True),
    ("one value per channel", said(clean(), single_value="refused"), "y = beta, gradients 0", False),
    ("one value per channel", fault("beta_dropped"), "another result", False),
    ("running variance of one value", clean(), "learns the variance 0", True),
    ("running variance of one value", clean(**BESSEL, single_value_variance="keep"), "stays as it is", False),
    ("running variance of one value", clean(**BESSEL, single_value_variance="nan"), "becomes NaN", False),
    ("running variance of one value", said(clean(**BESSEL, single_value_variance="keep"), **BESSEL,
                                           single_value_variance="keep"), "stays as it is", True),
    ("no value per channel", clean(), "empty results, statistics stay", True),
    ("no value per channel", clean(empty_statistics="nan"), "empty results, statistics become NaN", False),
    ("no value per channel", said(clean(empty_statistics="nan"), empty_statistics="nan"),
     "empty results, statistics become NaN", True),
    ("no value per channel", fault("empty_crash"), "refused", False),
    ("no value per channel", said(fault("empty_crash"), empty="refused"), "refused", True),
    ("no value per channel", said(clean(), empty="refused"), "empty results, statistics stay", True),
    ("no channel", clean(), "empty results", True),
    ("no channel", said(clean(), empty="refused"), "empty results", True),
    ("no channel", fault("empty_crash"), "refused", False),
    *((f"{half} is computed in", clean(), "float32", True) for half in HALVES),
    *((f"{half} is computed in", clean(**HALF_AS_SUCH), half, False) for half in HALVES),
    *((f"{half} is computed in", said(clean(**HALF_AS_SUCH), **HALF_AS_SUCH), half, True) for half in HALVES),
    ("float16 is computed in", fault("onepass"), "float32", True),
    ("float16 is computed in", sound("double_inside"), "float32", True),
    ("variance", clean(), "stable: two passes, or as good", None),
    *(("variance", sound(name), "stable: two passes, or as good", None)
      for name in ("welford", "chan", "corrected_two_pass", "shifted_one_pass", "double_inside", "folded")),
    ("variance", fault("onepass"), "one pass: mean(x²) − mean²", None),
    ("variance", fault("onepass_clamp"), "one pass: mean(x²) − mean²", None),
    ("variance", said(fault("onepass_clamp"), variance_formula="one-pass"), "one pass: mean(x²) − mean²", True),
    ("variance", said(fault("onepass_clamp"), variance_formula="two-pass"), "one pass: mean(x²) − mean²", False),
    ("centre of the variance", clean(), "the one that is subtracted", None),
    ("centre of the variance", sound("welford"), "not the one that is subtracted", None),
    ("centre of the variance", fault("onepass"), CANNOT_TELL, None),
    ("y in training", clean(), "direct: (x − mean)·r·gamma + beta", None),
    ("y in training", sound("scale_first"), "direct: (x − mean)·r·gamma + beta", None),
    ("y in training", sound("folded"), "folded: x·(gamma·r) + (beta − mean·gamma·r)", None),
    ("y in training", fault("ema_debias_zero"), "direct: (x − mean)·r·gamma + beta", None),
    ("y in inference", fault("ema_debias_zero"), CANNOT_TELL, None),
    ("y in inference", clean(), "direct: (x − mean)·r·gamma + beta", None),
    ("y in inference", sound("folded"), "folded: x·(gamma·r) + (beta − mean·gamma·r)", None),
    *((f"long sums of {part}", sound(name), observed, None)
      for part in ("forward", "backward")
      for name, observed in (
          ("pairwise", "as of pairwise sums, blocks or many lanes"),
          ("sequential", "as of sequential sums or a few lanes"),
          ("wide_sums", "as of a wider or compensated accumulator"),
          ("kahan", "as of a wider or compensated accumulator"),
      )),
    *((f"subnormal {of}", clean(), "kept", True) for of in ("results", "inputs")),
    *((f"subnormal {of}", flushing(), "become 0", False) for of in ("results", "inputs")),
    *((f"subnormal {of}", said(flushing(), flushes_subnormals=True), "become 0", True) for of in ("results", "inputs")),
    *((f"subnormal {of}", said(clean(), flushes_subnormals=True), "kept", True) for of in ("results", "inputs")),
    (ROOT, clean(), "within the bound", True),
    (ROOT, sound("division"), "within the bound", True),
    (ROOT, fault("rsqrt_12_bits"), "beyond the bound", False),
    ("dx in training flows", clean(), "through mean and variance", True),
    ("dx in training flows", sound("autodiff"), "through mean and variance", True),
    ("dx in training flows", fault("dx_stopgrad"), "not through the statistics", False),
    ("dx in training flows", fault("dx_stopgrad_var"), "through the mean only", False),
    ("dx in inference flows", clean(), "not through the statistics", True),
    ("dx in inference flows", fault("eval_bwd_batch_terms"), "through mean and variance", False),
    ("a repeated call gives", clean(), "the same bits", None),
    ("a repeated call gives", drifting(), "other bits", None),
    ("the given arrays", clean(), "keep their bits", True),
    ("the given arrays", fault("alias_x"), "keep their bits, but x", False),
    ("a NaN", clean(), "stays in its channel", True),
    ("a NaN", fault("cross_channel_leak"), "reaches other channels", False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "implementation", "observed", "agrees"),
    READINGS,
    ids=[f"{number}-{line}-{observed}" for number, (line, _, observed, _) in enumerate(READINGS)],
)
def test_a_planted_convention_is_read(line, implementation, observed, agrees):
    (row,) = card(implementation, line).rows
    assert (row.observed, row.agrees) == (observed, agrees), row.evidence
    assert row.departs == (agrees is False)
    assert row.evidence


def test_every_line_is_planted_in_at_least_two_ways():
    seen: dict[str, set[str]] = {name: set() for name in LINES}
    for line, _, observed, _ in READINGS:
        seen[line].add(observed)
    assert {line for line, ways in seen.items() if len(ways) < 2} == set()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("momentum weighs", "keeps no running statistics"),
        ("default momentum", "keeps no running statistics"),
        ("running variance divides by", "new_running_var is not offered"),
        ("running statistics", "keeps no running statistics"),
        ("running variance of one value", "keeps no running statistics"),
        ("dx in training flows", "dx is not offered"),
        ("dx in inference flows", "no inference"),
        ("y in inference", "no inference"),
        ("long sums of forward", "new_running_mean is not offered"),
        ("long sums of backward", "dbeta is not offered"),
    ],
)
def test_what_a_form_hides_cannot_be_told(line, reason):
    def stateless(x, gamma, beta, *, eps, axis):
        nothing = np.zeros(x.shape[axis], x.dtype)
        return batch_norm()(x, gamma, beta, nothing, nothing, eps=eps, axis=axis, training=True, momentum=0.5)[0]

    (row,) = card(of_function(stateless), line).rows
    assert (row.observed, row.agrees) == (CANNOT_TELL, None)
    assert reason in row.evidence


@pytest.mark.parametrize("line", ["format of eps", "place of eps", "smallest eps", "subnormal results"])
def test_a_call_without_eps_is_probed_with_its_own(line):
    whole = batch_norm()

    def fixed(x, gamma, beta, running_mean, running_var, *, momentum, axis, training):
        return whole(
            x, gamma, beta, running_mean, running_var, eps=1e-5, momentum=momentum, axis=axis, training=training
        )

    (row,) = card(of_function(fixed), line).rows
    told = {"place of eps": "inside the root"}
    assert row.observed == told.get(line, CANNOT_TELL)
    assert line in told or "takes no eps" in row.evidence


@pytest.mark.parametrize(
    ("implementation", "departing"),
    [
        (fault("eps_outside"), {"place of eps"}),
        (fault("eps_max"), {"place of eps"}),
        (fault("ddof1_norm"), {"place of eps", "variance divides by"}),
        (clean(default_eps=1e-3), {"default eps"}),
        (clean(momentum_weighs="old"), {"momentum weighs", "default momentum"}),
        (clean(default_momentum=0.01), {"default momentum"}),
        (clean(running_ddof=1), {"running variance divides by"}),
        (fault("fix_gamma"), {"gamma is"}),
        (fault("eval_uses_batch"), {"modes"}),
        (fault("axis_negative"), {"channel axis"}),
        # At n = 1 the terms that it leaves out are all that makes dx 0.
        (fault("dx_stopgrad"), {"dx in training flows", "one value per channel"}),
        (fault("eval_bwd_batch_terms"), {"dx in inference flows"}),
        (fault("cross_channel_leak"), {"a NaN"}),
        (fault("onepass_clamp"), set()),
        (sound("folded"), set()),
        (sound("welford"), set()),
    ],
    ids=lambda value: ", ".join(sorted(value)) or "none" if isinstance(value, set) else "",
)
def test_one_convention_that_is_not_kept_shows_in_its_own_line_alone(implementation, departing):
    """Other lines that its effect reaches are not told, or told as they are."""
    documented = [name for name, probe in LINES.items() if probe.documented(CONVENTIONS)]
    assert {row.name for row in card(implementation, *documented).departures} == departing


def test_the_whole_card_of_the_textbook_kernel_departs_nowhere():
    whole = card(clean())
    assert [row.name for row in whole.rows] == list(LINES)
    assert whole.departures == ()
    assert {row.name for row in whole.rows if row.observed == CANNOT_TELL} == set()


@pytest.mark.parametrize(
    "wrong", [lambda y: y[:, :1], lambda y: y[:1], lambda y: y.astype(np.int64), lambda y: y * np.nan]
)
def test_a_function_that_returns_something_else_has_a_card_too(wrong):
    plain = clean()

    def compute(spec, inputs):
        outputs = plain.compute(spec, inputs)
        return replace(outputs, y=np.stack([wrong(trial) for trial in outputs.y]))

    whole = card(Planted(compute, CONVENTIONS))
    assert whole.departures
    assert whole.row("place of eps").observed in (CANNOT_TELL, "none of the known places")


def test_one_that_hangs_is_not_called_again():
    calls = []

    class Hangs(Planted):
        def probe(self, name, spec, inputs):
            calls.append(spec)
            return Reply(backend=name, status="hang", message="no answer within 1 s")

    rows = card(Hangs(clean().compute, CONVENTIONS)).rows
    assert len(calls) == 1
    assert all("no answer within 1 s" in row.evidence for row in rows)


def test_a_function_that_always_fails_is_told_nothing_of():
    def fails(spec, inputs):
        raise RuntimeError("no kernel for this")

    for row in card(Planted(fails, CONVENTIONS)).rows:
        assert "no kernel for this" in row.evidence, row
