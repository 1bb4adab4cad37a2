"""Relations: what must hold between the results of two calls, or within one, whatever the exact value is.

Exact, bit for bit, with a kind of their own. These see what no reference can:

    channel independence   other values in some channels change no other channel          `leak`
    poisoned channels      nor does a NaN or Inf in one                                   `leak`
    determinism            the same call twice                                            `nondeterministic`

Within bounds. A violation implies that the judge finds one of the two results at fault, so the kind is the judge's and
never a new accusation (see within.py); what they add is a note in `why`, such as how many bits differ:

    layout                 the same values in another memory layout
    permutation            permuted samples
    scaling                x times 2^k with eps times 4^k

Within one result, likewise:

    sum of dx              0 over every group in training
    single values and      y = beta
      constant channels

That inputs stay unchanged is seen in every call by whoever makes it; `bnfuzz.relating` reports it as one more relation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bnfuzz.judge.compare import Judgement
from bnfuzz.judge.relations import gradient_sum, limits
from bnfuzz.judge.relations.bits import compare_bits
from bnfuzz.judge.relations.channels import CHANNELS
from bnfuzz.judge.relations.layout import LAYOUT
from bnfuzz.judge.relations.permutation import PERMUTATION
from bnfuzz.judge.relations.poison import POISON
from bnfuzz.judge.relations.relation import Relation, Variant, draws_of
from bnfuzz.judge.relations.repetition import REPETITION
from bnfuzz.judge.relations.scaling import SCALING
from bnfuzz.judge.relations.within import compare_within
from bnfuzz.judge.verdict import Verdict

RELATIONS: Mapping[str, Relation] = MappingProxyType(
    {relation.name: relation for relation in (REPETITION, CHANNELS, POISON, LAYOUT, PERMUTATION, SCALING)}
)
"""Relations between two calls, by name."""

EXACT: tuple[str, ...] = tuple(name for name, relation in RELATIONS.items() if relation.exact)
"""Those that hold bit for bit."""

LIMITS: Mapping[str, Callable[[Judgement], list[Verdict]]] = MappingProxyType(
    {limits.NAME: limits.check, gradient_sum.NAME: gradient_sum.check}
)
"""Relations within one result, by name."""

__all__ = [
    "EXACT",
    "LIMITS",
    "RELATIONS",
    "Relation",
    "Variant",
    "compare_bits",
    "compare_within",
    "draws_of",
]
