"""Verdicts: what the judge says of one output of one trial on one backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal[
    "shape",
    "dtype",
    "mutated",
    "leak",
    "nonfinite",
    "wrong",
    "unstable",
    "range",
    "nondeterministic",
    "error",
    "crash",
    "hang",
    "ok",
    "unsupported",
    "vacuous",
    "uncertain",
]

KINDS: tuple[str, ...] = get_args(Kind)
"""All kinds in order of precedence: where several hold for an output, the first is its verdict."""

FINDINGS: frozenset[str] = frozenset(KINDS[: KINDS.index("ok")])
"""Kinds that are findings: saved, shown, and given a signature."""

FAILING: frozenset[str] = FINDINGS - {"range", "nondeterministic"}
"""Kinds that fail a run by default."""

Information = Literal["informative", "limit only", "vacuous"]
"""How much a check says: its bound is below the a-priori range; only the hard limit decides; neither."""

Regime = Literal["empty", "n1", "constant", "offset", "eps-dominated", "range", "plain"]
"""What sort of channel failed, from exact values, or what sort of array; part of a finding's signature."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One output of one trial.

    severity    largest |observed - exact| / bound over the elements that are judged (0 where none is)
    index       of the worst element within the output of one trial; exact, observed, bound are that element's
    raw_bound   that element's bound without the hard limit
    failing     number of elements beyond the bound
    kappa, n    of the worst element's channel: sqrt(1 + mu^2/(var+eps)), and the number of values
    ulps        |observed - exact| in units of the output format's spacing at the exact value
    tolerance   smallest relative-to-|exact| tolerance that would have passed the whole output
    why         one clause: the explanation of an `unstable` or `range`, the reason of a `vacuous`
    """

    output: str
    kind: Kind
    severity: float = 0.0
    information: Information = "vacuous"
    regime: Regime = "plain"
    index: tuple[int, ...] = ()
    exact: float = 0.0
    observed: float = 0.0
    bound: float = 0.0
    raw_bound: float = 0.0
    failing: int = 0
    kappa: float = 1.0
    n: int = 0
    ulps: float = 0.0
    tolerance: float = 0.0
    why: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind in FINDINGS


def precedence(kind: Kind) -> int:
    """Position of `kind` in the order of precedence; smaller wins."""
    return KINDS.index(kind)
