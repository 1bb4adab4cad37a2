"""`bnfuzz conventions`: which conventions an implementation really follows, beside what it documents."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import click

from bnfuzz.backends import registry
from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.cli.conventions_save import save_departure
from bnfuzz.corpus import Corpus
from bnfuzz.diagnosis.card import Card, conventions_card
from bnfuzz.diagnosis.probes import PROBES
from bnfuzz.errors import UsageError
from bnfuzz.report.cards import card_lines, cards_table


@click.command()
@click.argument("backends", metavar="[BACKEND]...", nargs=-1)
@click.option("--target", "targets", multiple=True, metavar="FILE.py:FUNCTION", help="A function of yours to probe.")
@click.option("--json", "as_json", is_flag=True, help="One JSON list of cards, for machines.")
@click.option("--table", "as_table", is_flag=True, help="One Markdown table of all backends named, without evidence.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True,
              help="Seconds after which a call counts as hung.")  # fmt: skip
@click.option("--save", "folder", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Corpus that departures are saved in as cases, where a case can show them.")  # fmt: skip
def conventions(
    *,
    backends: tuple[str, ...],
    targets: tuple[str, ...],
    as_json: bool,
    as_table: bool,
    timeout: float,
    folder: Path | None,
) -> None:
    """Probe implementations as black boxes: which conventions do they follow, and do they keep what they document?

    Each line of a card says what was observed and with which numbers. What cannot be told is said as such. Without
    BACKEND and --target, every backend that can run here is probed.

    Exit code 0: all as documented. 1: something is not. 2: bad arguments. 3: the machine failed.
    """
    if as_json and as_table:
        raise UsageError("--json and --table are two forms of the same; give one of them")
    names = tuple(dict.fromkeys((*backends, *(registry.TARGET + target for target in targets))))
    corpus = None if folder is None else Corpus(folder)
    if corpus is not None:
        corpus.check_ready()
    cards: list[Card] = []
    with Pool(Limits.of_timeout(timeout)) as pool:
        for name in names or registry.available():
            card = conventions_card(pool, name, probes=PROBES, tick=_ticker(name))
            _clear()
            cards.append(card)
            if not (as_json or as_table):
                click.echo("\n".join(([""] if len(cards) > 1 else []) + list(card_lines(card))))
            if corpus is not None:
                _save(pool, card, corpus)
    if as_json:
        click.echo(json.dumps([card.to_json() for card in cards], indent=2, ensure_ascii=False))
    elif as_table:
        click.echo("\n".join(cards_table(cards)))
    sys.exit(1 if any(card.departures for card in cards) else 0)


def _save(pool: Pool, card: Card, corpus: Corpus) -> None:
    for row in card.departures:
        path = save_departure(pool, card, row, corpus)
        where = f"saved as {path}" if path else "not saved: the documented form of the call has no such case"
        click.echo(f"{card.backend}, {row.name}: {where}", err=True)


def _ticker(backend: str) -> Callable[[str], None]:
    def tick(line: str) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{backend}: {line}", err=True, nl=False)

    return tick


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
