"""What each backend says it cannot express, as a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bnfuzz.backends import registry
from bnfuzz.case import batch_norm_spec
from bnfuzz.conventions import Conventions

PLAIN = batch_norm_spec((4, 3, 2))
BFLOAT16 = {"data_format": "bfloat16", "parameter_format": "bfloat16", "statistics_format": "bfloat16"}
MIXED = {"data_format": "float16"}
CHANNELS_LAST = batch_norm_spec((4, 3, 2), -1)
INFERENCE_ON_ONE = batch_norm_spec((1, 3), 1, steps=("inference",))


@pytest.mark.parametrize("name", registry.names())
def test_a_plain_spec_is_supported_everywhere(name):
    assert registry.get(name).conventions.unsupported(PLAIN) is None


@pytest.mark.parametrize(
    ("name", "spec", "reason"),
    [
        ("numpy", replace(PLAIN, operation="layer_norm"), "operation"),
        ("numpy", replace(PLAIN, reduced_axes=(0,)), "one channel axis"),
        ("numpy", replace(PLAIN, reduced_axes=(0, 1), parameter_axes=(1,)), "one channel axis"),
        ("numpy", replace(PLAIN, **BFLOAT16), None),
        ("numpy", replace(PLAIN, **MIXED), None),
        ("numpy", batch_norm_spec((0, 3)), None),
        ("numpy", batch_norm_spec((1, 3)), None),
        ("jax", replace(PLAIN, **MIXED), "formats"),
        ("jax", CHANNELS_LAST, None),
        ("jax-pmean", batch_norm_spec((3,), 0), "rank"),
        ("flax", replace(PLAIN, **BFLOAT16), "formats"),
        ("flax", replace(PLAIN, **{**BFLOAT16, "statistics_format": "float32"}), None),
        ("mxnet", replace(PLAIN, **BFLOAT16), "formats"),
        ("mxnet", replace(PLAIN, **MIXED), None),
        ("mxnet", replace(PLAIN, has_gamma=False), "gamma and beta"),
        ("mxnet", replace(PLAIN, has_running=False), "running statistics"),
        ("mxnet", batch_norm_spec((0, 3)), "empty"),
        ("mxnet", batch_norm_spec((2, 0)), "empty"),
        ("mxnet", batch_norm_spec((1, 3)), None),
        ("mxnet", CHANNELS_LAST, None),
        ("mxnet-gluon", replace(PLAIN, has_gamma=False, has_beta=False, has_running=False), None),
        ("torch", CHANNELS_LAST, "channel axis"),
        ("torch", batch_norm_spec((1, 3)), "one value per channel"),
        ("torch", INFERENCE_ON_ONE, None),
        ("torch", batch_norm_spec((0, 3)), None),
        ("torch", replace(PLAIN, eps=0.0), "eps"),
        ("torch", batch_norm_spec((2, 3, 1, 1, 1, 1)), "rank"),
    ],
)
def test_support(name, spec, reason):
    said = registry.get(name).conventions.unsupported(spec)
    assert (said is None) if reason is None else (said is not None and reason in said)


def test_a_function_without_state_offers_no_inference():
    conventions = Conventions(source="f", modes=("training",))
    assert "training" in (conventions.unsupported(INFERENCE_ON_ONE) or "")


def test_momentum_weighs_the_new_statistic_in_the_spec():
    spec = replace(PLAIN, momentum=0.25)
    assert Conventions(source="", momentum_weighs="new").momentum_argument(spec) == 0.25
    assert Conventions(source="", momentum_weighs="old").momentum_argument(spec) == 0.75


def test_scalars_are_rounded_as_the_backend_stores_them():
    spec = replace(PLAIN, eps=0.1, momentum=0.1)
    mxnet = registry.get("mxnet").conventions
    assert mxnet.eps_given(spec) == 0.1
    assert mxnet.momentum_given(spec) == 0.8999999761581421  # float32 nearest to 0.9
    stored = Conventions(source="", scalar_format="float32")
    assert stored.eps_given(spec) == stored.momentum_given(spec) == 0.10000000149011612


def test_defaults_stand_in_for_what_the_spec_leaves():
    spec = replace(PLAIN, eps=None, momentum=None)
    expected = {"mxnet": (0.0010000000474974513, 0.9), "mxnet-gluon": (1e-5, 0.9), "flax": (1e-5, 0.99)}
    for name, (eps, momentum) in expected.items():
        conventions = registry.get(name).conventions
        assert (conventions.eps_given(spec), conventions.momentum_argument(spec)) == (eps, momentum)
