"""The power of κ with which errors of y grow, measured: `python -m benchmarks.kappa`.

Kernels of the catalogue climb the offset ladder of `bnfuzz.report.issue.ladder` in float32 (32 values, two channels):
the exponent p is fitted to error ~ κ^p·u between four roundings and saturation. `bound` is the judge's own bound.
"""

from __future__ import annotations

import sys

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.conventions import ALL_FORMATS
from bnfuzz.faults.backend import CONVENTIONS, entry, run
from bnfuzz.numerics.reference import reference
from bnfuzz.report.columns import aligned
from bnfuzz.report.issue.ladder import Ladder, ladder_inputs, ladder_of, slope_of

KERNELS = ("pairwise", "sequential", "kahan", "recentred", "welford", "chan", "folded")
ONE_PASS = ("onepass", "onepass_clamp")


def measured(data_format: str) -> tuple[Ladder, float]:
    """(the curves of sound kernels and one-pass ones, the exponent of the bound)."""
    (triple,) = (triple for triple in ALL_FORMATS if triple[0] == data_format)
    spec = batch_norm_spec((32, 2), data_format=triple[0], parameter_format=triple[1], statistics_format=triple[2])
    inputs = ladder_inputs(spec, CONVENTIONS)
    exact = reference(spec, inputs, CONVENTIONS)
    names = [f"sound:{name}" for name in KERNELS] + [f"fault:{name}" for name in ONE_PASS]
    outputs = {name: run(entry(name).kernel, spec, inputs, CONVENTIONS).y for name in names}
    ladder = ladder_of(exact, {name: y for name, y in outputs.items() if y is not None})
    kappa = ladder.curves[0].kappa
    bound = np.median(exact.outputs["y"].raw_bound.reshape(len(kappa), -1), axis=1)
    return ladder, slope_of(kappa, bound, ladder.unit_roundoff)


def main() -> None:
    for data_format in ("float32", "float64"):
        ladder, bound = measured(data_format)
        rows = [("kernel", "exponent of κ"), ("bound", f"{bound:.2f}")]
        rows += [(curve.name, f"{curve.slope:.2f}") for curve in ladder.curves]
        sys.stdout.write(f"{data_format}, κ from {ladder.curves[0].kappa[0]:.2f} to {ladder.curves[0].kappa[-1]:.3g}\n")
        sys.stdout.write(aligned(rows) + "\n\n")


if __name__ == "__main__":
    main()
