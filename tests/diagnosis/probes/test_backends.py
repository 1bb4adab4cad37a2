"""The cards of the backends, line by line, beside what their documentation or an earlier measurement of them says.

The values are from the frameworks' own pages (MXNet 1.9.1 API, PyTorch 2.13, Flax 0.12 docstrings) and from the
adapters' own sources, not from a card.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bnfuzz.backends import environments, registry
from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.diagnosis.card import conventions_card
from bnfuzz.diagnosis.probes import PROBES

OLD, NEW = "the old statistic", "the new statistic"
NAN = "empty results, statistics become NaN"
DIRECT = "direct: (x − mean)·r·gamma + beta"
FOLDED = "folded: x·(gamma·r) + (beta − mean·gamma·r)"
STABLE, ONE_PASS = "stable: two passes, or as good", "one pass: mean(x²) − mean²"
FIXED = "taken as 1, its gradient is 0"
FLOAT32_DEFAULT = "0.0010000000474974513, the float32 nearest to 0.001"
WRITTEN = "keep their bits, but running_mean, running_var"

OPERATOR = {
    "momentum weighs": OLD,
    "default momentum": f"0.9 of {OLD}",
    "format of momentum": "float32",
    "format of eps": "as given",
    "running variance divides by": "n",
    "running statistics": "written by backward",
    "one value per channel": "y = beta, gradients 0",
    "no value per channel": "refused",
    "subnormal results": "kept",
    "channel axis": "any",
}
FLAX = {
    "default eps": "1e-05",
    "momentum weighs": OLD,
    "default momentum": f"0.99 of {OLD}",
    "running variance divides by": "n",
    "running statistics": "returned as new arrays",
    "no value per channel": f"{NAN}, dgamma NaN",
    "bfloat16 is computed in": "float32",
    "subnormal results": "become 0",
}
SCRATCH = {"default eps": "1e-05", "running variance divides by": "n", "running statistics": "returned as new arrays"}

CARDS = {
    "numpy": {
        **SCRATCH,
        "momentum weighs": NEW,
        "float16 is computed in": "float32",
        "ranks of x": "1..8",
        "variance": STABLE,
        "y in training": DIRECT,
        "subnormal results": "kept",
    },
    "jax": {
        **SCRATCH,
        "momentum weighs": NEW,
        "bfloat16 is computed in": "bfloat16",
        "subnormal results": "become 0",
        "variance": STABLE,
    },
    "jax-eager": {**SCRATCH, "momentum weighs": NEW, "variance": STABLE, "subnormal results": "become 0"},
    "jax-pmean": {**SCRATCH, "momentum weighs": OLD, "variance": STABLE},
    "flax": {**FLAX, "variance": ONE_PASS},
    "flax-slow-variance": {"momentum weighs": OLD, "variance": STABLE},
    "mxnet": {**OPERATOR, "default eps": FLOAT32_DEFAULT, "gamma is": "used and learned", "the given arrays": WRITTEN},
    "mxnet-defaults": {
        **OPERATOR,
        "default eps": FLOAT32_DEFAULT,
        "gamma is": FIXED,
        "the given arrays": "keep their bits, but gamma, running_mean, running_var",
    },
    "mxnet-scratch": {**SCRATCH, "momentum weighs": NEW, "variance": STABLE, "y in training": DIRECT},
    "mxnet-gluon": {**OPERATOR, "default eps": "1e-05", "gamma is": "used and learned"},
    "torch": {
        "default eps": "1e-05",
        "smallest eps": "above 0",
        "momentum weighs": NEW,
        "default momentum": f"0.1 of {NEW}",
        "running variance divides by": "n − 1",
        "running statistics": "written by forward",
        "channel axis": "1",
        "one value per channel": "refused",
        "no value per channel": "empty results, statistics stay",
        "float16 is computed in": "float32",
        "y in training": FOLDED,
        "y in inference": FOLDED,
        "subnormal results": "kept",
        "the given arrays": WRITTEN,
    },
}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Limits(call_seconds=120.0, compile_seconds=300.0)) as shared:
        yield shared


def test_every_backend_has_an_expected_card():
    assert tuple(CARDS) == registry.names()


@pytest.mark.parametrize("name", CARDS)
def test_the_card_of_a_backend(pool, name):
    reason = environments.absence(registry.get(name))
    if reason is not None:
        pytest.skip(reason)
    card = conventions_card(pool, name, probes=[probe for probe in PROBES if probe.name in CARDS[name]])
    assert {row.name: row.observed for row in card.rows} == CARDS[name]
    assert card.departures == ()


def test_torch_refuses_an_input_without_channels_by_an_index_error(pool):
    reason = environments.absence(registry.get("torch"))
    if reason is not None:
        pytest.skip(reason)
    (row,) = conventions_card(pool, "torch", probes=[p for p in PROBES if p.name == "no channel"]).rows
    assert row.departs
    assert "IndexError" in row.evidence
    assert row.case is not None
