"""From a failing case to its cause.

explain_case(pool, "flax", case).sentence
explain(case, outputs, conventions, run=f)        without a pool: f(spec, inputs) -> Outputs
explain_stored(case, conventions, verdicts)       without the backend: what stored verdicts still tell
"""

from __future__ import annotations

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case, Outputs
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.causes.inquiry import Inquiry, told
from bnfuzz.diagnosis.causes.observation import Answer, Run, asking, calling, from_stored
from bnfuzz.diagnosis.explanation import Explanation
from bnfuzz.judge.verdict import Verdict


def explain_case(pool: Pool, backend: str, case: Case, *, probing: bool = True) -> Explanation:
    """What explains the case on a backend of the pool; `probing` runs it on further inputs as well.

    Raises UsageError and InfrastructureError where the backend cannot run at all.
    """
    conventions = pool.conventions(backend)
    ask = asking(pool, backend)
    answer = ask(case.spec, case.inputs)
    if answer is None:
        return Explanation(note=f"{backend} cannot express the case")
    return Inquiry(case, conventions, answer, ask if probing else None).explanation()


def explain(
    case: Case,
    outputs: Outputs | None,
    conventions: Conventions,
    *,
    run: Run | None = None,
    raised: str = "",
    mutated: tuple[str, ...] = (),
) -> Explanation:
    """What explains these outputs of one case (None where the call raised); `run` is asked for further inputs."""
    answer = Answer(outputs=outputs, raised=raised, mutated=mutated)
    return Inquiry(case, conventions, answer, calling(run) if run else None).explanation()


def explain_stored(case: Case, conventions: Conventions, verdicts: tuple[Verdict, ...]) -> Explanation:
    """What stored verdicts alone tell of the cause: they hold the worst element of each failing output."""
    observation = from_stored(case.spec, case.inputs, conventions, verdicts)
    failing = tuple(told(case.spec, verdict) for verdict in verdicts if verdict.is_finding)
    needs = "only the worst element of each failing output is stored; to decide, run the backend itself"
    if observation is None:
        return Explanation(failing=failing, note=f"no value to go by: {needs}")
    found = Inquiry(case, conventions, observation.answer, None, known=observation).explanation()
    return Explanation(causes=found.causes, failing=failing, excluded=found.excluded, note=needs)
