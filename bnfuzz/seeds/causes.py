"""Why released backends fail on seeds: each cause once, in words; a seed says on which backends and in which outputs.

Every failure recorded with these was reached again with the mpmath reference.
"""

from __future__ import annotations

from dataclasses import dataclass

from bnfuzz.backends import registry
from bnfuzz.judge.verdict import Kind, Regime
from bnfuzz.seeds.seed import Known

VERSIONS = {
    "numpy": "",
    "jax": ">=0.10,<0.11",
    "flax": ">=0.12,<0.13",
    "mxnet": ">=1.9,<1.10",
    "torch": ">=2.13,<2.14",
}
"""Framework -> the releases that the failures were seen in; the NumPy kernel is this project's own."""

JAX = ("jax", "jax-eager", "jax-pmean")
MXNET = ("mxnet", "mxnet-defaults", "mxnet-gluon")
"""The three ways to call mx.nd.BatchNorm."""


@dataclass(frozen=True)
class Cause:
    """`why` in words; `on` makes the known failures of it."""

    why: str
    link: str = ""

    def on(self, *backends: str, regime: Regime = "plain", **fails: Kind) -> tuple[Known, ...]:
        """These outputs fail with these kinds on each of the backends; `regime` matters where the first is no `range`.

        dgamma is left out where the backend takes gamma for 1: it is 0 there, and right.
        """
        return tuple(self._on(name, regime, fails) for name in backends)

    def _on(self, name: str, regime: Regime, fails: dict[str, Kind]) -> Known:
        backend = registry.get(name)
        if backend.conventions.fix_gamma:
            fails = {output: kind for output, kind in fails.items() if output != "dgamma"}
        versions = VERSIONS[backend.framework]
        return Known(backend=name, versions=versions, fails=fails, regime=regime, why=self.why, link=self.link)


ONE_PASS = Cause(
    """The default fast variance is mean(x*x) - mean*mean, clamped at 0: of a variance that is small beside the
    squared mean nothing or only noise is left. use_fast_variance=False is right.""",
    link="https://github.com/google/flax/issues/1491",
)
ONE_PASS_TIE = Cause(
    ONE_PASS.why
    + " Here the difference is exactly 0, where the derivative of max(0, v) counts half: dx has half its term.",
    link=ONE_PASS.link,
)
SQUARES = Cause(
    """The squared deviations are formed in float16, where anything above 65504 is infinite: the variance becomes
    infinite, and y and the gradients 0."""
)
SQUARES_SINGLE = Cause(
    """The squared deviations, 1e60 and more, are beyond float32: the variance becomes infinite, and y 0, or NaN
    where two infinite numbers are subtracted. Only scaling the data first would avoid it."""
)
NO_EPS = Cause("An eps of 1e-12 is 0 in float16, in which everything is computed: a constant channel becomes 0/0.")
CUBES = Cause(
    "Differentiating 1/sqrt(var + eps) forms its third power, which float16 cannot hold: infinity times 0 is NaN in dx."
)
PARTS_OF_DX = Cause(
    """The gradient is beyond float16 here. Its two parts are rounded to float16 before they are added, so that it
    becomes infinity less infinity, NaN, where infinity or a large number would be right."""
)
VARIANCE_BACK = Cause(
    """The operator keeps only r = 1/sqrt(var + eps) and computes the variance back from it for the running one,
    as 1/r**2 - eps: beside eps a small variance is lost, and one of 0 comes out as a rounding of eps."""
)
NARROW_PARTS = Cause(
    """In channels-last memory the backward kernel stores each intermediate of dx in float16; rounding them one by
    one reproduces its output. In contiguous memory it rounds once."""
)
FOLDED = Cause(
    """The contiguous kernel computes x*a + (beta - mean*a) with a = gamma/sqrt(var + eps): two large products
    that ought to cancel and do not."""
)
EMPTY_MEAN = Cause(
    """The variance of no values is NaN. gamma is multiplied by 1/sqrt(var + eps) before it meets x, so that its
    gradient is 0 times NaN, where a sum over nothing is 0."""
)
