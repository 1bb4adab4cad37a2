"""Which writer puts down the calls of which backend, and how those calls are named in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from types import MappingProxyType

from bnfuzz.backends import registry
from bnfuzz.backends.target import parsed
from bnfuzz.errors import UsageError
from bnfuzz.report.scripts import flax, jax, jax_pmean, mxnet, mxnet_gluon, mxnet_scratch, numpy, target, torch
from bnfuzz.report.scripts.parts import Parts, Request


@dataclass(frozen=True)
class Writer:
    """call: what is called, as a user of the framework names it; parts: its text."""

    call: str
    parts: Callable[[Request], Parts]


WRITERS = MappingProxyType(
    {
        "numpy": Writer("bnfuzz's NumPy kernel", numpy.parts),
        "jax": Writer("batch norm from scratch under jax.jit", jax.parts),
        "jax-eager": Writer("batch norm from scratch in JAX, op by op", partial(jax.parts, jit=False)),
        "jax-pmean": Writer("batch norm from scratch under jax.vmap with lax.pmean", jax_pmean.parts),
        "flax": Writer("flax.linen.BatchNorm", flax.parts),
        "flax-slow-variance": Writer(
            "flax.linen.BatchNorm(use_fast_variance=False)", partial(flax.parts, use_fast_variance=False)
        ),
        "mxnet": Writer("mx.nd.BatchNorm", mxnet.every_flag),
        "mxnet-defaults": Writer("mx.nd.BatchNorm with default flags", mxnet.parts),
        "mxnet-scratch": Writer("batch norm from NDArray operations", mxnet_scratch.parts),
        "mxnet-gluon": Writer("gluon.nn.BatchNorm", mxnet_gluon.parts),
        "torch": Writer("torch.nn.functional.batch_norm", torch.parts),
    }
)


def writer_of(backend: str) -> Writer:
    """The writer of a backend by its name, versions and targets included; raises UsageError where there is none."""
    if backend.startswith(registry.TARGET):
        file, function, _ = parsed(backend)
        return Writer(f"{function} of {PurePath(file).name}", partial(target.parts, name=backend))
    label = backend.partition("@")[0]
    if label not in WRITERS:
        raise UsageError(f"backend {backend!r}: no script can be written for it; one can for {', '.join(WRITERS)}")
    return WRITERS[label]
