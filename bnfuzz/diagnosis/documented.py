"""The eps that well-known batch norms take where none is given: what a stray eps may have come from."""

from __future__ import annotations

from dataclasses import dataclass

from bnfuzz import formats


@dataclass(frozen=True)
class DefaultEps:
    """One documented default: of what, and in which framework."""

    eps: float
    of: str
    framework: str


DEFAULTS = (
    DefaultEps(formats.round_to(1e-3, "float32"), "mx.nd.BatchNorm", "mxnet"),
    DefaultEps(1e-5, "gluon.nn.BatchNorm", "mxnet"),
    DefaultEps(1e-5, "flax.linen.BatchNorm", "jax"),
    DefaultEps(1e-5, "torch.nn.functional.batch_norm", "torch"),
    DefaultEps(1e-5, "ONNX BatchNormalization", ""),
    DefaultEps(1e-3, "keras.layers.BatchNormalization", ""),
    DefaultEps(1e-4, "Theano's batch_normalization_train", ""),
    DefaultEps(2e-5, "Chainer's batch_normalization", ""),
)
"""Measured, and as the frameworks document them; MXNet stores its operator's as the float32 nearest to 1e-3."""

USUAL = (1e-3, 1e-5, 1e-4, 1e-6, 2e-5, 0.0, 1e-8, 1e-12)
"""Values that code in the wild has for eps, the likelier first; 0 is eps left out."""


def whose_default(eps: float, framework: str) -> str:
    """What has this eps as its documented default, one of the same framework before others; empty where nothing has."""
    same = [entry for entry in DEFAULTS if formats.round_to(entry.eps, "float32") == formats.round_to(eps, "float32")]
    same.sort(key=lambda entry: entry.framework != framework)
    return same[0].of if same else ""


def told(eps: float) -> str:
    """An eps in few digits: the float32 nearest to 1e-3 is 0.001."""
    short = f"{eps:.6g}"
    return short if formats.round_to(float(short), "float32") == formats.round_to(eps, "float32") else repr(eps)
