"""Why released backends fail on seeds: each cause once, in words, with the outputs that it spoils left to the seed.

Every failure recorded with these was reached again with the mpmath reference.
"""

from __future__ import annotations

from bnfuzz.judge.verdict import Kind, Regime
from bnfuzz.seeds.seed import Known

JAX = ">=0.10,<0.11"
FLAX = ">=0.12,<0.13"
MXNET = ">=1.9,<1.10"
TORCH = ">=2.13,<2.14"

JAX_BACKENDS = ("jax", "jax-eager", "jax-pmean")


def flax_one_pass(regime: Regime = "offset", *, more: str = "", **fails: Kind) -> Known:
    why = (
        "The default fast variance is mean(x*x) - mean*mean, clamped at 0: of a variance that is small beside the "
        "squared mean nothing or only noise is left. use_fast_variance=False is right."
    )
    link = "https://github.com/google/flax/issues/1491"
    return Known(backend="flax", versions=FLAX, fails=fails, regime=regime, why=f"{why} {more}".rstrip(), link=link)


def flax_parts_of_dx(*backends: str, **fails: Kind) -> tuple[Known, ...]:
    why = (
        "The gradient is beyond float16 here. Its two parts are rounded to float16 before they are added, so that "
        "it becomes infinity less infinity, NaN, where infinity or a large number would be right."
    )
    return tuple(Known(backend=name, versions=FLAX, fails=fails, regime="range", why=why) for name in backends)


def jax_narrow(why: str, *backends: str, **fails: Kind) -> tuple[Known, ...]:
    """Kernels of JAX written in the data's format throughout."""
    return tuple(
        Known(backend=name, versions=JAX, fails=fails, regime="range", why=why) for name in backends or JAX_BACKENDS
    )


def mxnet_operator(why: str, regime: Regime = "range", **fails: Kind) -> tuple[Known, ...]:
    """The three ways to call mx.nd.BatchNorm; the one without flags fixes gamma, so its dgamma is 0 and right."""
    fixed = {output: kind for output, kind in fails.items() if output != "dgamma"}
    return tuple(
        Known(
            backend=name,
            versions=MXNET,
            fails=fixed if name == "mxnet-defaults" else fails,
            regime=regime,
            why=why,
        )
        for name in ("mxnet", "mxnet-defaults", "mxnet-gluon")
    )


def mxnet_scratch(why: str, **fails: Kind) -> Known:
    return Known(backend="mxnet-scratch", versions=MXNET, fails=fails, regime="range", why=why)


def torch(why: str, regime: Regime = "plain", **fails: Kind) -> Known:
    return Known(backend="torch", versions=TORCH, fails=fails, regime=regime, why=why)


SQUARES = (
    "The squared deviations are formed in float16, where anything above 65504 is infinite: the variance becomes "
    "infinite, and y and the gradients 0."
)
SQUARES_SINGLE = (
    "The squared deviations, 1e60 and more, are beyond float32: the variance becomes infinite, and y 0 or NaN. "
    "Only scaling the data first would avoid it."
)
NO_EPS = "An eps of 1e-12 is 0 in float16, in which everything is computed: a constant channel becomes 0/0."
CUBES = (
    "Differentiating 1/sqrt(var + eps) forms its third power, which float16 cannot hold: infinity times 0 is NaN in dx."
)
MXNET_VARIANCE_BACK = (
    "The operator keeps only 1/sqrt(var + eps) and computes the variance back from it for the running one, as "
    "1/r**2 - eps: beside eps a small variance is lost, and one of 0 comes out as a rounding of eps."
)
TORCH_NARROW_STATISTICS = (
    "With float16 parameters the kernel keeps the batch's mean and 1/sqrt(var + eps) in float16 between its "
    "passes, though it computes in float32: a rounded mean near large data moves every output."
)
TORCH_CHANNELS_LAST_PARTS = (
    "In channels-last memory the backward kernel stores each intermediate of dx in float16; rounding them one by "
    "one reproduces its output. In contiguous memory it rounds once."
)
TORCH_FOLDED = (
    "The contiguous kernel computes x*a + (beta - mean*a) with a = gamma/sqrt(var + eps): two large products that "
    "ought to cancel and do not."
)
