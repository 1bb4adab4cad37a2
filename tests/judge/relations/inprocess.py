"""Kernels of the catalogue, and plain functions, run in process in the place of a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from bnfuzz import formats
from bnfuzz.backends.pool import Reply
from bnfuzz.case import Inputs, Outputs, Spec, expected_arrays
from bnfuzz.conventions import Conventions
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.kernel import Kernel
from bnfuzz.faults.textbook import CLEAN

Compute = Callable[[Spec, Inputs], Outputs]


@dataclass
class InProcess:
    """Every name is the same implementation. `calls` counts what was run."""

    compute: Compute
    stated: Conventions = CONVENTIONS
    calls: int = field(default=0)

    def run(self, names: Iterable[str], spec: Spec, inputs: Inputs) -> dict[str, Reply]:
        self.calls += 1
        with np.errstate(all="ignore"):
            return {name: self._reply(name, spec, inputs) for name in names}

    def conventions(self, name: str) -> Conventions:
        del name
        return self.stated

    def _reply(self, name: str, spec: Spec, inputs: Inputs) -> Reply:
        # The kernels of the catalogue run the relatives too, which no Conventions speak of.
        reason = self.stated.unsupported(spec) if spec.operation == "batch_norm" else None
        if reason is not None:
            return Reply(backend=name, status="unsupported", message=reason)
        given = Inputs(**{key: array.copy() for key, array in inputs.items()})
        outputs = self.compute(spec, given)
        mutated = tuple(
            key
            for (key, after), (_, before) in zip(given.items(), inputs.items(), strict=True)
            if after.tobytes() != before.tobytes()
        )
        return Reply(backend=name, status="ok", outputs=outputs, mutated=mutated)


def of_kernel(kernel: Kernel = CLEAN, stated: Conventions = CONVENTIONS) -> InProcess:
    return InProcess(lambda spec, inputs: run(kernel, spec, inputs, stated), stated)


def noise(spec: Spec, trials: int = 4, seed: int = 0) -> Inputs:
    """Ordinary values of every array."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        values = 1.5 + rng.standard_normal((trials, *shape))
        if name == "running_var":
            values = np.abs(values) + 0.25
        arrays[name] = values.astype(formats.named(format_name).dtype)
    return Inputs(**arrays)
