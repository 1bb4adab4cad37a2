"""`bnfuzz report`: issue text for a framework's maintainers, with a script that has been run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import click

from bnfuzz.backends.pool import Pool
from bnfuzz.casefile.atomic import make_folder, write_atomic, write_bytes_atomic
from bnfuzz.cli.cases import corpus_option
from bnfuzz.cli.corpus import resolve
from bnfuzz.corpus import Corpus, Entry
from bnfuzz.errors import UsageError
from bnfuzz.replay import roster
from bnfuzz.report.issue.ladder_plot import ladder_image
from bnfuzz.report.issue.prepare import Issue, prepare

PLOTS: dict[str, Literal["svg", "png"]] = {".svg": "svg", ".png": "png"}


@click.command("report")
@click.argument("cases", metavar="[CASE...]", nargs=-1)
@click.option("--signature", metavar="SIGNATURE", help="All cases of the corpus with this finding, as one report.")
@click.option("--backend", metavar="NAME", help="Whose finding is reported, where the cases record several.")
@click.option("--compare", "others", multiple=True, metavar="NAME", help="Compare with this backend only; repeatable.")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FOLDER", help="Write report.md, script.py and plots."
)
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Write the plot here (.svg or .png).")
@click.option("--seconds", type=click.FloatRange(min=1), metavar="S", help="Limit; what there is no time for is named.")
@corpus_option("Where --signature, and a CASE that is no path, are looked up.")
def report(
    *,
    cases: tuple[str, ...],
    signature: str | None,
    backend: str | None,
    others: tuple[str, ...],
    output: Path | None,
    plot: Path | None,
    seconds: float | None,
    folder: Path,
) -> None:
    """Write an issue that can be pasted as it is: claim, exact values, cause, and a stand-alone script.

    CASE is a case file, a file name or the start of an id in the corpus. Several cases of one fault give one report.
    The script has been run in a fresh interpreter, and its output is quoted.

    Exit code 0: the report is ready. 1: it is not, and the reason is said. 2: a file or an option is wrong.
    """
    if plot is not None and plot.suffix not in PLOTS:
        raise UsageError(f"--plot {plot}: {plot.suffix or 'no ending'} is no format of a plot; end it in .svg or .png")
    if seconds is not None and math.isnan(seconds):
        raise UsageError(f"--seconds {seconds}: give a number of seconds, at least 1")
    entries = _entries(cases, signature, folder)
    if backend is not None:
        roster((backend,))
    if output is not None:
        make_folder(output)
    drawn = output is not None or plot is not None
    image = "ladder.png" if output is not None else plot.name if plot is not None else ""
    with Pool() as pool:
        issue = prepare(
            pool,
            entries,
            backend=backend,
            signature=signature,
            others=roster(others).names if others else None,
            seconds=seconds,
            plot=drawn,
            image=image,
        )
    _write(issue, output, plot)
    if not issue.ready:
        click.echo(f"NOT READY: {issue.not_ready}", err=True)
        click.get_current_context().exit(1)


def _entries(cases: tuple[str, ...], signature: str | None, folder: Path) -> list[Entry]:
    if bool(cases) == bool(signature):
        raise UsageError("name either cases or --signature SIGNATURE; `bnfuzz corpus list` shows what there is")
    corpus = Corpus(folder)
    if signature is None:
        return list({entry.file.id: entry for entry in (resolve(corpus, case) for case in cases)}.values())
    found = list(corpus.find_by_signature(signature))
    if not found:
        raise UsageError(
            f"no case of {folder} has the signature {signature}; `bnfuzz corpus show CASE` tells those it has"
        )
    return found


def _write(issue: Issue, output: Path | None, plot: Path | None) -> None:
    """Files where they are asked for, the text on stdout otherwise."""
    places = {} if plot is None else {plot: PLOTS[plot.suffix]}
    if output is not None:
        write_atomic(output / "report.md", issue.markdown)
        if issue.script:
            write_atomic(output / "script.py", issue.script)
        places |= {output / "ladder.svg": "svg", output / "ladder.png": "png"}
    if issue.ladder is not None:
        for path, form in places.items():
            make_folder(path.parent)
            image = ladder_image(issue.ladder, title=issue.title.partition(":")[0], kappa=issue.kappa, form=form)
            write_bytes_atomic(path, image)
    elif plot is not None:
        click.echo("no plot: the offset ladder is of batch norm in training, and needs an output y", err=True)
    if output is None:
        click.echo(issue.markdown, nl=False)
    else:
        click.echo(f"{output / 'report.md'}: {issue.title}")
