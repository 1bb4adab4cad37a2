"""Sound kernels, run in the real formats on adversarial trials, are never beyond the bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz import formats
from bnfuzz.conventions import Summation
from bnfuzz.numerics.reference import reference

from . import adversarial, kernels
from .kernels import SOUND, SoundKernel

TRIALS = 2_500
SIZES = (1, 2, 3, 4, 7, 12, 16, 31, 64)
LOSSES = ("explicit", "sum", "mean_square")


def beyond(exact, observed):
    """(error/bound, elements beyond the bound that nothing excuses, elements that may overflow on the way)."""
    largest = formats.of(observed).largest
    with np.errstate(all="ignore"):
        values = observed.astype(np.float64)
        error = exact.error(values)
        ratio = np.where(error == 0, 0.0, error / exact.bound)
        signed = (np.sign(values) == np.sign(exact.value)) | (np.abs(exact.value) <= exact.bound)
        overflow = np.isinf(values) & signed & (np.abs(exact.value) + exact.bound >= largest)
        underflow = error <= exact.raw_bound + exact.lost
    ratio = np.where(exact.undefined | overflow, 0.0, np.where(np.isnan(ratio), np.inf, ratio))
    return ratio, (ratio > 1) & ~underflow & ~exact.flag, exact.flag


def check(spec, inputs, conventions, named_kernels):
    """No element of any output beyond its bound; gives the share of elements that are defined, but flagged."""
    exact = reference(spec, inputs, conventions)
    flagged = []
    for kernel_name, kernel in named_kernels.items():
        outputs = kernels.run(kernel, spec, inputs, conventions)
        for name, observed in outputs.items():
            ratio, alarms, flags = beyond(exact.outputs[name], observed)
            flagged.append((flags & ~exact.outputs[name].undefined).mean())
            if alarms.any():
                at = tuple(int(place[0]) for place in np.nonzero(alarms))
                output = exact.outputs[name]
                numbers = f"exact {output.value[at]}, observed {observed[at]}, bound {output.bound[at]}"
                trial = {key: array[at[0]].tolist() for key, array in inputs.items()}
                case = f"{spec}\n{conventions}\n{trial}"
                pytest.fail(f"{kernel_name}: {name}{at}: {numbers}, ratio {ratio[at]}, {alarms.sum()} elements\n{case}")
    return float(np.mean(flagged))


def blocks(name, seed, trials, **fixed):
    """One block per size, modes, losses, ddof and senses of momentum in turn."""
    triple, compute = adversarial.TRIPLES[name]
    rng = np.random.default_rng(seed)
    fixed.setdefault("largest_exponent", 3.0 if "float16" in triple[:1] else 15.0)
    for number, n in enumerate(SIZES):
        conventions = replace(adversarial.conventions_of(rng, compute), running_ddof=number % 2)
        chosen = {"cotangent": LOSSES[number % 3], "steps": ("inference",) if number % 4 == 3 else ("training",)}
        spec, inputs = adversarial.block(rng, triple, trials, **{"shape": (n, 1)} | chosen | fixed)
        yield spec, inputs, conventions


@pytest.mark.parametrize("name", adversarial.TRIPLES)
def test_sound_kernels_raise_no_alarm(name):
    flagged = [check(*block, SOUND) for block in blocks(name, 1, TRIALS)]
    # Soundness must not come from flags: only pure float16 overflows often, at these scales.
    assert np.mean(flagged) < (0.5 if name == "pure float16" else 0.02)


@pytest.mark.parametrize("name", adversarial.TRIPLES)
def test_nor_at_the_ends_of_the_exponent_range(name):
    for block in blocks(name, 2, 250, extreme=True):
        check(*block, SOUND)


@pytest.mark.parametrize("name", ["float16 over float32", "bfloat16 over float32"])
def test_parts_of_dx_added_in_the_storage_format(name):
    for spec, inputs, conventions in blocks(name, 3, 500, steps=("training",)):
        check(spec, inputs, replace(conventions, dx_parts="storage"), {"parts": SoundKernel(dx="parts")})


LANES = 4
ORDERS = {
    "pairwise": (Summation("pairwise"), kernels.pairwise),
    "lanes": (Summation("lanes", lanes=LANES), kernels.lanes(LANES)),
    "wide": (Summation("wide", accumulator="float64"), kernels.wide),
}


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("name", ["float32", "pure bfloat16"])
def test_stated_orders_of_summation(name, kind):
    summation, total = ORDERS[kind]
    for spec, inputs, conventions in blocks(name, 4, 300):
        check(spec, inputs, replace(conventions, summation=summation), {kind: SoundKernel(total=total)})


@pytest.mark.parametrize("kind", ORDERS)
def test_stated_orders_are_sharper(kind):
    """What stating the order buys: no bound grows, and at n = 64 most shrink."""
    summation, _ = ORDERS[kind]
    rng = np.random.default_rng(5)
    spec, inputs = adversarial.block(rng, ("float32",) * 3, 50, shape=(64, 1), steps=("training",), eps=1e-5)
    loose, sharp = (
        reference(spec, inputs, replace(adversarial.PLAIN, summation=stated)).outputs["batch_mean"].bound
        for stated in (Summation(), summation)
    )
    assert (sharp <= loose).mean() > 0.9


def test_larger_n():
    """n = 1000 with any order: sound in float32, and informative (the bound of y below 1) while n·u·κ is small."""
    rng = np.random.default_rng(6)
    spec, inputs = adversarial.block(
        rng, ("float32",) * 3, 20, shape=(1000, 1), steps=("training",), largest_exponent=2.0, cotangent="explicit"
    )
    check(spec, inputs, adversarial.PLAIN, SOUND)


@pytest.mark.parametrize("form", ["weighted", "lerp"])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("weighs", ["new", "old"])
def test_running_statistics_at_every_momentum(form, ddof, weighs):
    rng = np.random.default_rng(7)
    conventions = replace(adversarial.PLAIN, running_ddof=ddof, momentum_weighs=weighs)
    for momentum in (0.0, 1e-7, 0.1, 0.5, 0.9, 0.999, 1.0 - 1e-7, 1.0):
        fixed = {"momentum": momentum, "steps": ("training",), "shape": (5, 2)}
        spec, inputs = adversarial.block(rng, ("float32",) * 3, 200, **fixed)
        check(spec, inputs, conventions, {form: SoundKernel(running=form)})


def test_subnormals_flushed():
    """A kernel that turns subnormal inputs and results into 0, as the conventions say."""
    rng = np.random.default_rng(8)
    conventions = replace(adversarial.PLAIN, flushes_subnormals=True)
    for n in (2, 5, 16):
        spec, inputs = adversarial.block(
            rng, ("float32",) * 3, 1000, shape=(n, 1), extreme=True, steps=("training",), cotangent="explicit"
        )
        check(spec, inputs, conventions, {"flushing": SoundKernel(flushes=True)})
