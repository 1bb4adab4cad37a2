"""What the page's plots are drawn from: plain numbers and texts, each text harmless where plots read mark-up."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable
from typing import Any

from bnfuzz.case import OUTPUT_NAMES
from bnfuzz.judge.verdict import KINDS
from bnfuzz.night import Dot, Night, NightReport
from bnfuzz.report.words import ratio

LOWEST, HIGHEST = 1e-4, 1e9
"""Ratios beyond these are drawn at the edge: how much farther they lie says nothing more."""

EDGE = 0.6
"""Decades of the plot beyond the outermost points."""

FEWEST_NIGHTS = 8
"""Room for so many nights at least: those to come stay empty."""

MOST_TICKS = 7


def plot_data(report: NightReport) -> dict[str, Any]:
    """The data of all plots; indices instead of names wherever something is chosen by them."""
    dots = report.dots
    backends = list(dict.fromkeys(dot.backend for dot in dots))
    outputs = [name for name in OUTPUT_NAMES if any(dot.output == name for dot in dots)]
    # What passes is drawn first, so that nothing else hides beneath it.
    kinds = sorted({dot.kind for dot in dots}, key=lambda kind: (kind != "ok", KINDS.index(kind)))
    top = max((dot.severity for dot in dots), default=1.0)
    right = max((dot.kappa for dot in dots), default=1.0)
    ceiling = 10.0 ** math.ceil(math.log10(min(max(top, 10.0), HIGHEST)))
    return {
        "backends": backends,
        "outputs": outputs,
        "kinds": kinds,
        "dots": [
            {
                "backend": backends.index(dot.backend),
                "output": outputs.index(dot.output),
                "kind": kinds.index(dot.kind),
                "x": float(f"{dot.kappa:.4g}"),
                "y": float(f"{min(max(dot.severity, LOWEST), ceiling):.4g}"),
                "text": _hover(dot),
            }
            for dot in dots
            if dot.output in outputs
        ],
        "decades": _decades(right, ceiling),
        "trend": _trend([*report.history, report.night]),
    }


def _hover(dot: Dot) -> str:
    """What hovering shows; the plots take some mark-up, so everything is escaped but the line ends."""
    lines = (
        f"{dot.backend}: {dot.output} {dot.kind}",
        f"error/bound {ratio(dot.severity)}, κ {dot.kappa:.3g}, {dot.format}",
        *_wrapped(dot.what),
        f"plan seed {dot.seed}, trial {dot.trial}",
    )
    return "<br>".join(html.escape(line) for line in lines)


def _wrapped(text: str, width: int = 44) -> Iterable[str]:
    """Lines that a narrow screen can show."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line[:200]


def _decades(right: float, ceiling: float) -> dict[str, Any]:
    """Ranges of the axes in decades, the same in every panel, and the steps between their ticks."""
    x = [-EDGE, max(math.ceil(math.log10(max(right, 1.0))), 2) + EDGE]
    y = [math.log10(LOWEST) - EDGE, math.log10(ceiling) + EDGE]
    return {"x": x, "y": y, "step": _step(x), "ystep": _step(y)}


def _step(ends: list[float]) -> int:
    return max(1, math.ceil((ends[1] - ends[0]) / MOST_TICKS))


def _trend(nights: list[Night]) -> dict[str, Any]:
    first, last = nights[0].number, nights[-1].number
    step = max(1, math.ceil((last - first + 1) / MOST_TICKS))
    return {
        "night": [night.number for night in nights],
        "text": [f"night {night.number}, {html.escape(night.started[:10])}" for night in nights],
        "judged": [night.judged for night in nights],
        "rate": [round(night.rate, 1) for night in nights],
        "new": [night.counts.new + night.counts.back for night in nights],
        "gone": [night.counts.gone for night in nights],
        "open": [night.counts.open for night in nights],
        "range": [first - 0.6, max(last, first + FEWEST_NIGHTS - 1) + 0.6],
        "ticks": list(range(last, first - 1, -step))[::-1],
    }


def inline_json(value: Any) -> str:
    """JSON that can stand inside a script element: nothing in it ends the element or begins a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
