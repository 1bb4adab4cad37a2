"""`bnfuzz compare`: why do these two differ?"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from bnfuzz.backends import registry
from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.cli.compare_inputs import COTANGENTS, Asked, completed, drawn_case, stored_case
from bnfuzz.diagnosis.contrast.contrast import contrast
from bnfuzz.errors import UsageError
from bnfuzz.formats import FormatName
from bnfuzz.report.contrast.text import contrast_text


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.argument("case", metavar="[CASE]", required=False)
@click.option("--shape", help="Of x, drawn where no CASE is given, such as 2,16,4,4.  [default: 8,3,4,4]")
@click.option("--channel-axis", type=int, help="[default: what A or B say they need, else 1]")
@click.option(
    "--values", default="normal", show_default=True, help="normal[:MEAN:DEVIATION] or uniform:LOW:HIGH, of x."
)
@click.option("--cotangent", default="normal", show_default=True, type=click.Choice(COTANGENTS),
              help="Drawn, or all ones; or a loss that is differentiated: sum(y), mean(y·y).")  # fmt: skip
@click.option("--eps", type=float, help="Given to both.  [default: left to each]")
@click.option("--momentum", type=float, help="Weight of the new statistic.  [default: left to each]")
@click.option("--inference", is_flag=True, help="Normalise by the running statistics.")
@click.option("--format", "format_name", default="float32", show_default=True, type=click.Choice(get_args(FormatName)))
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Decides what is drawn.")
@click.option("--corpus", "folder", default="corpus", show_default=True, type=click.Path(path_type=Path),
              help="Where a CASE that is no file is looked up.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True,
              help="Seconds after which a call counts as hung.")  # fmt: skip
@click.pass_context
def compare(
    context: click.Context,
    a: str,
    b: str,
    case: str | None,
    *,
    shape: str | None,
    channel_axis: int | None,
    values: str,
    cotangent: str,
    eps: float | None,
    momentum: float | None,
    inference: bool,
    format_name: FormatName,
    seed: int,
    folder: Path,
    timeout: float,
) -> None:
    """Are A and B the same batch norm up to rounding? If not, by what do they differ; if so, why do the numbers?

    A and B are backends, or functions of yours: FILE.py:FUNCTION, perhaps with @FRAMEWORK at the end. CASE is a case
    file, or a file of arrays (.npz, .py) as `bnfuzz corpus add` reads them; without one the inputs are drawn, gamma 1
    and beta 0.

    Exit code 0: the same function up to rounding. 1: they differ. 2: bad arguments.
    """
    first, second = named(a), named(b)
    with Pool(Limits(call_seconds=timeout, compile_seconds=max(timeout, 180.0))) as pool:
        stated = [pool.conventions(name) for name in (first, second)]
        asked = Asked(eps=eps, momentum=momentum, inference=inference, channel_axis=channel_axis)
        drawn = ""
        if case is None:
            found, drawn = drawn_case(
                stated, asked, shape=shape, values=values, cotangent=cotangent, format_name=format_name, seed=seed
            )
        else:
            if shape is not None:
                raise UsageError(f"--shape {shape} and CASE {case} are both given; leave one of them out")
            found = stored_case(case, folder, stated, asked)
        result = contrast(pool, first, second, completed(found, stated), seed=seed)
    click.echo(contrast_text(result, drawn=drawn))
    context.exit(0 if result.same else 1)


def named(side: str) -> str:
    """A backend's name; a function's file with or without `target:` before it."""
    if side.startswith(registry.TARGET) or ":" not in side:
        registry.get(side)
        return side
    return registry.TARGET + side
