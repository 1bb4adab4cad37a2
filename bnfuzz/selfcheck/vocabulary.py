"""What a self-check tries: what campaigns draw, with more of what they draw rarely, and what they draw on request only.

Of 12 Specs 9 are one-step batch norms; the others are a sequence of steps, an input without elements, and a group
norm. Of 8 plans one may hold NaN and infinities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count

from hypothesis import strategies as st

from bnfuzz.campaign.draw import each_example, seed_of
from bnfuzz.case import Layout, Spec
from bnfuzz.conventions import FormatTriple
from bnfuzz.strategies import plans, specs
from bnfuzz.strategies.empties import empty_specs
from bnfuzz.strategies.groups import group_norms
from bnfuzz.strategies.plan import Plan
from bnfuzz.strategies.sequences import sequences
from bnfuzz.strategies.value_recipes import ValueName

EXAMPLES_OF_A_ROUND = 100
"""Examples of one draw; with the next round comes another seed, so that Hypothesis does not settle on a corner."""

BESIDE_NONFINITE: tuple[ValueName, ...] = ("nonfinite", "symmetric", "integers")
"""Families of the plans that may hold NaN and infinities: few, so that these are not rare among them."""


def every_spec() -> st.SearchStrategy[Spec]:
    """Specs of all kinds that a fault may need."""
    usual = specs()
    small = specs(max_size=48, large_size=None)
    kinds = [usual] * 9 + [sequences(small), empty_specs(small), group_norms()]
    return st.sampled_from(kinds).flatmap(lambda chosen: chosen)


def every_plan() -> st.SearchStrategy[Plan]:
    """Plans for `every_spec`."""
    vocabulary = every_spec()
    nonfinite = plans(vocabulary, values=BESIDE_NONFINITE, allow_nonfinite=True)
    return st.sampled_from([plans(vocabulary)] * 7 + [nonfinite]).flatmap(lambda chosen: chosen)


def small_plans(triples: Collection[FormatTriple], largest: int) -> st.SearchStrategy[Plan]:
    """Plans of one-step batch norms of these formats with at most `largest` elements in C order: what a soak runs."""
    in_order: tuple[Layout, ...] = ("contiguous",)
    return plans(specs(formats=triples, layouts=in_order, max_size=largest, large_size=None))


def plans_of_round(strategy: st.SearchStrategy[Plan], seed: int, round_number: int) -> list[Plan]:
    """The round's plans, the same for the same seed; each Spec comes once in a round.

    (Hypothesis returns to its simplest example, and to what it drew before, far more often than tells anything.)
    """
    drawn: dict[Spec, Plan] = {}
    seed = seed_of(seed, round_number, "self-check")
    each_example(strategy, seed, EXAMPLES_OF_A_ROUND, lambda plan: drawn.setdefault(plan.spec, plan))
    return list(drawn.values())


def rounds(strategy: st.SearchStrategy[Plan], seed: int) -> Iterator[Plan]:
    """Plans without end, round after round."""
    for number in count():
        yield from plans_of_round(strategy, seed, number)
