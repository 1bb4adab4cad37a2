"""What a backend documents: the choices that two correct implementations may make differently.

They parametrise the reference, so that a documented choice is never called a fault; a documented choice
that is not kept is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bnfuzz import formats
from bnfuzz.case import Mode, Spec
from bnfuzz.formats import Format, FormatName

FormatTriple = tuple[FormatName, FormatName, FormatName]

ALL_FORMATS: tuple[FormatTriple, ...] = (
    ("float16", "float16", "float16"),
    ("bfloat16", "bfloat16", "bfloat16"),
    ("float32", "float32", "float32"),
    ("float64", "float64", "float64"),
)
MIXED_FORMATS: tuple[FormatTriple, ...] = (
    ("float16", "float32", "float32"),
    ("bfloat16", "float32", "float32"),
)


@dataclass(frozen=True)
class Summation:
    """How sums are accumulated, as documented or measured: decides the growth G(n) of their error bound.

    any        every order counts as sound: G = n
    pairwise   a balanced tree: G = ceil(log2 n) + 2
    lanes      `lanes` partial sums side by side, then added up: G = n/lanes + lanes
    wide       accumulated in `accumulator`, another format: that format's u with G = n
    """

    kind: Literal["any", "pairwise", "lanes", "wide"] = "any"
    lanes: int = 1
    accumulator: FormatName = "float64"


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """One backend's documented choices.

    source                 where they are documented (page, version)
    default_eps            what the backend takes where eps is not given
    default_momentum       likewise, as the backend's own argument
    momentum_weighs        which statistic the backend's momentum argument multiplies
    fixed_scalars          which of eps and momentum the call has no argument for: only the default can be asked for
    handed_scalars         which of them it has no default for: the one above is handed to it where none is given
    scalar_format          format that eps and momentum are stored in before use (float32 attributes);
                           None: they stay Python floats until they meet the data
    momentum_format        likewise for momentum alone, where it differs (MXNet: float32, while eps is float64)
    eps_minimum            smallest accepted eps; `eps_minimum_excluded` when it must be larger than that
    running_ddof           1 where the running variance learns the variance times n/(n-1)
    formats                accepted (data, parameters, statistics) formats
    compute                compute format where it differs from the data's: ((data, compute), …)
    channel_axes           "any", or the only channel axis that can be expressed
    ranks                  smallest and largest rank of x
    modes                  the modes that it offers (a user's function without state has no inference)
    outputs                names of the outputs that it offers in training
    affine                 "free" (gamma and beta may each be absent) or "both" (both present)
    running                "free" or "needed" (the call has no form without running statistics)
    single_value           n = 1 in training: "value" (y = beta) or "refused"
    single_value_variance  n = 1 with ddof 1: new running variance "keep", "nan", or "biased" (factor 1)
    empty                  n = 0 or C = 0: "value" or "refused"
    empty_statistics       n = 0: the new running statistics "keep", "nan" or "unspecified"
    statistics_written     running statistics: "returned" as new arrays, or written into the given ones by "forward" or
                           by "backward"
    variance_formula       how the variance is taken, where that is documented
    fix_gamma              True where gamma is taken as 1 and dgamma as 0 (only MXNet's default)
    flushes_subnormals     subnormal inputs and results may become 0 (XLA)
    dx_parts               "storage" where parts of dx are rounded to the data's format before they are added
    summation              growth of the sums' error
    """

    source: str
    default_eps: float = 1e-5
    default_momentum: float = 0.1
    momentum_weighs: Literal["new", "old"] = "new"
    fixed_scalars: tuple[Literal["eps", "momentum"], ...] = ()
    handed_scalars: tuple[Literal["eps", "momentum"], ...] = ()
    scalar_format: FormatName | None = None
    momentum_format: FormatName | None = None
    eps_minimum: float = 0.0
    eps_minimum_excluded: bool = False
    running_ddof: Literal[0, 1] = 0
    formats: tuple[FormatTriple, ...] = ALL_FORMATS
    compute: tuple[tuple[FormatName, FormatName], ...] = ()
    channel_axes: Literal["any"] | int = "any"
    ranks: tuple[int, int] = (2, 5)
    modes: tuple[Mode, ...] = ("training", "inference")
    outputs: tuple[str, ...] = ("y", "dgamma", "dbeta", "dx", "new_running_mean", "new_running_var")
    affine: Literal["free", "both"] = "free"
    running: Literal["free", "needed"] = "free"
    single_value: Literal["value", "refused"] = "value"
    single_value_variance: Literal["keep", "nan", "biased"] = "biased"
    empty: Literal["value", "refused"] = "refused"
    empty_statistics: Literal["keep", "nan", "unspecified"] = "unspecified"
    statistics_written: Literal["returned", "forward", "backward"] = "returned"
    variance_formula: Literal["unstated", "two-pass", "one-pass"] = "unstated"
    fix_gamma: bool = False
    flushes_subnormals: bool = False
    dx_parts: Literal["compute", "storage"] = "compute"
    summation: Summation = Summation()

    def compute_format(self, data_format: FormatName) -> Format:
        return formats.named(dict(self.compute).get(data_format, data_format))

    def eps_given(self, spec: Spec) -> float:
        """The eps that the call uses: the Spec's or the default, as the backend stores it."""
        eps = self.default_eps if spec.eps is None else spec.eps
        return eps if self.scalar_format is None else formats.round_to(eps, self.scalar_format)

    def momentum_argument(self, spec: Spec) -> float:
        """The number handed to the backend: the Spec's momentum weighs the new statistic, its argument may not."""
        if spec.momentum is None:
            return self.default_momentum
        return spec.momentum if self.momentum_weighs == "new" else 1.0 - spec.momentum

    def momentum_given(self, spec: Spec) -> float:
        """`momentum_argument` as the backend stores it; the other weight is 1 minus it."""
        argument = self.momentum_argument(spec)
        stored = self.momentum_format or self.scalar_format
        return argument if stored is None else formats.round_to(argument, stored)

    def unsupported(self, spec: Spec) -> str | None:
        """Why this backend cannot express the Spec, or None; decided before anything is sent."""
        eps = self.default_eps if spec.eps is None else spec.eps
        channels = spec.statistics_shape
        if spec.operation != "batch_norm":
            return f"operation {spec.operation} is not offered"
        if len(spec.affine_axes) != 1 or spec.kept_axes != spec.affine_axes:
            return f"batch norm reduces every axis but one channel axis, not {spec.reduced_axes} of {spec.rank}"
        if not set(spec.steps) <= set(self.modes):
            return f"only {', '.join(self.modes)} is offered"
        if spec.formats not in self.formats:
            return f"formats {'/'.join(spec.formats)} are not accepted"
        if not self.ranks[0] <= spec.rank <= self.ranks[1]:
            return f"rank {spec.rank} is outside {self.ranks[0]}..{self.ranks[1]}"
        if self.channel_axes != "any" and spec.parameter_axes != (self.channel_axes,):
            return f"channel axis {spec.parameter_axes} cannot be expressed, only {self.channel_axes}"
        if "eps" in self.fixed_scalars and eps != self.default_eps:
            return f"the call takes no eps; it has its own, said to be {self.default_eps:g}"
        learns = spec.has_running and "training" in spec.steps
        if "momentum" in self.fixed_scalars and learns and self.momentum_argument(spec) != self.default_momentum:
            return f"the call takes no momentum; it has its own, said to be {self.default_momentum:g}"
        if eps < self.eps_minimum or (self.eps_minimum_excluded and eps == self.eps_minimum):
            excluded = ", excluded" if self.eps_minimum_excluded else ""
            return f"eps {eps} is below what is accepted ({self.eps_minimum}{excluded})"
        if self.affine == "both" and not (spec.has_gamma and spec.has_beta):
            return "gamma and beta are both needed"
        if self.running == "needed" and not spec.has_running:
            return "running statistics are needed"
        if self.empty == "refused" and (spec.n == 0 or 0 in channels):
            return "empty input is refused"
        if self.single_value == "refused" and spec.n == 1 and "training" in spec.steps:
            return "training on one value per channel is refused"
        return None
