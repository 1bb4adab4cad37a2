"""Small trials for the judge, and outputs that are right to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Inputs, Outputs, Spec, batch_norm_spec, expected_arrays, expected_outputs
from bnfuzz.conventions import Conventions
from bnfuzz.judge.compare import judge
from bnfuzz.numerics.reference import Reference, reference

PLAIN = Conventions(source="test", compute=(("float16", "float32"), ("bfloat16", "float32")))


def inputs_of(spec: Spec, seed: int = 0, trials: int = 1, **given) -> Inputs:
    """Normal values, running variances positive; `given` arrays (one trial's) in place of them, all trials alike."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, (shape, format_name) in expected_arrays(spec).items():
        values = rng.standard_normal((trials, *shape))
        values = np.abs(values) if name == "running_var" else values
        if name in given:
            values = np.broadcast_to(np.reshape(given[name], shape), (trials, *shape))
        arrays[name] = np.array(values).astype(formats.named(format_name).dtype)
    return Inputs(**arrays)


def exact_outputs(result: Reference) -> Outputs:
    """The reference's values, rounded to the output formats."""
    with np.errstate(over="ignore"):
        return Outputs(
            **{
                name: result.outputs[name].value.astype(formats.named(format_name).dtype)
                for name, (_, format_name) in expected_outputs(result.spec).items()
            }
        )


def case(shape=(4, 3), conventions: Conventions = PLAIN, seed: int = 0, trials: int = 1, given=None, **fields):
    """(reference, outputs that are right) of a batch norm Spec."""
    spec = batch_norm_spec(shape, **fields)
    result = reference(spec, inputs_of(spec, seed, trials, **(given or {})), conventions)
    return result, exact_outputs(result)


def changed(outputs: Outputs, name: str, at, value) -> Outputs:
    """`outputs` with one element, or several, replaced."""
    array = getattr(outputs, name).copy()
    array[at] = value
    return replace(outputs, **{name: array})


def verdict(result: Reference, outputs: Outputs, name: str, trial: int = 0):
    """The verdict on one output."""
    (found,) = (verdict for verdict in judge(result, outputs).verdicts(trial) if verdict.output == name)
    return found


def only(result: Reference, name: str, observed) -> Outputs:
    """Outputs of which only one is given, in its format."""
    shape, format_name = expected_outputs(result.spec)[name]
    array = np.asarray(observed).reshape(len(result.rungs), *shape)
    return Outputs(**{name: array.astype(formats.named(format_name).dtype)})
