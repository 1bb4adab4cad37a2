"""Probes: each asks a black box one question, with inputs whose outcomes under the possible answers do not overlap."""

from bnfuzz.diagnosis.probes import (
    affine,
    axes,
    compute,
    degenerate,
    divisor,
    eps_limit,
    eps_place,
    eps_value,
    gamma,
    gradient,
    modes,
    momentum,
    ranks,
    root,
    running,
    sameness,
    subnormals,
    sums,
    variance,
)
from bnfuzz.diagnosis.probes.row import CANNOT_TELL, Probe, Row

GROUPS = (
    eps_value,
    eps_place,
    divisor,
    eps_limit,
    momentum,
    running,
    gamma,
    modes,
    axes,
    ranks,
    degenerate,
    compute,
    variance,
    affine,
    sums,
    subnormals,
    root,
    gradient,
    sameness,
)

PROBES: tuple[Probe, ...] = tuple(probe for group in GROUPS for probe in group.PROBES)
"""All probes, in the order of a card's lines."""

__all__ = ["CANNOT_TELL", "PROBES", "Probe", "Row"]
