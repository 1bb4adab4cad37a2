"""`bnfuzz backends`: what runs here and why the rest does not; `install NAME` makes an environment."""

from __future__ import annotations

import os

import click


@click.group(invoke_without_command=True)
@click.pass_context
def backends(context: click.Context) -> None:
    """Show what runs here, with versions, and why the rest does not."""
    if context.invoked_subcommand is not None:
        return
    from bnfuzz.backends import doctor

    rows = doctor.describe()
    table = [("backend", "environment", "version", "device", "state")]
    table += [(row.name, row.environment, row.version, row.device, row.state) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    reasons = {row.reason: [other.name for other in rows if other.reason == row.reason] for row in rows if row.reason}
    for reason, names in reasons.items():
        click.echo(f"\n{', '.join(names)}: {reason}")
    _show_override()


@backends.command()
@click.argument("name")
def install(name: str) -> None:
    """Make the isolated environment NAME (mxnet, torch, or NAME@VERSION; also jax@VERSION, flax@VERSION)."""
    from bnfuzz.backends import environments

    environment = environments.install(name, lambda line: click.echo(line, err=True))
    click.echo(f"{environment.name} is installed: {environment.python}")


def _show_override() -> None:
    from bnfuzz.backends import environments

    if os.environ.get(environments.OVERRIDE):
        click.echo(f"\nenvironments are in {environments.root()} ({environments.OVERRIDE})")
