"""`bnfuzz corpus add`: a case from a case file, from arrays in an .npz file, or from a Python file of the caller's."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np

from bnfuzz import formats
from bnfuzz.backends.target import loaded
from bnfuzz.case import Array, Case, Cotangent, Inputs, batch_norm_spec
from bnfuzz.casefile import CaseFile, Origin, read
from bnfuzz.cli.cases import folder_option
from bnfuzz.corpus import Corpus
from bnfuzz.errors import UsageError

NAMES = ("x", "gamma", "beta", "running_mean", "running_var", "cotangent")
MAX_BYTES = 1 << 30


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@folder_option
@click.option("--folder", "place", default="reports", show_default=True, help="Place below the corpus.")
@click.option("--name", default="case", show_default=True, help="Start of the file's name.")
@click.option("--channel-axis", type=int, default=1, show_default=True)
@click.option("--eps", type=float, help="The backend's own default where absent.")
@click.option("--momentum", type=float, help="Weight of the new statistic; the backend's default where absent.")
@click.option("--inference", is_flag=True, help="Normalise by the running statistics.")
@click.option("--loss", type=click.Choice(get_args(Cotangent)[1:]), default="sum", help="Where no cotangent is given.")
@click.option("--title", default="")
@click.option("--link", default="")
@click.option("--note", default="")
@click.pass_context
def add(
    context: click.Context, /, *, source: Path, folder: Path, place: str, name: str, title: str, link: str, note: str,
    **options: Any,
) -> None:  # fmt: skip
    """Stores a batch-norm case from SOURCE.

    \b
    x.npz   the arrays x, gamma, beta, running_mean, running_var, cotangent
    x.py    a file of yours, which is run; its variables of these names, or `case`, a bnfuzz.Case
    x.json  a case file, which tells all by itself

    Of the arrays only x is needed; formats are those of the arrays, without a trial axis.
    """
    if Path(place).is_absolute() or ".." in Path(place).parts:
        raise UsageError(f"--folder {place} leaves the corpus; give a place below it")
    origin = Origin(title=title, link=link, note=note)
    if source.suffix == ".json":
        _refuse_options(context, source)
        file = read(source)
        file = replace(file, origin=origin) if origin != Origin() else file
    else:
        found = held(source)
        if isinstance(found, Case):
            _refuse_options(context, source)
        case = found if isinstance(found, Case) else case_from_arrays(found, **options)
        file = CaseFile(case=case, state="seed", origin=origin)
    click.echo(Corpus(folder).add(file, folder=place, name=name))


def _refuse_options(context: click.Context, source: Path) -> None:
    """What a whole case says itself is not to be said again, perhaps otherwise."""
    for name in ("channel_axis", "eps", "momentum", "inference", "loss"):
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise UsageError(f"--{name.replace('_', '-')}: {source} holds a whole case, which says that; leave it out")


def case_from_arrays(
    arrays: dict[str, Array],
    *,
    channel_axis: int,
    eps: float | None,
    momentum: float | None,
    inference: bool,
    loss: Cotangent,
) -> Case:
    """The Case of arrays without a trial axis, its formats and parts as the arrays have them."""
    x, gamma, mean = arrays["x"], arrays.get("gamma", arrays.get("beta")), arrays.get("running_mean")
    data = formats.of(x).name
    spec = batch_norm_spec(
        x.shape,
        channel_axis,
        data_format=data,
        parameter_format=data if gamma is None else formats.of(gamma).name,
        statistics_format=data if mean is None else formats.of(mean).name,
        eps=eps,
        momentum=momentum,
        has_gamma="gamma" in arrays,
        has_beta="beta" in arrays,
        has_running=mean is not None,
        steps=("inference",) if inference else ("training",),
        cotangent="explicit" if "cotangent" in arrays else loss,
    )
    return Case(spec=spec, inputs=Inputs(**{name: array[np.newaxis] for name, array in arrays.items()}))


def held(source: Path) -> Case | dict[str, Array]:
    """What a .py file (which is run) or an .npz file holds; raises UsageError where that is no case and no x."""
    return _variables(source) if source.suffix == ".py" else _load(source)


def _variables(path: Path) -> Case | dict[str, Array]:
    """The variable `case` of a Python file, which is run, or its arrays; raises UsageError where it has neither."""
    variables = vars(loaded(path))
    case = variables.get("case")
    if isinstance(case, Case):
        return case
    arrays = {name: variables[name] for name in NAMES if variables.get(name) is not None}
    if "x" not in arrays:
        raise UsageError(f"{path} has neither x nor case, a bnfuzz.Case; name the arrays {', '.join(NAMES)}")
    try:
        return {name: _as_format(np.asarray(value)) for name, value in arrays.items()}
    except Exception as error:  # whatever a framework raises
        raise UsageError(f"{path}: what it holds cannot be made NumPy arrays: {error}") from error


def _load(path: Path) -> dict[str, Array]:
    """The arrays of the file; raises UsageError where it is no such file. Nothing pickled is read."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_BYTES:
            raise UsageError(f"{path} unpacks to {size} bytes; the limit is {MAX_BYTES}")
        with np.load(path, allow_pickle=False) as members:
            arrays = {name: np.asarray(members[name]) for name in members.files}
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, MemoryError) as error:
        raise UsageError(f"{path} is no readable .npz file ({error}); write it with numpy.savez") from None
    unknown = sorted(set(arrays) - set(NAMES))
    if unknown or "x" not in arrays:
        problem = f"holds {unknown[0]!r}" if unknown else "holds no x"
        raise UsageError(f"{path} {problem}; name the arrays {', '.join(NAMES)}")
    return {name: _as_format(array) for name, array in arrays.items()}


def _as_format(array: Array) -> Array:
    """The array in native byte order; bfloat16 comes out of an .npz as two nameless bytes."""
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:
        return array.view(formats.named("bfloat16").dtype)
    return array.astype(array.dtype.newbyteorder("="))
