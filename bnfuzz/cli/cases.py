"""How commands name a corpus and the cases in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from bnfuzz.casefile import read
from bnfuzz.corpus import Corpus, Entry
from bnfuzz.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])


def corpus_option(said: str) -> Callable[[Command], Command]:
    """The option `--corpus FOLDER`, as the parameter `folder`, with this help."""
    return click.option(
        "--corpus", "folder", default="corpus", show_default=True, type=click.Path(path_type=Path), help=said
    )


def folder_option(command: Command) -> Command:
    """`--corpus FOLDER` of commands on a corpus."""
    return corpus_option("Its folder.")(command)


def lookup_option(command: Command) -> Command:
    """`--corpus FOLDER` of commands on cases."""
    return corpus_option("Where a CASE that is no path is looked up, by file name or the start of its id.")(command)


def existing(folder: Path) -> Corpus:
    """The corpus in the folder; raises UsageError where there is none."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder; name the corpus with --corpus FOLDER")
    return Corpus(folder)


def tell_problems(corpus: Corpus) -> None:
    """Every unreadable file, with place and remedy, on stderr."""
    for problem in corpus.problems:
        click.echo(problem.message, err=True)


def resolve(corpus: Corpus, case: str) -> Entry:
    """The entry meant by a path, a file name, or the start of a case id; raises UsageError where not exactly one is."""
    path = Path(case)
    if path.is_file():
        return Entry(path, read(path))
    hits = [entry for entry in corpus.entries if case in (entry.path.name, entry.path.stem)]
    hits = hits or [entry for entry in corpus.entries if len(case) >= 4 and entry.file.id.startswith(case)]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise UsageError(
            f"{case!r} is the start of several ids: {', '.join(entry.file.id for entry in hits)}; add to it"
        )
    raise UsageError(f"{case!r} is no file and no case of {corpus.folder}; `bnfuzz corpus list` names them")
