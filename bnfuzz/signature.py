"""The identity of a fault, independent of messages, data and version."""

from __future__ import annotations

from pathlib import PurePath
from typing import NamedTuple

from bnfuzz.case import OUTPUT_NAMES, Spec
from bnfuzz.judge.verdict import FAILING, Verdict

RECIPE = 1
"""Version of the recipe below; part of every signature, so that a changed recipe never matches old ones."""


class Parts(NamedTuple):
    """What a signature says, in its order; `formats` joined by hyphens, `mode` the steps joined by plus signs."""

    recipe: str
    backend: str
    operation: str
    mode: str
    output: str
    kind: str
    formats: str
    regime: str


def parts_of(signature: str) -> Parts | None:
    """The parts; None for a text that is no signature, such as a pattern of known.toml."""
    parts = signature.split("/")
    return Parts(*parts) if len(parts) == len(Parts._fields) else None


def backend_of(text: str) -> str:
    """The backend that a signature, or a pattern of known.toml, names; empty where there is none in it."""
    _, _, rest = text.partition("/")
    return rest.partition("/")[0]


def first_failing(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """The failing verdict that names the finding: kinds that fail a run first, then data-flow order."""

    def order(verdict: Verdict) -> tuple[bool, int]:
        place = OUTPUT_NAMES.index(verdict.output) if verdict.output in OUTPUT_NAMES else -1
        return (verdict.kind not in FAILING, place)

    findings = [verdict for verdict in verdicts if verdict.is_finding]
    return min(findings, key=order) if findings else None


def titled(backend: str, version: str | None) -> str:
    """`flax 0.12.8`; nothing is said twice for `jax@0.4.35`."""
    return backend if not version or backend.endswith(f"@{version}") else f"{backend} {version}"


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
    return "/".join(
        Parts(
            recipe=f"v{RECIPE}",
            backend=portable(backend),
            operation=spec.operation,
            mode="+".join(spec.steps),
            output=first.output,
            kind=first.kind,
            formats="-".join(spec.formats),
            regime=first.regime,
        )
    )
