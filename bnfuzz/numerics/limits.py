"""Hard limits: what holds for any kernel whose variance is taken about the same rounded mean.

Such a kernel, its mean off by δ, returns (d − δ)/√(σ² + δ² + ε). Whatever the conditioning, that differs from
x̂ = d/√(σ² + ε) by at most min(1, √(n−1)) + |x̂|, and the limit is attained. It is what keeps a constant channel
of 1e6 from excusing everything.

Of the exact values: |x̂ᵢ| ≤ √(n−1), mean(x̂²) ≤ 1, Σdx = 0. A computed x̂ may exceed √(n−1) slightly, so that one
is never tested directly. RMS norm (no mean taken) has √n instead, and no rule for n = 1.
"""

from __future__ import annotations

import numpy as np

from bnfuzz.numerics.values import Float


def normalised_cap(magnitude: Float, *, n: int, unit_roundoff: float, eps_survives: bool, centred: bool) -> Float:
    """Largest error of x̂ for any kernel with one centre: (min(1, √(n−1)) + |x̂|)(1 + 8un).

    magnitude     |x̂|, exact
    eps_survives  ε − e(ε) ≥ 2t: otherwise the root may be of the rounding alone, and √(n−1) replaces 1
    centred       False for RMS norm, whose limit is √n
    """
    reach = np.sqrt(n - 1.0) if centred else np.sqrt(float(n))
    if eps_survives:
        reach = min(1.0, reach)
    cap: Float = (reach + magnitude) * (1 + 8 * unit_roundoff * n)
    return cap
