"""The backends by name: one immutable table, each adapter's module loaded when it is asked for."""

from __future__ import annotations

import importlib
from types import MappingProxyType

from bnfuzz.backends.base import Backend
from bnfuzz.errors import UsageError

_TABLE = MappingProxyType(
    {
        "numpy": ("numpy_reference", "NumpyReference"),
        "jax": ("jax", "Jax"),
        "jax-eager": ("jax_eager", "JaxEager"),
        "jax-pmean": ("jax_pmean", "JaxPmean"),
        "flax": ("flax", "Flax"),
        "flax-slow-variance": ("flax_slow_variance", "FlaxSlowVariance"),
        "mxnet": ("mxnet", "MXNet"),
        "mxnet-defaults": ("mxnet_defaults", "MXNetDefaults"),
        "mxnet-scratch": ("mxnet_scratch", "MXNetScratch"),
        "mxnet-gluon": ("mxnet_gluon", "MXNetGluon"),
        "torch": ("torch", "Torch"),
    }
)

TARGET = "target:"


def names() -> tuple[str, ...]:
    """Every built-in backend, whether or not it runs here."""
    return tuple(_TABLE)


def get(name: str) -> Backend:
    """The backend of that name: built in, `NAME@VERSION` of a built-in one, or `target:FILE.py:FUNCTION`.

    Imports no framework. Raises UsageError with the known names otherwise.
    """
    if name.startswith(TARGET):
        from bnfuzz.backends.target import Target

        return Target(name)
    label, _, version = name.partition("@")
    if label not in _TABLE and name.endswith(".py"):
        raise UsageError(f"{name!r} names no function; say which: {name}:FUNCTION")
    if label not in _TABLE:
        raise UsageError(f"backend {name!r} is unknown; use one of {', '.join(_TABLE)}, or target:FILE.py:FUNCTION")
    module, kind = _TABLE[label]
    adapter = getattr(importlib.import_module(f"bnfuzz.backends.{module}"), kind)
    backend: Backend = adapter(version)
    if version and backend.framework == "numpy":
        raise UsageError(f"backend {name!r}: {label} runs in this interpreter only; leave the version out")
    return backend


def available() -> tuple[str, ...]:
    """The built-in backends that can run here and now."""
    from bnfuzz.backends import environments

    return tuple(name for name in names() if environments.absence(get(name)) is None)
