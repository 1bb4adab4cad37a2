"""A failing step of a sequence as a case of its own: from the state that the backend had left it, judged alone.

A sequence shows faults of the state carried along, and all others as well. What one step shows alone is no fault of
the sequence, and is counted with those of its own mode.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bnfuzz.backends.execution import is_absent
from bnfuzz.backends.pool import Pool
from bnfuzz.campaign.findings.sameness import class_of
from bnfuzz.case import Array, Inputs, Spec, check_inputs
from bnfuzz.errors import UsageError
from bnfuzz.evaluation import Result, evaluate_block
from bnfuzz.judge.compare import OutputJudgement
from bnfuzz.signature import parts_of, signature


@dataclass(frozen=True, kw_only=True, eq=False)
class Alone:
    """One step that fails as it did in its sequence, and its signature."""

    signature: str
    result: Result
    spec: Spec
    inputs: Inputs


def step_alone(pool: Pool, result: Result, spec: Spec, inputs: Inputs, trial: int, identity: str) -> Alone | None:
    """The first step in which the output that `identity` names fails, where it fails alone too; None where not."""
    parts = parts_of(identity)
    if parts is None:
        return None
    output, kind = parts.output, parts.kind
    number = next((k for k, step in enumerate(result.steps) if _kind(step.outputs, output, trial) == kind), None)
    if number is None:
        return None
    step = replace(spec, steps=(spec.steps[number],))
    given = inputs.trial(trial).at_step(number, **_state(result, inputs, trial, number))
    try:
        check_inputs(step, given)
    except UsageError:
        return None  # the backend left a state of another shape or format: that is what fails
    alone = evaluate_block(pool, (result.backend,), step, given)[result.backend]
    headline = alone.headline(0) if alone.judged else None
    named = None if headline is None else signature(step, result.backend, (headline,))
    if headline is None or named is None or (headline.output, class_of(headline.kind)) != (output, class_of(kind)):
        return None
    return Alone(signature=named, result=alone, spec=step, inputs=given)


def _kind(outputs: tuple[OutputJudgement, ...], output: str, trial: int) -> str:
    return next((judged.kinds[trial] for judged in outputs if judged.name == output), "")


def _state(result: Result, inputs: Inputs, trial: int, step: int) -> dict[str, Array | None]:
    """The running statistics that the step began with."""
    state = {"running_mean": inputs.running_mean, "running_var": inputs.running_var}
    left = result.reply.outputs
    for name, array in state.items():
        carried = getattr(left, f"new_{name}")
        if array is None:
            continue
        before = [] if carried is None else [carried[trial : trial + 1, k] for k in range(step)]
        state[name] = next((one for one in reversed(before) if not is_absent(one)), array[trial : trial + 1])
    return state
