"""What of a backend's conventions decides the exact values and the bounds of one Spec.

Two backends with equal Rules share one reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bnfuzz import formats
from bnfuzz.case import Spec
from bnfuzz.conventions import Conventions, Summation
from bnfuzz.formats import Format


@dataclass(frozen=True, kw_only=True)
class Rules:
    """eps and momentum as the backend stores them, its formats, and the choices of its conventions.

    momentum is one weight; `momentum_weighs` says of which statistic, and the other weight is 1 minus it.
    """

    data: Format
    parameters: Format
    statistics: Format
    compute: Format
    eps: float
    momentum: float
    momentum_weighs: Literal["new", "old"]
    running_ddof: Literal[0, 1]
    single_value_variance: Literal["keep", "nan", "biased"]
    empty_statistics: Literal["keep", "nan", "unspecified"]
    fix_gamma: bool
    flushes: bool
    dx_parts: Literal["compute", "storage"]
    summation: Summation


def rules_of(spec: Spec, conventions: Conventions) -> Rules:
    """The Rules under which a backend with these conventions evaluates the Spec.

    What the Spec leaves without effect is set to one fixed value, so that more backends share a reference: how
    running statistics are learned where none are, the parts of dx in inference, gamma fixed where there is none.
    """
    learns = spec.has_running and spec.mode == "training"
    in_parts = conventions.dx_parts == "storage" and spec.mode == "training"
    return Rules(
        data=formats.named(spec.data_format),
        parameters=formats.named(spec.parameter_format),
        statistics=formats.named(spec.statistics_format),
        compute=conventions.compute_format(spec.data_format),
        eps=conventions.eps_given(spec),
        momentum=conventions.momentum_given(spec) if learns else 0.0,
        momentum_weighs=conventions.momentum_weighs if learns else "new",
        running_ddof=conventions.running_ddof if learns else 0,
        single_value_variance=conventions.single_value_variance if learns and spec.n == 1 else "biased",
        empty_statistics=conventions.empty_statistics if learns and spec.n == 0 else "unspecified",
        fix_gamma=conventions.fix_gamma and spec.has_gamma,
        flushes=conventions.flushes_subnormals,
        dx_parts="storage" if in_parts else "compute",
        summation=conventions.summation,
    )
