"""What a report says of a Spec, of arrays and of numbers, in words."""

from __future__ import annotations

import math

import numpy as np

from bnfuzz import formats
from bnfuzz.case import Array, Case, Spec
from bnfuzz.casefile.exactarray import shortest

SHOWN_ELEMENTS = 16
"""Arrays of at most so many elements are printed whole."""

LINE = 110
"""Characters of a line of numbers before it is cut."""

ZERO_SHARE = 2.0**-40
"""Below this share of its bound an exact value counts as zero in words; nothing is judged by it."""


FEW_VALUES = 16
"""Below so many values per statistic, expected noise and worst case are too near each other to be told apart."""


def counted(count: int, noun: str) -> str:
    """`1 case`, `2 cases`, `0 files`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number(value: float, format_name: str = "float32") -> str:
    """A number to as many digits as tell neighbours of its format apart."""
    return formats.decimal(value, format_name)


def ratio(value: float) -> str:
    """error/bound, to three digits."""
    return "∞" if math.isinf(value) else f"{value:.3g}"


def place(index: tuple[int, ...]) -> str:
    """An index as it is written in code."""
    return f"[{', '.join(map(str, index))}]"


def spec_words(spec: Spec) -> list[str]:
    """The Spec in a few lines."""
    operation = spec.operation.replace("_", " ")
    lines = [f"{operation}, {' then '.join(spec.steps)}: x {place(spec.shape)} in {_formats(spec)}"]
    if len(spec.steps) > 4:
        lines = [f"{operation}, {len(spec.steps)} steps: x {place(spec.shape)} in {_formats(spec)}"]
    affine = " and ".join(name for name, has in (("gamma", spec.has_gamma), ("beta", spec.has_beta)) if has)
    along = f"{affine} along {_axes(spec.parameter_axes)}" if affine else "no gamma, no beta"
    lines.append(f"statistics over {_axes(spec.reduced_axes)} ({spec.n} values each), {along}")
    eps = "left to the backend" if spec.eps is None else repr(spec.eps)
    details = [f"eps {eps}"]
    if spec.has_running:
        weight = "left to the backend" if spec.momentum is None else f"{spec.momentum!r} (weight of the new statistic)"
        details.append(f"momentum {weight}")
    else:
        details.append("no running statistics")
    details.append(
        {"explicit": "cotangent given", "sum": "loss sum(y)", "mean_square": "loss mean(y·y)"}[spec.cotangent]
    )
    for name, layout in (("x", spec.layout_x), ("cotangent", spec.layout_cotangent)):
        if layout != "contiguous":
            details.append(f"{name} laid out {layout.replace('_', ' ')}")
    return [*lines, ", ".join(details)]


def _formats(spec: Spec) -> str:
    data, parameters, statistics = spec.formats
    if data == parameters == statistics:
        return data
    return f"{data} (parameters {parameters}, statistics {statistics})"


def _axes(axes: tuple[int, ...]) -> str:
    if not axes:
        return "no axis"
    return f"{'axis' if len(axes) == 1 else 'axes'} {', '.join(map(str, axes))}"


def inputs_words(case: Case) -> list[str]:
    """One line per input: small arrays exactly, larger ones by what is in them."""
    arrays = dict(case.inputs.items())
    width = max(map(len, arrays))
    return [f"{name.ljust(width)}  {array_words(array[0])}" for name, array in arrays.items()]


def array_words(array: Array) -> str:
    """A small array as a nested list of the shortest decimals that read back to the same bits; else a summary."""
    if array.size <= SHOWN_ELEMENTS:
        written = _nested(array)
        if len(written) <= LINE:
            return written
    values = np.asarray(array, dtype=np.float64).ravel()
    finite = values[np.isfinite(values)]
    parts = [f"{place(array.shape)}, {len(np.unique(values))} distinct values"]
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        parts.append(f"from {number(low)} to {number(high)}")
        with np.errstate(over="ignore"):
            parts.append(f"mean {number(float(finite.mean()))}")
    for name, count in (("NaN", np.isnan(values).sum()), ("infinite", np.isinf(values).sum())):
        if count:
            parts.append(f"{count} {name}")
    start = ", ".join(_element(np.asarray(element)) for element in array.ravel()[:4])
    return f"{', '.join(parts)}; starts {start}"


def _nested(array: Array) -> str:
    if array.ndim == 0:
        return _element(array)
    return f"[{', '.join(_nested(np.asarray(part)) for part in array)}]"


def _element(value: Array) -> str:
    wide = float(value)
    return repr(shortest(wide, formats.of(value))) if math.isfinite(wide) else str(wide)


def zero_note(exact: float, bound: float, n: int, *, rung_bound: float = 0.0) -> str:
    """What to say where the exact value is zero, else nothing. `rung_bound`: how well the exact value is known."""
    if abs(exact) > max(rung_bound, ZERO_SHARE * bound):
        return ""
    if bound == 0:
        return "the exact value is zero, and nothing else is allowed"
    typical = f", typically near {bound / math.sqrt(n):.2g}" if n > 1 else ""
    return f"the exact value is zero: noise up to {bound:.2g} is expected{typical}"


def noise_note(bound: float, n: int) -> str:
    """The noise to be expected beside the bound, which is a worst case: a hint, and nothing is judged by it.

    Rounding errors of random sign add up to the square root of what G errors of one sign do, and G is n for a running
    sum, about log2(n) for a balanced tree; other orders lie between the two.
    """
    if n < FEW_VALUES or not 0 < bound < math.inf:
        return ""
    running, tree = bound / math.sqrt(n), bound / math.sqrt(math.log2(n))
    return (
        f"the bound {bound:.2g} is the worst case; noise is typically near {tree:.2g} (pairwise sums) "
        f"to {running:.2g} (a running sum)"
    )
