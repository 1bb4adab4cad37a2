"""Public reports about normalization layers that fit one call on one processor, by topic."""

from __future__ import annotations

from bnfuzz.seeds import (
    reports_affine,
    reports_eps,
    reports_gradients,
    reports_modes,
    reports_overflow,
    reports_shapes,
    reports_statistics,
    reports_undefined,
    reports_variance,
)

SEEDS = (
    *reports_variance.SEEDS,
    *reports_overflow.SEEDS,
    *reports_eps.SEEDS,
    *reports_statistics.SEEDS,
    *reports_modes.SEEDS,
    *reports_gradients.SEEDS,
    *reports_affine.SEEDS,
    *reports_shapes.SEEDS,
    *reports_undefined.SEEDS,
)
