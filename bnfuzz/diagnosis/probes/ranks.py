"""Which ranks of x are accepted; those of three axes are the shape of the probe of channel axes."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import MAX_RANK, Case
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.probes.eps_place import require_formula
from bnfuzz.diagnosis.probes.hypotheses import expect, fits
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, inputs_of, refusal

SIDES = (3, 3, 3, 1, 1, 1, 1, 1)


def look(subject: Subject) -> Seen:
    require_formula(subject)
    works: list[int] = []
    words: list[str] = []
    case: Case | None = None
    lowest, highest = subject.conventions.ranks
    for rank in range(1, MAX_RANK + 1):
        axis = subject.axis if -rank <= subject.axis < rank else 0
        spec = subject.spec(SIDES[:rank], axis=axis)
        inputs = inputs_of(spec, np.arange(float(max(spec.n, 1)))[:, np.newaxis] ** 2)
        reply = subject.run(spec, inputs)
        right = (
            reply.outputs is not None
            and reply.outputs.y is not None
            and fits(expect(spec, inputs, subject.conventions, "y"), reply.outputs.y)
        )
        if right:
            works.append(rank)
            continue
        words.append(f"rank {rank} {'gives another y' if reply.outputs else 'ends in ' + refusal(reply)}")
        if lowest <= rank <= highest and case is None:
            case = Case(spec=spec, inputs=inputs)
    agrees = set(range(lowest, highest + 1)) <= set(works)
    evidence = f"shapes {SIDES[:1]} to {SIDES}: " + ("; ".join(words) or "all give y")
    return Seen(observed=spans(works), evidence=evidence, agrees=agrees, case=case)


def spans(numbers: list[int]) -> str:
    """1..3, 5: ascending integers with runs written short."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or "none"


def documented(conventions: Conventions) -> str:
    return spans(list(range(conventions.ranks[0], conventions.ranks[1] + 1)))


PROBES = (Probe(name="ranks of x", look=look, documented=documented),)
