"""Running trials on one backend, in whatever process this is: layouts, steps, carried state, mutations.

The worker uses it, and so does a check inside the caller's own process.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bnfuzz import layouts
from bnfuzz.backends.base import Arrays, Backend, Program
from bnfuzz.case import OUTPUT_NAMES, Array, Mode, Spec

STATE = {"running_mean": "new_running_mean", "running_var": "new_running_var"}


class OutputError(Exception):
    """Outputs that cannot be reported as arrays with a trial axis."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Outputs of K trials (leading trial axis; a second, steps axis where the Spec has more than one step).

    mutated          names of inputs whose bytes had changed after a call, in any trial
    seconds          spent in the calls
    compile_seconds  spent building programs and in the first call of a new one
    """

    outputs: dict[str, Array]
    mutated: tuple[str, ...]
    seconds: float
    compile_seconds: float


class Programs:
    """The programs of one process, the least recently used dropped beyond `capacity` (a jitted one holds 4 MB)."""

    def __init__(self, capacity: int = 256) -> None:
        self.built = 0
        self._capacity = capacity
        self._programs: OrderedDict[tuple[str, Spec], Program] = OrderedDict()

    def get(self, backend: Backend, spec: Spec) -> tuple[Program, bool]:
        """(program of a one-step Spec, whether it is new)."""
        # A program does not depend on the layout of what it is given.
        spec = replace(spec, layout_x="contiguous", layout_cotangent="contiguous")
        key = (backend.name, spec)
        if key in self._programs:
            self._programs.move_to_end(key)
            return self._programs[key], False
        program = self._programs[key] = backend.compile(spec)
        self.built += 1
        if len(self._programs) > self._capacity:
            self._programs.popitem(last=False)
        return program, True


def run_trials(backend: Backend, programs: Programs, spec: Spec, inputs: Arrays) -> Execution:
    """Runs every trial of `inputs` (name -> array with a trial axis), one ordinary call after the other.

    Outputs come back as the backend gave them: wrong shapes and formats are for the judge. In a sequence
    the state of one step is what the backend itself gave for the step before; a step whose mode lacks an
    output that another step has holds NaN there.
    """
    run = _Run(backend, programs, spec)
    trials = [run.sequence({name: array[k] for name, array in inputs.items()}) for k in range(len(inputs["x"]))]
    return Execution(
        outputs=_stacked("trial", trials),
        mutated=tuple(sorted(run.mutated)),
        seconds=run.seconds,
        compile_seconds=run.compile_seconds,
    )


class _Run:
    def __init__(self, backend: Backend, programs: Programs, spec: Spec) -> None:
        self.backend, self.programs, self.spec = backend, programs, spec
        self._pid = os.getpid()
        self.mutated: set[str] = set()
        self.seconds = self.compile_seconds = 0.0
        # Made once: a Spec checks itself, which takes longer than a small batch norm.
        self._steps = {mode: replace(spec, steps=(mode,)) for mode in set(spec.steps)}
        self._ready: dict[Mode, Program] = {}

    def sequence(self, trial: Arrays) -> dict[str, Array]:
        if len(self.spec.steps) == 1:
            return dict(self.step(self.spec.mode, trial))
        state = {name: trial[name] for name in STATE if name in trial}
        steps = []
        for index, mode in enumerate(self.spec.steps):
            sliced = {name: trial[name][index] for name in ("x", "cotangent") if name in trial}
            outputs = self.step(mode, {**trial, **sliced, **state})
            state = {name: outputs.get(STATE[name], old) for name, old in state.items()}
            steps.append(dict(outputs))
        every = [name for name in OUTPUT_NAMES if any(name in step for step in steps)]
        like = {name: next(step[name] for step in steps if name in step) for name in every}
        return _stacked("step", [{name: step.get(name, _absent(like[name])) for name in every} for step in steps])

    def step(self, mode: Mode, given: Arrays) -> Arrays:
        chosen = {"x": self.spec.layout_x, "cotangent": self.spec.layout_cotangent}
        arrays = {name: layouts.lay_out(array, chosen.get(name, "contiguous")) for name, array in given.items()}
        before = {name: layouts.memory(array).tobytes() for name, array in arrays.items()}
        started = time.perf_counter()
        new = False
        if mode not in self._ready:
            self._ready[mode], new = self.programs.get(self.backend, self._steps[mode])
        computed = self._ready[mode](arrays)
        if os.getpid() != self._pid:
            # A function that forks returns twice; were both to go on, every trial would double the processes.
            os._exit(0)
        elapsed = time.perf_counter() - started
        if new:
            self.compile_seconds += elapsed
        else:
            self.seconds += elapsed
        updated = self._rightly_updated(mode)
        for name, array in arrays.items():
            held = computed.held.get(name)
            changed = layouts.memory(array).tobytes() != before[name]
            if name not in updated and (changed or (held is not None and held.tobytes() != given[name].tobytes())):
                self.mutated.add(name)
        return _known(computed.outputs)

    def _rightly_updated(self, mode: Mode) -> set[str]:
        """Inputs that the backend documents to write into: buffers in training, gamma where it is fixed to 1."""
        updated = set(STATE) if self.backend.keeps_state and mode == "training" else set()
        return updated | {"gamma"} if self.backend.conventions.fix_gamma else updated


def _known(outputs: Mapping[str, object]) -> Arrays:
    for name, value in outputs.items():
        if name not in OUTPUT_NAMES:
            raise OutputError(f"{name!r} is no output; outputs are {', '.join(OUTPUT_NAMES)}")
        if not isinstance(value, np.ndarray):
            raise OutputError(f"{name} is a {type(value).__name__}, not an array")
    # Copied: a framework may reuse the memory behind its result.
    return {name: np.array(value) for name, value in outputs.items()}


def _absent(like: Array) -> Array:
    # In C order whatever the output's own: the bytes of another order, or of no axis, cannot be viewed one by one.
    return np.full(like.nbytes, 0xFF, np.uint8).view(like.dtype).reshape(like.shape)


def is_absent(array: Array) -> bool:
    """Whether a step of a sequence gave no such output: all bits are set, as in no NaN that arithmetic gives."""
    return array.size > 0 and bool((np.ascontiguousarray(array).view(np.uint8) == 0xFF).all())


def _stacked(axis: str, rows: list[dict[str, Array]]) -> dict[str, Array]:
    if not rows:
        return {}
    for index, row in enumerate(rows):
        kinds = {name: (array.shape, array.dtype) for name, array in row.items()}
        first = {name: (array.shape, array.dtype) for name, array in rows[0].items()}
        if kinds != first:
            raise OutputError(f"outputs of {axis} {index} are {kinds}; those of {axis} 0 were {first}")
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
