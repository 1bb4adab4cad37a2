"""The answer of `bnfuzz compare` on one screen."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator

import numpy as np

from bnfuzz.case import Case
from bnfuzz.diagnosis.contrast.contrast import Contrast, alike
from bnfuzz.diagnosis.contrast.hints import hints, title
from bnfuzz.diagnosis.documented import told
from bnfuzz.report.columns import columns
from bnfuzz.report.contrast.rows import Row, rows
from bnfuzz.report.text import format_of
from bnfuzz.report.words import array_words, number, place, ratio, spec_words

WIDTH = 120


def contrast_text(found: Contrast, *, drawn: str = "") -> str:
    """Who, on what, the answer with its evidence, the numbers, and why they differ. `drawn`: how x was made."""
    table = tuple(rows(found.case, found.a, found.b))
    lines = [f"A  {title(found.a)}", f"B  {title(found.b)}", *_case_lines(found.case, drawn), ""]
    lines += _answer(found)
    if table:
        lines += [
            "",
            "Your inputs, where the two are farthest apart (off: the output's largest error, in bounds):",
            *_table(found.case, table),
        ]
        lines += _wrapped(_why(found, table), "  ")
    beside = tuple(hints(found))
    if beside:
        lines += ["Worth knowing:", *_wrapped(beside, "  ")]
    return "\n".join(line.rstrip() for line in lines)


def _case_lines(case: Case, drawn: str) -> list[str]:
    words = [f"   {line}" for line in spec_words(case.spec)]
    x = f"x {drawn}" if drawn else f"x: {array_words(case.inputs.x[0])}"
    return [*words, *_wrapped([x], "   ")]


def _answer(found: Contrast) -> list[str]:
    if found.same and not (found.a.sound and found.b.sound):
        return _both_wrong(found)
    if found.same:
        worst = f"error/bound at most {found.a.worst:.2g} (A) and {found.b.worst:.2g} (B)"
        return [
            "THE SAME FUNCTION up to rounding.",
            *_wrapped(
                [
                    f"Both agree with the exact values on your inputs and on varied ones (gamma, beta, cotangent, "
                    f"spreads from 2 to 0.001, large means{_modes(found)}): {worst}. eps {told(found.a.eps)} in both."
                ],
                "  ",
            ),
        ]
    lines = []
    for position, difference in enumerate(found.differences):
        start = "THEY DIFFER" if position == 0 else "AND"
        lines += textwrap.wrap(f"{start}: {difference.sentence}.", WIDTH, subsequent_indent="  ")
        lines += [line for evidence in difference.evidence for line in _wrapped([evidence], "  ")]
    if found.equal_eps is not None:
        eps, a, b = found.equal_eps
        lines += _wrapped(
            [
                f"With eps {told(eps)} in both, and varied data, gamma, beta and cotangent, both agree with the exact "
                f"values of y and of all gradients: error/bound at most {a:.2g} (A) and {b:.2g} (B)."
            ],
            "  ",
        )
    for who, side in (("A", found.a), ("B", found.b)):
        if side.sound and any(
            who not in difference.at_fault and difference.at_fault for difference in found.differences
        ):
            lines.append(f"  {who} agrees with the exact values everywhere: error/bound at most {side.worst:.2g}.")
    return lines


def _both_wrong(found: Contrast) -> list[str]:
    assert alike(found.a, found.b)
    cause = found.a.cause.sentence if found.a.cause is not None else ""
    return [
        "THE SAME FUNCTION up to rounding, but it is not batch norm:",
        *_wrapped([f"both are {found.a.kind} in {', '.join(found.a.failing)}: {cause}."], "  "),
    ]


def _modes(found: Contrast) -> str:
    return "; inference too" if "inference" in found.a.fits and "inference" in found.b.fits else ""


def _table(case: Case, table: tuple[Row, ...]) -> list[str]:
    apart = any(not row.same_exact for row in table)
    exact = ("exact for A", "exact for B") if apart else ("exact",)
    header = ("", "A", "B", "A/B", *exact, "bound", "A off", "B off")
    cells = []
    for row in table:
        name = format_of(case.spec, row.output)
        values = [("0" if side.zero else _exact(side.exact, name, apart)) for side in (row.a, row.b)]
        cells.append(
            (
                f"{row.output}{place(row.index)}",
                number(row.a.observed, name),
                number(row.b.observed, name),
                "–" if math.isnan(row.ratio) else f"{row.ratio:.4g}",
                *(values if apart else values[:1]),
                f"{max(row.a.bound, row.b.bound):.1g}",
                ratio(float(f"{row.a.largest:.2g}")),
                ratio(float(f"{row.b.largest:.2g}")),
            )
        )
    return columns([header, *cells], right=range(1, len(header)), indent="  ")


def _exact(value: float, format_name: str, narrow: bool) -> str:
    return f"{value:.7g}" if narrow else number(value, format_name)


def _why(found: Contrast, table: tuple[Row, ...]) -> Iterator[str]:
    """Why the printed numbers differ, output by output; outputs of which the same is to be said share a sentence."""
    for row in sorted(table, key=lambda row: row.output != "dx"):
        if row.both_zero and not row.equal:
            reason = _zero_reason(found.case, row.output)
            bound = max(row.a.bound, row.b.bound)
            yield (
                f"{row.output}: the exact value is 0{f' ({reason})' if reason else ''}. Both print noise, at worst "
                f"±{bound:.1g}, rarely above {row.typical:.1g}: their {_meaningless(row)} nothing."
            )
    signs = [row.output for row in table if row.equal and not row.equal_bits]
    if signs:
        yield f"{', '.join(signs)}: the same numbers; only the signs of zeros differ."
    rest = [row for row in table if not row.both_zero]
    same_bits = [row.output for row in table if row.equal_bits]
    if same_bits:
        yield f"{', '.join(same_bits)}: the same bits."
    rounding = [row for row in rest if row.same_exact and not row.equal and max(row.a.largest, row.b.largest) <= 1]
    if rounding:
        near = _grouped((_nearer(row), row.output) for row in rounding)
        kappa = _kappa(found)
        yield (
            f"{', '.join(row.output for row in rounding)}: rounding, within the bound on both sides (condition "
            f"number κ up to {kappa:.3g}, n = {found.case.spec.n}). Nearer to the exact value: {near}."
        )
    by_convention = [row.output for row in rest if not row.same_exact and max(row.a.largest, row.b.largest) <= 1]
    if by_convention:
        yield (
            f"{', '.join(by_convention)}: each is right for the conventions that it follows, and these differ (above)"
            f"{_eps_factor(found) if 'y' in by_convention else ''}."
        )
    for who in ("A", "B"):
        off = [(row.output, side.largest) for row in rest if (side := row.a if who == "A" else row.b).largest > 1]
        if off:
            words = ", ".join(f"{output} by {ratio(float(f'{largest:.2g}'))}" for output, largest in off)
            yield f"{who} is off the exact value by more than the bound, error/bound: {words}."


def _meaningless(row: Row) -> str:
    """`ratio, 2 here, means` or `ratios, −3 to 2 here, mean`."""
    if row.ratios is None:
        return "ratio means"
    low, high = (f"{end:.3g}" for end in row.ratios)
    return f"ratio, {low} here, means" if low == high else f"ratios, {low} to {high} here, mean"


def _grouped(pairs: Iterable[tuple[str, str]]) -> str:
    """`A in y, dx; B in dgamma`."""
    groups: dict[str, list[str]] = {}
    for who, output in pairs:
        groups.setdefault(who, []).append(output)
    return "; ".join(f"{who} in {', '.join(outputs)}" for who, outputs in sorted(groups.items()))


def _eps_factor(found: Contrast) -> str:
    """By how much two eps alone change x̂."""
    if not any(difference.name == "eps" for difference in found.differences):
        return ""
    channels = found.a.answers["case"].judged(found.a.followed, own_eps=True).reference.channels
    with np.errstate(all="ignore"):
        factors = np.sqrt((channels.variance + found.b.eps) / (channels.variance + found.a.eps))
    low, high = float(np.min(factors)), float(np.max(factors))
    return f"; √((σ²+eps_B)/(σ²+eps_A)) alone makes A's x̂ {low:.5g} to {high:.5g} times B's"


def _nearer(row: Row) -> str:
    if row.a.error == row.b.error:
        return "neither"
    return "A" if row.a.error < row.b.error else "B"


def _kappa(found: Contrast) -> float:
    judged = found.a.answers["case"].judged(found.a.followed, own_eps=True)
    return float(np.max(judged.reference.channels.kappa, initial=1.0))


def _zero_reason(case: Case, output: str) -> str:
    """Why an output is exactly zero, where one of the usual reasons holds."""
    spec, inputs = case.spec, case.inputs
    if spec.mode != "training":
        return ""
    constant = spec.cotangent == "sum"
    if inputs.cotangent is not None:
        axes = tuple(1 + axis for axis in spec.reduced_axes)
        constant = bool(np.all(inputs.cotangent.max(axes) == inputs.cotangent.min(axes)))
    if constant and output == "dx":
        return "the cotangent g is constant in each channel, so g − mean(g) and mean(g·x̂) vanish"
    if constant and output == "dgamma":
        return "the cotangent is constant in each channel, and Σ x̂ = 0"
    if spec.cotangent == "mean_square" and output == "dbeta":
        return "2·Σy/size: the mean of y is beta, and beta is 0"
    if spec.n == 1:
        return "a single value per channel: x̂ = 0"
    return ""


def _wrapped(sentences: Iterable[str], indent: str) -> list[str]:
    lines = []
    for sentence in sentences:
        lines += textwrap.wrap(
            sentence, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False
        )
    return lines
