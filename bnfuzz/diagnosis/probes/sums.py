"""In what manner sums are accumulated, by the growth of their error with n: of the mean (forward), of dbeta (backward).

Two rows of data of one sign: constant numbers, over which a long chain of additions errs in one direction, and random
ones, over which only a wider or a compensated accumulator rounds every sum correctly. What is said is no more than what
the errors of the longest sums are consistent with.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from bnfuzz.case import Array, Case, Inputs, Spec
from bnfuzz.conventions import Conventions, Summation
from bnfuzz.diagnosis.probes.cannot_tell import CannotTell
from bnfuzz.diagnosis.probes.row import Probe, Seen
from bnfuzz.diagnosis.probes.subject import Subject, inputs_of, offered
from bnfuzz.numerics.tracked import RAW, TrackedArithmetic
from bnfuzz.numerics.values import Float, Float64

LENGTHS = (2**8, 2**16)
COLUMNS = 8

WIDE = "as of a wider or compensated accumulator"
SHORT = "as of pairwise sums, blocks or many lanes"
LONG = "as of sequential sums or a few lanes"
STATED = {"any": "", "lanes": "", "pairwise": SHORT, "wide": WIDE}


def look(subject: Subject, output: str) -> Seen:
    in_any_order = True
    observed = ""
    words = []
    case: Case | None = None
    for n in LENGTHS:
        spec, inputs, columns = long_columns(subject, n)
        seen = np.asarray(_seen(subject, output, spec, inputs), dtype=np.float64)
        # n is a power of two, so its quotient is exact.
        divisor = 1 if output == "dbeta" else n
        exact = np.array([[math.fsum(column) / divisor for column in row.T] for row in columns])
        error = np.abs(seen - exact)
        rounded = bool((seen == exact.astype(subject.format.dtype).astype(np.float64)).all())
        short = bool((error <= reach(subject, columns, output, "pairwise")).all())
        in_any_order &= bool((error <= reach(subject, columns, output, "any")).all())
        observed = WIDE if rounded else SHORT if short else LONG
        largest = float(np.max(error / np.abs(exact))) / subject.format.unit_roundoff
        words.append(f"{largest:.3g} u at n = {n} ({observed})")
        case = Case(spec=spec, inputs=inputs.trial(0)) if case is None else case
    evidence = f"{output} over numbers of one sign, shape {spec.shape} at last: largest error {'; '.join(words)}"
    if not in_any_order:
        raise CannotTell(f"{evidence}: beyond what any order of sums can do")
    return Seen(observed=observed, evidence=evidence, case=case)


def long_columns(subject: Subject, n: int) -> tuple[Spec, Inputs, Float]:
    """(Spec, inputs whose x is the cotangent too, x by columns): n values over two axes where rank 3 is accepted."""
    lowest, highest = subject.conventions.ranks
    if lowest <= 3 <= highest and subject.axis in (1, -1):
        shape: tuple[int, ...] = (2, COLUMNS, n // 2) if subject.axis == 1 else (2, n // 2, COLUMNS)
    else:
        shape = (COLUMNS, n) if subject.axis == 0 else (n, COLUMNS)
        shape += (1,) * (lowest - 2)
    spec = subject.spec(shape, momentum=1.0)
    random = np.random.default_rng(n)
    constant = np.broadcast_to(random.uniform(1.0, 2.0, COLUMNS), (n, COLUMNS))
    columns = np.stack([constant, random.uniform(1.0, 2.0, (n, COLUMNS))])
    columns = columns.astype(subject.format.dtype).astype(np.float64)
    return spec, inputs_of(spec, columns, cotangent=columns, running_mean=0.0), columns


def _seen(subject: Subject, output: str, spec: Spec, inputs: Inputs) -> Array:
    """dbeta, or the mean: as such, or as the running mean that a momentum of 1 replaces."""
    outputs = subject.outputs(spec, inputs)
    if output == "dbeta":
        return offered(outputs, "dbeta")
    if outputs.batch_mean is not None:
        return outputs.batch_mean
    subject.settable("momentum")
    learnt = offered(outputs, "new_running_mean")
    if not np.asarray(learnt, dtype=np.float64).all():
        raise CannotTell("the running mean does not show the batch mean")
    return learnt


def reach(subject: Subject, columns: Float, output: str, kind: str) -> Float:
    """(K, C): how far a sum of that kind, or its mean, may be from the exact one."""
    summation = Summation(kind="pairwise") if kind == "pairwise" else Summation()
    arithmetic = TrackedArithmetic(Float64(), subject.format, flushes=False, summation=summation)
    values = arithmetic.exact(columns)
    summed = arithmetic.total(values, (-2,)) if output == "dbeta" else arithmetic.mean(values, (-2,))
    return arithmetic.store(summed, subject.format).e[RAW][:, 0, :]


def documented(conventions: Conventions) -> str:
    return STATED[conventions.summation.kind]


PROBES = (
    Probe(name="long sums of forward", look=partial(look, output="mean"), documented=documented),
    Probe(name="long sums of backward", look=partial(look, output="dbeta"), documented=documented),
)
