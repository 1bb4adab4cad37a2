"""`bnfuzz corpus shrink`: stored cases made smaller, or smaller still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from bnfuzz.backends import registry
from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import CaseFile
from bnfuzz.cli.cases import existing, folder_option, resolve
from bnfuzz.corpus import Corpus, Entry
from bnfuzz.errors import UsageError
from bnfuzz.functions import not_here
from bnfuzz.report.words import counted
from bnfuzz.shrink.again import Again, shrink_again


@click.command()
@click.argument("cases", metavar="CASE...", nargs=-1, required=True)
@folder_option
@click.option("--backend", "names", multiple=True, metavar="NAME", help="Whose failure; those that are recorded else.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True,
              help="Time for each case and backend; going on later takes it up where it stopped.")  # fmt: skip
def shrink(cases: tuple[str, ...], folder: Path, names: tuple[str, ...], seconds: float) -> None:
    """Makes stored cases smaller: the same failure, confirmed, and not much less severe than when it was found.

    The smaller case takes the place of the larger one and tells where it came from and what was done to it. Exit code
    0 also where nothing could be made smaller.
    """
    corpus = existing(folder)
    wanted = [(entry, name) for entry in _entries(corpus, cases) for name in _backends(entry.file, names)]
    with Pool() as pool:
        for entry, name in wanted:
            done = shrink_again(pool, entry.file, name, seconds=seconds, where=entry.path)
            click.echo("\n".join(_story(corpus, entry, name, done)))


def _entries(corpus: Corpus, cases: tuple[str, ...]) -> Iterator[Entry]:
    for case in dict.fromkeys(cases):
        entry = resolve(corpus, case)
        if corpus.folder.resolve() not in entry.path.resolve().parents:
            raise UsageError(f"{entry.path} is not in {corpus.folder}; name its corpus with --corpus")
        # By the path that the corpus knows it under.
        inside = corpus.folder / entry.path.resolve().relative_to(corpus.folder.resolve())
        yield Entry(inside, entry.file)


def _backends(file: CaseFile, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those asked for, or every one that the file records a failure of by its name; functions from this folder."""
    if names:
        return names
    recorded = dict.fromkeys(entry.backend for entry in file.expectations if not entry.ok)
    for name in recorded:
        if elsewhere := not_here(name):
            raise UsageError(f"{name}: {elsewhere}")
        if name not in registry.names() and not name.startswith(registry.TARGET):
            raise UsageError(f"{name} is no backend here; say which is meant with --backend")
    return tuple(recorded)


def _story(corpus: Corpus, entry: Entry, backend: str, done: Again) -> Iterator[str]:
    title = f"{entry.path.name} on {backend}"
    if done.file is None:
        yield f"{title} {done.remark}; it stays as it is"
        return
    if done.remark:
        yield f"{title} {done.remark}"
        return
    before, after = entry.file.case.spec, done.file.case.spec
    path = corpus.supersede(entry.path, done.file, backend)
    more = "nothing is left to try" if done.finished else "stopped by the clock: shrink it again to go on"
    if done.steps:
        did = f"{counted(before.size, 'value')} to {after.size} in {counted(len(done.steps), 'step')}"
    else:
        did = "no smaller one yet" if not done.finished else "no smaller one"
    yield f"{title}: {did}; {more}"
    yield from (f"  {step}" for step in done.steps)
    yield f"  {path}"
