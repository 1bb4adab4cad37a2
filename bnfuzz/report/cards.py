"""Cards of conventions as text for a terminal, and as one Markdown table of several backends."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from bnfuzz.diagnosis.card import CANNOT_TELL, Card, Row
from bnfuzz.errors import printable

WIDTH = 118
LEGEND = "= as documented   ! not as documented   - nothing is documented   ? cannot be told"


def mark(row: Row) -> str:
    """One character: how the line stands to its documentation."""
    if row.observed == CANNOT_TELL:
        return "?"
    return {True: "=", False: "!", None: "-"}[row.agrees]


def card_lines(card: Card) -> Iterator[str]:
    """The card: for each line what was observed, what is documented where that differs, and the evidence below."""
    yield f"{card.backend} {card.version}".rstrip()
    yield f"documented in: {card.source}"
    yield ""
    for row in card.rows:
        documented = f"   (documented: {row.documented})" if row.documented not in ("", row.observed) else ""
        yield f"{mark(row)} {row.name}: {row.observed}{documented}"
        yield from textwrap.wrap(printable(row.evidence), WIDTH, initial_indent="    ", subsequent_indent="    ")
    yield ""
    yield LEGEND
    if not card.departures:
        yield "nothing departs from the documentation"
    for row in card.departures:
        replayed = "" if row.case is None else " (a case: --save FOLDER)"
        yield f"! {row.name}: {row.observed}, not {row.documented}{replayed}"


def cards_table(cards: Sequence[Card]) -> Iterator[str]:
    """Markdown: a line per convention and per answer, with the backends that gave it; departures in bold."""
    yield "| convention | observed | backends |"
    yield "| --- | --- | --- |"
    for index, first in enumerate(cards[0].rows if cards else ()):
        answers: dict[str, list[str]] = {}
        for card in cards:
            row = card.rows[index]
            name = f"**{card.backend}** (documented: {row.documented})" if row.departs else card.backend
            answers.setdefault(row.observed, []).append(name)
        for place, (observed, names) in enumerate(answers.items()):
            cells = (first.name if place == 0 else "", observed.replace("|", r"\|"), ", ".join(names))
            yield f"| {' | '.join(cells)} |"
