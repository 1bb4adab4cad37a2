"""`bnfuzz replay`: saved cases on every backend, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import CaseFile, read
from bnfuzz.cli.cases import lookup_option
from bnfuzz.cli.corpus import resolve
from bnfuzz.corpus import Corpus, case_paths
from bnfuzz.errors import CaseFileError, UsageError
from bnfuzz.functions import left_out, with_folder
from bnfuzz.replay import Outcome, Roster, known_of, roster, started
from bnfuzz.replay import replay as run_again
from bnfuzz.report.side_by_side import conditions, side_by_side
from bnfuzz.report.words import counted, inputs_words, spec_words

MARKS = {"known": "known", "failed": "new"}


@click.command("replay")
@click.argument("cases", metavar="CASE...", nargs=-1, required=True)
@click.option("--backend", "names", multiple=True, metavar="NAME", help="Only this backend; may be repeated.")
@lookup_option
@click.option("--mpmath", "exact", is_flag=True, help="Judge against mpmath, the finest rung of the reference.")
@click.pass_context
def replay(
    context: click.Context, cases: tuple[str, ...], names: tuple[str, ...], folder: Path, *, exact: bool
) -> None:
    """Run saved cases on every backend, their values side by side.

    CASE is a case file, a folder of them, a file name or the start of an id in the corpus. Functions of yours are run
    where they are named: --backend target:FILE.py:FUNCTION.

    Exit code 0: nothing fails but known findings. 1: something else fails. 2: a file cannot be read.
    """
    paths = list(dict.fromkeys(case_files(cases, folder)))
    unreadable = 0
    tally: dict[str, int] = {}
    with Pool() as pool:
        taking_part = started(pool, roster(names), strict=bool(names))
        for line in _heading(pool, taking_part):
            click.echo(line)
        for path in paths:
            try:
                file = read(path)
            except CaseFileError as error:
                click.echo(f"bnfuzz: {error}", err=True)
                unreadable += 1
                continue
            outcomes = run_again(pool, file, taking_part.names, known_of(path), rung="mpmath" if exact else None)
            click.echo("\n" + "\n".join(_report(path, file, outcomes)))
            for outcome in outcomes.values():
                tally[outcome.standing] = tally.get(outcome.standing, 0) + 1
            for name in () if names else left_out(file, taking_part.names):
                click.echo(f"  {name}: a finding is recorded, and it is not run: {with_folder(name)}")
                tally["not run"] = tally.get("not run", 0) + 1
    counts = ", ".join(f"{count} {standing}" for standing, count in tally.items()) or "nothing ran"
    cases_run, backends_run = counted(len(paths) - unreadable, "case"), counted(len(taking_part.names), "backend")
    judged_by = ", judged against mpmath" if exact else ""
    click.echo(f"\n{cases_run} on {backends_run}{judged_by}: {counts}")
    if unreadable:
        click.echo(f"{unreadable} of {counted(len(paths), 'file')} cannot be read", err=True)
        context.exit(2)
    context.exit(1 if tally.get("failed") else 0)


def case_files(cases: tuple[str, ...], folder: Path) -> Iterator[Path]:
    """The files that the arguments of a command mean: files, folders of them, names or ids in the corpus."""
    for case in cases:
        path = Path(case)
        if path.is_dir():
            found = list(case_paths(path))
            if not found:
                raise UsageError(f"{case} holds no case files (*.json); name another folder")
            yield from found
        elif path.exists() or (path.suffix == ".json" and path.parent != Path()):
            yield path
        else:
            yield resolve(Corpus(folder), case).path


def _heading(pool: Pool, taking_part: Roster) -> Iterator[str]:
    titles = [f"{name} {pool.version(name) or ''}".strip() for name in taking_part.names]
    yield f"backends: {', '.join(titles) or 'none'}"
    yield from (f"  without {line}" for line in taking_part.absence_lines())


def _report(path: Path, file: CaseFile, outcomes: dict[str, Outcome]) -> Iterator[str]:
    title = f": {file.origin.title}" if file.origin.title else ""
    yield f"{path}{title}"
    yield f"  case {file.id}, {file.state}{', ' + file.origin.link if file.origin.link else ''}"
    yield from (f"  {line}" for line in spec_words(file.case.spec))
    yield from (f"    {line}" for line in inputs_words(file.case))
    results = {name: outcome.result for name, outcome in outcomes.items()}
    condition = conditions(results)
    if condition:
        yield f"  {condition}"
    yield ""
    marks = {name: MARKS.get(outcome.standing, "") for name, outcome in outcomes.items()}
    yield from (f"  {line}" for line in side_by_side(file.case.spec, results, marks))
    yield from (f"  {line}" for line in _remarks(outcomes))


def _remarks(outcomes: dict[str, Outcome]) -> Iterator[str]:
    """A line for every backend that is more than simply `ok`."""
    for name, outcome in outcomes.items():
        reason = f": {outcome.reason}" if outcome.reason else ""
        if outcome.standing == "known":
            yield f"{name}: known finding{reason}{' ' + outcome.link if outcome.link else ''}"
        elif outcome.standing == "failed":
            yield f"{name}: fails, and this is not what is known{reason}"
        elif outcome.standing == "fixed":
            yield f"{name}: passes although a finding is {outcome.reason}; mark it fixed if it is"
        elif outcome.standing != "ok":
            yield f"{name}: {outcome.standing}{reason}"
