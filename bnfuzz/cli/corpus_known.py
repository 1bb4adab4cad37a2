"""`bnfuzz corpus accept`, `ignore` and `unaccept`: what known.toml says."""

from __future__ import annotations

from pathlib import Path

import click

from bnfuzz.cli.cases import Command, folder_option, resolve
from bnfuzz.corpus import KNOWN_FILE, Corpus, known
from bnfuzz.corpus.known import KnownFinding, Status
from bnfuzz.errors import UsageError


def _known_options(command: Command) -> Command:
    for decorate in (
        click.argument("finding"),
        click.option("--backend", default="", help="Only of this backend (a name, or a pattern such as jax*)."),
        click.option("--versions", default="", help='Range of the backend\'s versions, as ">=0.12,<0.13".'),
        click.option("--link", default="", help="Address of the issue."),
        click.option("--reason", required=True, help="Why it is known."),
        folder_option,
    ):
        command = decorate(command)
    return command


@click.command()
@_known_options
def accept(folder: Path, reason: str, link: str, versions: str, backend: str, finding: str) -> None:
    """Notes FINDING (a signature, a pattern, or a case) as known: still shown, no longer new."""
    _note(folder, "accepted", finding, reason=reason, link=link, versions=versions, backend=backend)


@click.command()
@_known_options
def ignore(folder: Path, reason: str, link: str, versions: str, backend: str, finding: str) -> None:
    """Notes FINDING (a signature, a pattern, or a case) as of no interest: no longer shown."""
    _note(folder, "ignored", finding, reason=reason, link=link, versions=versions, backend=backend)


@click.command()
@click.argument("finding")
@folder_option
def unaccept(folder: Path, finding: str) -> None:
    """Takes FINDING (a signature or pattern as listed, or a case) out of known.toml: it is new when it is seen."""
    path = folder / KNOWN_FILE
    entries = known.read(path)
    signatures = _signatures(folder, finding)
    taken = [entry for entry in entries if entry.signature in signatures]
    if not taken:
        wider = [entry.signature for entry in entries if any(map(entry.matches, signatures))]
        covered = f"it is covered by {', '.join(wider)}, which may be taken out" if wider else "nothing covers it"
        raise UsageError(f"{path} does not list {', '.join(signatures) or finding}; {covered}")
    for entry in taken:
        known.remove(path, entry)
        click.echo(f"{path}: no longer {entry.status} {entry.signature}")


def _note(folder: Path, status: Status, finding: str, *, backend: str, **fields: str) -> None:
    signatures = _signatures(folder, finding, backend)
    if len(signatures) != 1:
        problem = f"{finding} holds {len(signatures)} signatures"
        raise UsageError(f"{problem}; give the one that is meant{': ' if signatures else ''}{', '.join(signatures)}")
    path = folder / KNOWN_FILE
    entry = KnownFinding(signature=signatures[0], status=status, backend=backend or "*", **fields)
    known.append(path, entry)
    click.echo(f"{path}: {status} {entry.signature}")


def _signatures(folder: Path, finding: str, backend: str = "") -> tuple[str, ...]:
    """A signature or pattern as it is, or those that a case records (of one backend, where it is named)."""
    if "/" in finding and not Path(finding).is_file():
        return (finding,)
    file = resolve(Corpus(folder), finding).file
    chosen = file.expected(backend) if backend else file.expectations
    return tuple(dict.fromkeys(entry.signature for entry in chosen if entry.signature))
