"""The command line. Each command is a module of this package, loaded when it is called.

Exit codes: 0 clean, 1 findings, 2 misuse, 3 trouble with the machine or with bnfuzz itself, 130 interrupted; an
interrupted `fuzz` ends with its table and, as at any other end, with 0, 1 or 3.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import click

from bnfuzz import __version__
from bnfuzz.errors import BnfuzzError, InfrastructureError, UsageError, printable

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "fuzz": "bnfuzz.cli.fuzz:fuzz",
        "nightly": "bnfuzz.cli.nightly:nightly",
        "replay": "bnfuzz.cli.replay:replay",
        "compare": "bnfuzz.cli.compare:compare",
        "explain": "bnfuzz.cli.explain:explain",
        "report": "bnfuzz.cli.report:report",
        "conventions": "bnfuzz.cli.conventions:conventions",
        "corpus": "bnfuzz.cli.corpus:corpus",
        "backends": "bnfuzz.cli.backends:backends",
        "selfcheck": "bnfuzz.cli.selfcheck:selfcheck",
    }
)
"""Command -> module:attribute, in the order of the help page."""

DETAILS = "--details"
INTERRUPTED = 130
READER_GONE = 141


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def __init__(self, *args: Any, commands_at: Mapping[str, str] = COMMANDS, **others: Any) -> None:
        super().__init__(*args, **others)
        self.commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Those that can be loaded here."""
        return [name for name in self.commands_at if _loadable(self, ctx, name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_at:
            return None
        module, _, attribute = self.commands_at[cmd_name].partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except ImportError as error:
            if error.name == module:
                return None
            raise InfrastructureError(
                f"command {cmd_name} cannot be loaded: {error}; install bnfuzz again with: pip install bnfuzz"
            ) from None
        command: click.Command = found
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`--details` may stand anywhere before a `--`: whoever wants more says so at the end of the line."""
        options, dashes, rest = _parted(args)
        others = [word for word in options if word != DETAILS]
        return super().parse_args(ctx, [DETAILS] * (len(others) < len(options)) + others + dashes + rest)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; what goes wrong ends in an exit code and a line, never in a bare traceback."""
        try:
            return super().invoke(ctx)
        except BnfuzzError as error:
            tell(error, details=bool(ctx.params.get("details")))
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort):
            click.echo("bnfuzz: interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _forget_stdout()
            ctx.exit(READER_GONE)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                self._internal(ctx, error)
            named = f"{str(error.filename)[:40]}…: " if error.filename else ""
            tell(UsageError(f"{named}a name of the path is longer than the system allows (255 bytes); shorten it"))
            ctx.exit(UsageError.exit_code)
        except Exception as error:
            self._internal(ctx, error)

    @staticmethod
    def _internal(ctx: click.Context, error: Exception) -> NoReturn:
        """Exit code 1 means findings; a fault of ours must not look like one."""
        traceback.print_exception(error, file=sys.stderr)
        click.echo(f"bnfuzz: internal error ({type(error).__name__}); please report the lines above", err=True)
        ctx.exit(BnfuzzError.exit_code)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="bnfuzz", message="%(prog)s %(version)s")
@click.option(DETAILS, is_flag=True, help="Show all lines of an error message, not only the first.")
def bnfuzz(details: bool) -> None:
    """Differential fuzz testing of batch normalization against a certified reference."""


def main() -> None:
    """Entry point of the command line."""
    bnfuzz.main(prog_name="bnfuzz")


def tell(error: BnfuzzError, *, details: bool = False) -> None:
    """An error as one line on stderr; with `details` the lines below it too."""
    first, _, more = printable(str(error).strip()).partition("\n")
    if more and not details:
        first += " (for more: --details)"
    click.echo(f"bnfuzz: {first}", err=True)
    if more and details:
        click.echo(more, err=True)


def _parted(args: list[str]) -> tuple[list[str], list[str], list[str]]:
    """(words before a `--`, the `--` itself, words after it)."""
    place = args.index("--") if "--" in args else len(args)
    return args[:place], args[place : place + 1], args[place + 1 :]


def _loadable(group: LazyGroup, ctx: click.Context, name: str) -> bool:
    try:
        return group.get_command(ctx, name) is not None
    except Exception:
        return False


def _forget_stdout() -> None:
    """Sends what is still buffered nowhere, so that the interpreter's own flush at exit does not complain."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass
