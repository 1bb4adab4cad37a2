"""Implementations with one fault each, as a file of functions in NumPy, and cases that show it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bnfuzz.case import Case, Inputs, Mode, batch_norm_spec
from bnfuzz.casefile import CaseFile, Expectation
from bnfuzz.corpus import Entry

SOURCE = """\
import os
import sys

import numpy as np


def _normalised(x, gamma, beta, eps, axis):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    deviation = x - x.mean(axes, keepdims=True)
    variance = (deviation * deviation).mean(axes, keepdims=True)
    return deviation / np.sqrt(variance + np.float32(eps)) * gamma.reshape(shape) + beta.reshape(shape)


def right(x, gamma, beta, *, eps, axis):
    return _normalised(x, gamma, beta, eps, axis)


def wrong(x, gamma, beta, *, eps, axis):
    return _normalised(x, gamma, beta, eps, axis) + np.float32(1)


def one_pass(x, gamma, beta, *, eps, axis):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    mean = x.mean(axes, keepdims=True)
    variance = np.maximum((x * x).mean(axes, keepdims=True) - mean * mean, 0)
    return (x - mean) / np.sqrt(variance + np.float32(eps)) * gamma.reshape(shape) + beta.reshape(shape)


def not_a_number(x, gamma, beta, *, eps, axis):
    return _normalised(x, gamma, beta, eps, axis) * np.float32(np.nan)


def doubled(x, gamma, beta, *, eps, axis):
    return _normalised(x, gamma, beta, eps, axis).astype(np.float64)


def turned(x, gamma, beta, *, eps, axis):
    return _normalised(x, gamma, beta, eps, axis).T


def raises(x, gamma, beta, *, eps, axis):
    raise RuntimeError("no kernel for `this` | that")


def dies(x, gamma, beta, *, eps, axis):
    os.abort()


def stays(x, gamma, beta, *, eps, axis):
    while True:
        pass


def writes(x, gamma, beta, *, eps, axis):
    y = _normalised(x, gamma, beta, eps, axis)
    gamma[...] = 7
    return y


def leaks(x, gamma, beta, *, eps, axis):
    y = _normalised(x, gamma, beta, eps, axis)
    y[0, 0] = np.nextafter(y[0, 0], np.float32(9), dtype=np.float32) if x[0, 1] > 2 else y[0, 0]
    return y


calls = 0


def wavers(x, gamma, beta, *, eps, axis):
    global calls
    calls += 1
    y = _normalised(x, gamma, beta, eps, axis)
    y[0, 0] = np.nextafter(y[0, 0], np.float32(9), dtype=np.float32) if calls % 2 else y[0, 0]
    return y


def watched(x, gamma, beta, *, eps, axis):
    return _normalised(x, gamma, beta, eps, axis) + np.float32(1 if sys.modules.get("bnfuzz") else 0)


def forgets(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training):
    if training:
        axes = tuple(i for i in range(x.ndim) if i != axis)
        mean, var, m = x.mean(axes), x.var(axes), np.float32(momentum)
        y = _normalised(x, gamma, beta, eps, axis)
        return y, (1 - m) * running_mean + m * mean, (1 - m) * running_var + m * var
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    y = x / np.sqrt(running_var.reshape(shape) + np.float32(eps)) * gamma.reshape(shape) + beta.reshape(shape)
    return y, running_mean, running_var
"""


def write_source(folder: Path, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(SOURCE)
    return path


def case_of(x: object = ((1.0, 3.0), (2.0, 5.0), (4.0, 1.0)), *, steps: tuple[Mode, ...] = ("training",)) -> Case:
    """Plain parameters and a varied cotangent around these values; with several steps x has an axis of them."""
    data = np.asarray(x, np.float32)
    built = batch_norm_spec(data.shape[len(steps) > 1 :], steps=steps)
    ones = np.ones((1, *built.statistics_shape), np.float32)
    cotangent = np.linspace(-1, 1, data.size, dtype=np.float32).reshape((1, *data.shape))
    inputs = Inputs(
        x=data[np.newaxis],
        gamma=ones * 2,
        beta=ones,
        running_mean=ones,
        running_var=ones,
        cotangent=cotangent,
    )
    return Case(spec=built, inputs=inputs)


def entry_of(case: Case | None = None, name: str = "a.json", **findings: str) -> Entry:
    """A stored case that records these findings of any target."""
    recorded = (Expectation(backend="target:*", findings=findings),) if findings else ()
    return Entry(Path(name), CaseFile(case=case or case_of(), expectations=recorded))
