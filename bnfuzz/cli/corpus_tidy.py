"""`bnfuzz corpus check`, `merge`, `prune` and `migrate`."""

from __future__ import annotations

from pathlib import Path

import click

from bnfuzz.cli.cases import existing, folder_option, tell_problems
from bnfuzz.corpus import KNOWN_FILE, Corpus, known, upkeep
from bnfuzz.report.words import counted


@click.command()
@folder_option
@click.option("--strict", is_flag=True, help="Exit with 1 where there is a remark.")
@click.pass_context
def check(context: click.Context, folder: Path, *, strict: bool) -> None:
    """Reads every file and known.toml, and remarks on what is odd.

    Exit code 2 if a file cannot be read. Remarks: names without their id, cases that are there twice, states that do
    not fit what is recorded, files of an older structure, entries of known.toml that match no stored case.
    """
    found = existing(folder)
    tell_problems(found)
    remarks = upkeep.remarks(found)
    for remark in remarks:
        click.echo(f"remark: {remark}")
    entries = f"{len(found.known_list)} {'entry' if len(found.known_list) == 1 else 'entries'}"
    click.echo(
        f"{counted(len(found.entries), 'case')} and {entries} of {KNOWN_FILE} are readable, "
        f"{counted(len(remarks), 'remark')}"
    )
    if found.problems:
        click.echo(f"{counted(len(found.problems), 'file')} cannot be read", err=True)
        context.exit(2)
    if strict and remarks:
        context.exit(1)


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--known", "with_known", is_flag=True, help=f"Take over what SOURCE lists in {KNOWN_FILE} too.")
def merge(source: Path, target: Path, *, with_known: bool) -> None:
    """Takes every case of SOURCE over into TARGET; nothing is overwritten, SOURCE stays as it is."""
    origin = existing(source)
    tell_problems(origin)
    # Read before anything is written: a list that is wrong stops all of it.
    listed = origin.known_list if with_known else ()
    here = Corpus(target)
    new = [entry for entry in dict.fromkeys(listed) if entry not in here.known_list]
    done = here.merge(origin)
    for path in done.added:
        click.echo(f"added {path}")
    for path in done.extended:
        click.echo(f"extended {path}")
    for entry in new:
        known.append(target / KNOWN_FILE, entry)
        click.echo(f"{entry.status} {entry.signature}")
    click.echo(
        f"{len(done.added)} added, {len(done.extended)} extended, {len(done.unchanged)} unchanged, "
        f"{counted(len(origin.problems), 'unreadable file')} left out"
    )


@click.command()
@folder_option
@click.option("--yes", is_flag=True, help="Delete them; without it they are only named.")
def prune(folder: Path, *, yes: bool) -> None:
    """Names open cases in found/ that are neither the worst nor the simplest of their signature; --yes deletes them."""
    found = existing(folder)
    tell_problems(found)
    whole = len(found.entries)
    paths = upkeep.prunable(found)
    removed = 0
    for path in paths:
        if not yes:
            click.echo(f"would remove {path}")
        elif found.remove(path):
            click.echo(f"removed {path}")
            removed += 1
        else:
            click.echo(f"kept {path}: another process has written into it meanwhile")
    hint = "" if yes or not paths else "; --yes removes them"
    click.echo(f"{removed if yes else len(paths)} of {counted(whole, 'case')}{hint}")


@click.command()
@folder_option
@click.pass_context
def migrate(context: click.Context, folder: Path) -> None:
    """Rewrites every file in the newest structure and layout; exit code 2 if one cannot be read."""
    done = upkeep.migrate(existing(folder))
    for problem in done.unreadable:
        click.echo(problem, err=True)
    for path in done.rewritten:
        click.echo(f"rewrote {path}")
    click.echo(f"{counted(len(done.rewritten), 'file')} rewritten, {len(done.unreadable)} unreadable")
    if done.unreadable:
        context.exit(2)
