"""`bnfuzz corpus`: look at stored cases and keep them in order, accept or ignore what is known."""

from __future__ import annotations

import click

from bnfuzz.cli.cases import resolve
from bnfuzz.cli.corpus_add import add
from bnfuzz.cli.corpus_known import accept, ignore, unaccept
from bnfuzz.cli.corpus_look import list_cases, show
from bnfuzz.cli.corpus_shrink import shrink
from bnfuzz.cli.corpus_tidy import check, merge, migrate, prune

__all__ = ["corpus", "resolve"]


@click.group()
def corpus() -> None:
    """Look at stored cases and keep them in order; accept or ignore what is known."""


for command in (list_cases, show, add, accept, ignore, unaccept, shrink, check, merge, prune, migrate):
    corpus.add_command(command)
