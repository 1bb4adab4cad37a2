"""The offset ladder drawn: error/u against κ, both logarithmic, with lines of slope 1 and 2 to read the class off."""

from __future__ import annotations

import io
from typing import Any, Literal

import numpy as np

from bnfuzz.errors import UsageError
from bnfuzz.report.issue.ladder import STABLE, Curve, Ladder
from bnfuzz.signature import portable

OTHER_COLOURS = ("#4c78a8", "#e39c37", "#54a24b", "#b279a2", "#72b7b2", "#9d755d", "#8c8c8c", "#2f4b7c", "#d6a5c9")
OTHER_DASHES: tuple[Any, ...] = ("-", "-.", ":", (0, (5, 1)))
SUBJECT_COLOUR = "#d62728"
STABLE_COLOUR = "#222222"
HASH_SALT = "bnfuzz"
"""Makes the ids inside an SVG the same from run to run."""


def ladder_image(
    ladder: Ladder, *, title: str, kappa: float | None = None, form: Literal["svg", "png"] = "svg"
) -> bytes:
    """The drawing as the bytes of a file. `kappa`: the condition number of the report's own input.

    Raises UsageError where matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(f"plots need matplotlib ({error}); install it with: pip install 'bnfuzz[report]'") from None
    with mpl.rc_context({"svg.hashsalt": HASH_SALT, "font.size": 9, "axes.grid": True, "grid.alpha": 0.25}):
        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        axes = figure.add_subplot()
        _slopes(axes, ladder)
        for number, curve in enumerate(ladder.curves):
            _draw(axes, curve, number)
        largest = max(float(np.max(curve.kappa)) for curve in ladder.curves)
        if kappa is not None and 1 < kappa <= 4 * largest:
            axes.axvline(kappa, color=SUBJECT_COLOUR, linewidth=0.8, linestyle=":")
            place = (kappa, 0.02)
            axes.annotate("the input reported ", place, xycoords=("data", "axes fraction"), rotation=90, fontsize=8)
        axes.set(xscale="log", yscale="log", title=title.replace("$", r"\$"))
        axes.set_xlabel("κ = √(1 + μ²/(σ² + ε)), from noise of spread 1 at growing offsets")
        axes.set_ylabel(f"error of y / u   ($u = 2^{{{int(np.log2(ladder.unit_roundoff))}}}$, n = {ladder.n})")
        axes.legend(loc="upper left", fontsize=7)
        stream = io.BytesIO()
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
        figure.savefig(stream, format=form, dpi=150, metadata=metadata)
    return stream.getvalue()


def _draw(axes: Any, curve: Curve, number: int) -> None:
    """The first curve is the implementation in question; the stable algorithm is drawn like no other."""
    positive = np.isfinite(curve.error) & (curve.error > 0)
    slope = f" (slope {curve.slope:.2f})" if np.isfinite(curve.slope) else ""
    colours, dashes = len(OTHER_COLOURS), len(OTHER_DASHES)
    style: dict[str, Any] = {
        "color": OTHER_COLOURS[number % colours],
        "linestyle": OTHER_DASHES[number % dashes],
        "linewidth": 1.1,
        "zorder": 2,
    }
    if number == 0:
        style = {"color": SUBJECT_COLOUR, "linewidth": 2.2, "marker": "o", "markersize": 4, "zorder": 4}
    elif curve.name == STABLE:
        style = {"color": STABLE_COLOUR, "linewidth": 1.6, "linestyle": "--", "zorder": 3}
    # A name is a user's: matplotlib would read what stands between dollar signs as mathematics.
    label = f"{portable(curve.name)}{slope}".replace("$", r"\$")
    axes.plot(curve.kappa[positive], curve.error[positive], label=label, **style)


def _slopes(axes: Any, ladder: Ladder) -> None:
    """κ and κ², as far as an error of 1."""
    kappa = np.array([1.0, float(np.max(ladder.curves[0].kappa))])
    for power in (1, 2):
        end = min(kappa[1], (1 / ladder.unit_roundoff) ** (1 / power))
        axes.plot([1, end], [1, end**power], color="#999999", linewidth=0.8, zorder=0)
        axes.annotate("κ" if power == 1 else "κ²", (end, end**power), fontsize=8, color="#666666")
