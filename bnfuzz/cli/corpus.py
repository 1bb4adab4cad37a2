"""`bnfuzz corpus`: look at stored cases, check, merge and prune them, accept or ignore what is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from bnfuzz.case import Case
from bnfuzz.casefile import CaseFile, dumps, read, write_atomic
from bnfuzz.cli.corpus_add import add
from bnfuzz.corpus import KNOWN_FILE, Corpus, Entry, case_paths, known
from bnfuzz.corpus.known import KnownFinding, Status
from bnfuzz.errors import CaseFileError, UsageError

Command = TypeVar("Command", bound=Callable[..., Any])


def _folder_option(command: Command) -> Command:
    option = click.option(
        "--corpus", "folder", default="corpus", show_default=True, type=click.Path(path_type=Path), help="Its folder."
    )
    return option(command)


def _existing(folder: Path) -> Corpus:
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder; name the corpus with --corpus FOLDER")
    return Corpus(folder)


def _tell_problems(corpus: Corpus) -> None:
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


@click.group()
def corpus() -> None:
    """Look at stored cases, check, merge and prune them."""


@corpus.command("list")
@_folder_option
@click.option("--state", type=click.Choice(["open", "flaky", "fixed", "seed"]), help="Only cases of this state.")
@click.option("--backend", help="Only cases with an expectation for this backend.")
def list_cases(folder: Path, state: str | None, backend: str | None) -> None:
    """One line for each case: id, state, severity, shape, what is expected, file."""
    found = _existing(folder)
    shown = 0
    for entry in found.entries:
        file = entry.file
        if (state and file.state != state) or (backend and not file.expected(backend)):
            continue
        shape = "x".join(map(str, file.case.spec.shape))
        severity = f"{file.severity:.3g}" if file.severity else "-"
        what = "; ".join(_expectation_words(file)) or file.origin.title or "-"
        click.echo(f"{file.id}  {file.state:5}  {severity:>8}  {shape:12}  {what}  {entry.path.relative_to(folder)}")
        shown += 1
    _tell_problems(found)
    click.echo(f"{shown} of {len(found.entries)} cases, {len(found.problems)} unreadable files")


def _expectation_words(file: CaseFile) -> list[str]:
    words = []
    for entry in file.expectations:
        what = ", ".join(f"{output} {kind}" for output, kind in entry.findings.items()) or "ok"
        words.append(f"{entry.backend}{entry.versions and ' ' + entry.versions}: {what}")
    return words


@corpus.command()
@_folder_option
@click.argument("case")
def show(folder: Path, case: str) -> None:
    """What CASE holds (a path, a file name, or the start of an id)."""
    entry = resolve(Corpus(folder), case)
    file, origin = entry.file, entry.file.origin
    click.echo(f"{entry.path}\ncase {file.id}, {file.state}")
    for name in ("title", "link", "campaign", "seed", "note"):
        value = getattr(origin, name)
        if value not in ("", None):
            click.echo(f"{name}: {value}")
    click.echo(_spec_words(file.case))
    for name, array in file.case.inputs.items():
        values = " ".join(f"{float(value):.9g}" for value in array.ravel()[:12])
        more = f" … {array.size} values" if array.size > 12 else ""
        click.echo(f"  {name} {list(array.shape[1:])} {array.dtype.name}: {values}{more}")
    for expectation, words in zip(file.expectations, _expectation_words(file), strict=True):
        click.echo(f"expected of {words}")
        for detail in (expectation.signature, expectation.why, expectation.cause, expectation.link):
            if detail:
                click.echo(f"  {detail}")
    for backend, verdicts in file.verdicts.items():
        for verdict in verdicts:
            if verdict.is_finding:
                click.echo(
                    f"{backend} {verdict.output} {verdict.kind}: at {list(verdict.index)} exact {verdict.exact!r}, "
                    f"observed {verdict.observed!r}, {verdict.severity:.3g} times the bound"
                )
    for name, value in sorted(file.environment.items()):
        click.echo(f"  {name} = {value}")


def _spec_words(case: Case) -> str:
    spec = case.spec
    eps, momentum = ("default" if value is None else repr(value) for value in (spec.eps, spec.momentum))
    return (
        f"{spec.operation} {'+'.join(spec.steps)} of {list(spec.shape)}, reduced over {list(spec.reduced_axes)}, "
        f"parameters along {list(spec.parameter_axes)}, formats {'/'.join(spec.formats)}, eps {eps}, "
        f"momentum {momentum}, cotangent {spec.cotangent}"
    )


@corpus.command()
@_folder_option
@click.pass_context
def check(context: click.Context, folder: Path) -> None:
    """Reads every file and known.toml; exit code 2 if one is unreadable."""
    found = _existing(folder)
    _tell_problems(found)
    click.echo(f"{len(found.entries)} cases and {len(found.known_list)} entries of {KNOWN_FILE} are readable")
    if found.problems:
        click.echo(f"{len(found.problems)} files are not", err=True)
        context.exit(2)


def _note_known(folder: Path, status: Status, finding: str, **fields: str) -> None:
    signature = finding
    if "/" not in finding or Path(finding).is_file():
        signatures = resolve(Corpus(folder), finding).file.signatures
        if len(signatures) != 1:
            raise UsageError(f"{finding} holds {len(signatures)} signatures; give the one that is meant")
        signature = signatures[0]
    path = folder / KNOWN_FILE
    known.append(path, KnownFinding(signature=signature, status=status, **fields))
    click.echo(f"{path}: {status} {signature}")


def _known_options(command: Command) -> Command:
    for decorate in (
        click.argument("finding"),
        click.option("--versions", default="", help='Range of the backend\'s versions, as ">=0.12,<0.13".'),
        click.option("--link", default="", help="Address of the issue."),
        click.option("--reason", required=True, help="Why it is known."),
        _folder_option,
    ):
        command = decorate(command)
    return command


@corpus.command()
@_known_options
def accept(folder: Path, reason: str, link: str, versions: str, finding: str) -> None:
    """Notes FINDING (a signature, a pattern, or a case) as known: still shown, no longer new."""
    _note_known(folder, "accepted", finding, reason=reason, link=link, versions=versions)


@corpus.command()
@_known_options
def ignore(folder: Path, reason: str, link: str, versions: str, finding: str) -> None:
    """Notes FINDING (a signature, a pattern, or a case) as of no interest: no longer shown."""
    _note_known(folder, "ignored", finding, reason=reason, link=link, versions=versions)


@corpus.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
def merge(source: Path, target: Path) -> None:
    """Takes every case of SOURCE over into TARGET; nothing is overwritten, SOURCE stays as it is."""
    origin = _existing(source)
    _tell_problems(origin)
    done = Corpus(target).merge(origin)
    for path in done.added:
        click.echo(f"added {path}")
    for path in done.extended:
        click.echo(f"extended {path}")
    click.echo(
        f"{len(done.added)} added, {len(done.extended)} extended, {len(done.unchanged)} unchanged, "
        f"{len(origin.problems)} unreadable files left out"
    )


@corpus.command()
@_folder_option
@click.option("--dry-run", is_flag=True, help="Only name them.")
def prune(folder: Path, dry_run: bool) -> None:
    """Deletes open cases in found/ that are neither the worst nor the simplest of their signature."""
    found = _existing(folder)
    paths = found.prunable()
    for path in paths:
        click.echo(f"{'would remove' if dry_run else 'removed'} {path}")
        if not dry_run:
            found.remove(path)
    click.echo(f"{len(paths)} of {len(found.entries) + (0 if dry_run else len(paths))} cases")


@corpus.command()
@_folder_option
@click.pass_context
def migrate(context: click.Context, folder: Path) -> None:
    """Rewrites every file in the current schema and layout; exit code 2 if one cannot be read."""
    rewritten = unreadable = 0
    for path in case_paths(folder):
        try:
            text = dumps(read(path))
        except CaseFileError as error:
            click.echo(str(error), err=True)
            unreadable += 1
            continue
        if path.read_text("utf-8") != text:
            write_atomic(path, text)
            click.echo(f"rewrote {path}")
            rewritten += 1
    click.echo(f"{rewritten} files rewritten, {unreadable} unreadable")
    if unreadable:
        context.exit(2)


corpus.add_command(add)
