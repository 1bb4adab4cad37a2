"""The identity of a fault, independent of messages, data and version."""

from __future__ import annotations

from pathlib import PurePath

from bnfuzz.case import OUTPUT_NAMES, Spec
from bnfuzz.judge.verdict import FAILING, Verdict

RECIPE = 1
"""Version of the recipe below; part of every signature, so that a changed recipe never matches old ones."""


def first_failing(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """The failing verdict that names the finding: kinds that fail a run first, then data-flow order."""

    def order(verdict: Verdict) -> tuple[bool, int]:
        place = OUTPUT_NAMES.index(verdict.output) if verdict.output in OUTPUT_NAMES else -1
        return (verdict.kind not in FAILING, place)

    findings = [verdict for verdict in verdicts if verdict.is_finding]
    return min(findings, key=order) if findings else None


def portable(backend: str) -> str:
    """A target by its file's name alone: the folder is a matter of the machine."""
    kind, colon, place = backend.partition(":")
    return f"{kind}{colon}{PurePath(place).name}"


def signature(spec: Spec, backend: str, verdicts: tuple[Verdict, ...]) -> str | None:
    """`v1/backend/operation/mode/output/kind/formats/regime`, or None where no verdict is a finding.

    The output is the first failing one in data-flow order, the regime that of its worst channel (from exact
    values). The cause is no part of it: it comes later and may improve.
    """
    first = first_failing(verdicts)
    if first is None:
        return None
    mode = "+".join(spec.steps)
    backend = portable(backend)
    parts = (
        f"v{RECIPE}",
        backend,
        spec.operation,
        mode,
        first.output,
        first.kind,
        "-".join(spec.formats),
        first.regime,
    )
    return "/".join(parts)
