"""What stays the same: the bits of a repeated call, the inputs, the channels beside a NaN."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnfuzz.case import Case, Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import CHANNELS, ROWS, Subject, inputs_of, refusal

SAME, OTHER = "the same bits", "other bits"
UNCHANGED = "keep their bits"
ISOLATED, LEAKS = "stays in its channel", "reaches other channels"
REPEATS = 4


def _random(spec: Spec, trials: int) -> Inputs:
    random = np.random.default_rng(6)
    one = random.standard_normal((1, ROWS, CHANNELS))
    return inputs_of(
        spec,
        np.repeat(one, trials, axis=0),
        gamma=random.uniform(0.5, 2.0, CHANNELS),
        beta=random.standard_normal(CHANNELS),
        running_mean=random.standard_normal(CHANNELS),
        running_var=random.uniform(0.5, 2.0, CHANNELS),
        cotangent=np.repeat(random.standard_normal((1, ROWS, CHANNELS)), trials, axis=0),
    )


def repeated(subject: Subject) -> Seen:
    spec = subject.spec()
    inputs = _random(spec, REPEATS)
    calls = [subject.outputs(spec, inputs) for _ in range(2)]
    differing = [
        name
        for name, array in calls[0].items()
        if len({trial.tobytes() for call in calls for trial in _named(call, name)}) > 1
        or array.shape != _named(calls[1], name).shape
    ]
    evidence = f"{2 * REPEATS} calls of the same random input: " + (
        f"{', '.join(differing)} differ" if differing else f"{', '.join(dict(calls[0].items()))} agree to the bit"
    )
    return Seen(observed=OTHER if differing else SAME, evidence=evidence, case=_one(spec, inputs))


def unchanged(subject: Subject) -> Seen:
    spec = subject.spec()
    inputs = _random(spec, REPEATS)
    reply = subject.run(spec, inputs)
    if reply.outputs is None:
        raise CannotTell(f"the call ends in {refusal(reply)}")
    stages = subject.observe(spec, inputs.trial(0))
    given = {name: array[0].tobytes() for name, array in inputs.items()}
    changed = set(reply.mutated)
    changed |= {name for name in given if stages and stages[f"{name}@backward"].tobytes() != given[name]}
    observed = _told(changed)
    evidence = f"{', '.join(given)} compared before and after {'forward and backward' if stages else 'the call'}"
    return Seen(observed=observed, evidence=evidence, case=_one(spec, inputs))


def _told(changed: set[str]) -> str:
    return f"{UNCHANGED}, but {', '.join(sorted(changed))}" if changed else UNCHANGED


def isolated(subject: Subject) -> Seen:
    spec = subject.spec()
    clean = _random(spec, 1)
    poison = np.zeros((ROWS, CHANNELS))
    poison[0, 0] = np.nan
    sick = inputs_of(spec, poison[np.newaxis])
    # NaN where the poison is, the clean bits elsewhere.
    poisoned = replace(clean, x=np.where(np.isnan(sick.x), sick.x, clean.x))
    before, after = subject.outputs(spec, clean), subject.outputs(spec, poisoned)
    reached = [
        name for name, array in before.items() if _others(spec, name, array) != _others(spec, name, _named(after, name))
    ]
    evidence = "a NaN in one value of channel 0: " + (
        f"{', '.join(reached)} of other channels change" if reached else "all other channels keep their bits"
    )
    case = Case(spec=spec, inputs=poisoned)
    return Seen(observed=LEAKS if reached else ISOLATED, evidence=evidence, case=case)


def _named(outputs: Outputs, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    array = getattr(outputs, name)
    return np.zeros(0) if array is None else np.asarray(array)


def _others(spec: Spec, name: str, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bytes:
    """The bits of all channels but the first."""
    axis = 1 + spec.affine_axes[0] if name in ("y", "dx") else 1
    return np.take(array, range(1, CHANNELS), axis=axis).tobytes()


def _one(spec: Spec, inputs: Inputs) -> Case:
    return Case(spec=spec, inputs=inputs.trial(0))


def documented_changes(conventions: Conventions) -> str:
    """Which of the given arrays are written into."""
    changed = set() if conventions.statistics_written == "returned" else {"running_mean", "running_var"}
    return _told(changed | ({"gamma"} if conventions.fix_gamma else set()))


PROBES = (
    Probe(name="a repeated call gives", look=repeated),
    Probe(name="the given arrays", look=unchanged, documented=documented_changes),
    Probe(name="a NaN", look=isolated, documented=lambda conventions: ISOLATED),
)
