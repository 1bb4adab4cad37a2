"""`bnfuzz explain`: the cause of a saved case's failures, with the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from bnfuzz.backends import registry
from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import CaseFile, read
from bnfuzz.cli.cases import lookup_option
from bnfuzz.cli.replay import case_files
from bnfuzz.conventions import Conventions
from bnfuzz.diagnosis.explain import explain_case, explain_stored
from bnfuzz.diagnosis.explanation import Explanation
from bnfuzz.errors import BnfuzzError, CaseFileError
from bnfuzz.functions import not_here
from bnfuzz.replay import Roster, roster, started
from bnfuzz.report.words import inputs_words, spec_words


@click.command("explain")
@click.argument("cases", metavar="CASE...", nargs=-1, required=True)
@click.option("--backend", "names", multiple=True, metavar="NAME", help="Whose outputs; may be repeated.")
@click.option("--no-probe", is_flag=True, help="Do not run the backend on further inputs.")
@lookup_option
@click.pass_context
def explain(
    context: click.Context, cases: tuple[str, ...], names: tuple[str, ...], no_probe: bool, folder: Path
) -> None:
    """Name the cause of saved failures: the simplest known fault or convention that gives these outputs.

    CASE is a case file, a folder of them, a file name or the start of an id in the corpus. Without --backend the
    backends that a case records findings of are asked; one that cannot run here is explained from the stored
    verdicts, as far as they go.

    Exit code 0: done. 2: a file cannot be read.
    """
    unreadable = 0
    with Pool() as pool:
        for path in dict.fromkeys(case_files(cases, folder)):
            try:
                file = read(path)
            except CaseFileError as error:
                click.echo(f"bnfuzz: {error}", err=True)
                unreadable += 1
                continue
            click.echo("\n".join(_heading(path, file)))
            for line in _explained(pool, file, names, probing=not no_probe):
                click.echo(f"  {line}")
            click.echo("")
    if unreadable:
        context.exit(2)


def _heading(path: Path, file: CaseFile) -> Iterator[str]:
    yield f"{path}{f': {file.origin.title}' if file.origin.title else ''}"
    yield from (f"  {line}" for line in spec_words(file.case.spec))
    yield from (f"    {line}" for line in inputs_words(file.case))


def _explained(pool: Pool, file: CaseFile, names: tuple[str, ...], *, probing: bool) -> Iterator[str]:
    if names:
        taking_part = started(pool, roster(names), strict=True)
    else:
        recorded = _recorded(file)
        if not recorded:
            yield "no finding is recorded; name a backend with --backend NAME"
        taking_part = _available(pool, recorded)
    for name in taking_part.names:
        version = pool.version(name)
        yield f"{name}{f' {version}' if version else ''}"
        yield from (f"  {line}" for line in explain_case(pool, name, file.case, probing=probing).lines())
    for name, reason in taking_part.absent.items():
        yield f"{name} cannot run here ({reason})"
        yield from (f"  {line}" for line in _from_verdicts(pool, name, file).lines())


def _recorded(file: CaseFile) -> tuple[str, ...]:
    """Backends with recorded findings: expectations first, then verdicts."""
    known = registry.names()
    names = [name for entry in file.expectations if not entry.ok for name in known if entry.applies(name)]
    names += [entry.backend for entry in file.expectations if not entry.ok and "*" not in entry.backend]
    names += [name for name, verdicts in file.verdicts.items() if any(verdict.is_finding for verdict in verdicts)]
    return tuple(dict.fromkeys(names))


def _available(pool: Pool, names: tuple[str, ...]) -> Roster:
    """Which of them run here, and why the others do not."""
    present: list[str] = []
    absent: dict[str, str] = {}
    for name in names:
        if elsewhere := not_here(name):
            absent[name] = elsewhere
            continue
        try:
            present += started(pool, roster((name,)), strict=True).names
        except BnfuzzError as error:
            absent[name] = str(error).partition("\n")[0]
    return Roster(tuple(present), absent)


def _from_verdicts(pool: Pool, name: str, file: CaseFile) -> Explanation:
    verdicts = file.verdicts.get(name, ())
    if not verdicts:
        return Explanation(
            failing=("a finding is recorded, without its values",),
            note="no verdicts are stored; to explain it, run it where the backend is installed",
        )
    try:
        conventions = pool.conventions(name)
    except BnfuzzError:
        # A function whose file is not here: what a signature without defaults would tell.
        conventions = Conventions(source="nothing: the function is not here")
    return explain_stored(file.case, conventions, verdicts)
