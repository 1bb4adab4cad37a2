"""Roundings that sound code may spend where a formula writes one operation: in units of u of the format at hand."""

ROOT_ROUNDINGS = 4.0
"""Roundings admitted in 1/sqrt(a): XLA's vectorised rsqrt was measured at 2.8."""

POWER_ROUNDINGS = 4.0
"""Roundings admitted in a**b, which C libraries and vectorised code give to within a few."""

BUFFER_ROUNDINGS = 2.0
"""Units of backward error of the running mean in inference: a kernel that folds it into the shift needs two (one and a
half were not enough)."""

LOSS_ROUNDINGS = 3
"""Roundings between the stored y and the cotangent 2·y/size of the loss mean(y²), in any order: of 1/size, of a
product, and one more."""
