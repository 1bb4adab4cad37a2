"""What `bnfuzz.check` says of a function that failed: all that helps."""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Iterable
from pathlib import Path

from bnfuzz.case import Case
from bnfuzz.casefile import dumps, write_atomic
from bnfuzz.casefile.stored import from_finding
from bnfuzz.check_result import CheckResult
from bnfuzz.corpus import Corpus
from bnfuzz.diagnosis.explanation import Explanation
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.report.scripts.literals import LISTED, array_literal
from bnfuzz.report.text import failure_text, format_of
from bnfuzz.report.words import inputs_words, number, place, spec_words
from bnfuzz.signature import first_failing

ARRAYS = {"jax": "jnp.asarray({})", "torch": "torch.from_numpy({})", "mxnet": "mx.nd.array({0}, dtype={0}.dtype)"}
WIDTH = 110


def failure_message(
    finding: Finding, result: CheckResult, explanation: Explanation, *, call: str, others: int, folder: Path | None
) -> str:
    """The case, exact and observed values with bound and ratio, the cause, and how to see it again."""
    evidence = explanation.causes[0].evidence[:2] if explanation.causes else ()
    text = failure_text(
        finding.case,
        finding.backend,
        finding.verdicts,
        headline=f"{result.name} ({result.framework}) is not batch norm: {_failing_words(finding.verdicts)}",
        notes={
            "cause": _wrapped((finding.cause, *evidence)),
            "contract": result.contract.words,
            "also": f"{others} other sorts of failures in the same run" if others else "",
        },
    )
    return "\n".join([text, "", *_reproduce(finding, result, call, folder)])


def raised_message(name: str, case: Case, details: str, *, among: int | None = None) -> str:
    """The function's own traceback, and the case it was given.

    among  it raised in one of so many calls, and in none when they were made again; the case is that of the first
    """
    if among is None:
        said = f"{name} raised on this case:"
    elif among == 1:
        said = f"{name} raised on this case, and not when it was called again:"
    else:
        said = (
            f"{name} raised in one of {among} calls, and in none of them when they were made again one by one. "
            "The first of them:"
        )
    lines = [said, *(f"  {line}" for line in spec_words(case.spec))]
    lines += [f"    {line}" for line in inputs_words(case)]
    return "\n".join([*lines, "", details])


def _wrapped(sentences: Iterable[str]) -> str:
    """Sentences, each on lines of its own, below a name that is indented by two."""
    wrapped = (textwrap.wrap(sentence, WIDTH, subsequent_indent="  ") for sentence in sentences)
    return "\n    ".join(line for lines in wrapped for line in lines)


def _failing_words(verdicts: tuple[Verdict, ...]) -> str:
    return ", ".join(f"{verdict.output} {verdict.kind}" for verdict in verdicts if verdict.is_finding)


def _reproduce(finding: Finding, result: CheckResult, call: str, folder: Path | None) -> list[str]:
    """Code where the arrays are small; the case's file where there is a folder, or where they are not."""
    case = finding.case
    small = all(array.size <= LISTED for _, array in case.inputs.items())
    lines = _snippet(finding, result, call) if small else []
    if folder is not None or not small:
        path = Path(tempfile.gettempdir()) / f"bnfuzz-{from_finding(finding).id}.json"
        if folder is not None:
            path = Corpus(folder).add_finding(finding)
        else:
            write_atomic(path, dumps(from_finding(finding)))
        lines.append(f'the case is in {path}; to judge it again: bnfuzz.check({result.name}, cases=["{path}"])')
    return lines


def _snippet(finding: Finding, result: CheckResult, call: str) -> list[str]:
    spec, first = finding.case.spec, first_failing(finding.verdicts)
    imports = {"jax": "import jax.numpy as jnp", "torch": "import torch", "mxnet": "import mxnet as mx"}
    lines = ["to see it again:", "    import numpy as np"]
    if result.framework in imports:
        lines.append(f"    {imports[result.framework]}")
    stateful = "running_mean" in call
    gradient = first is None or first.output in ("dx", "dgamma", "dbeta")
    for name, array in finding.case.inputs.items():
        if (name == "cotangent" and not gradient) or (name.startswith("running") and not stateful):
            continue
        lines.append(f"    {name} = {ARRAYS.get(result.framework, '{}').format(array_literal(array[0]))}")
    lines.append(f"    {call}")
    if first is not None and first.kind == "leak":
        lines.append(f"    # {first.why}")
    elif first is not None and first.index:
        name = format_of(spec, first.output)
        loss = {"explicit": "this cotangent", "sum": "the loss sum(y)", "mean_square": "the loss mean(y*y)"}
        under = f" under {loss[spec.cotangent]}" if gradient else ""
        lines.append(
            f"    # {first.output}{place(first.index)}{under} is {number(first.observed, name)}; exact is "
            f"{number(first.exact, name)}"
        )
    return lines
