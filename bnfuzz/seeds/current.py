"""Faults of current releases: found while this project was prepared, each a minimal input."""

from __future__ import annotations

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.causes import CUBES, FOLDED, JAX, MXNET, NO_EPS, ONE_PASS, PARTS_OF_DX, SQUARES, SQUARES_SINGLE
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import HALF, PURE_BRAIN, PURE_HALF, column

SEEDS = (
    Seed(
        name="flax-fast-variance-two-values",
        title="flax: two values near 10000 come out a hundred times too large",
        link="https://github.com/google/flax/issues/1491",
        spec=batch_norm_spec((2, 1)),
        x=column([10000.195, 9999.581]),
        gamma=3.0,
        known=ONE_PASS.on(
            "flax", regime="offset", y="unstable", dgamma="unstable", dx="unstable", new_running_var="unstable"
        ),
        note="""flax.linen.BatchNorm takes its variance as mean(x*x) - mean*mean unless use_fast_variance=False is
        given. At 10000 the squares are 1e8, their spacing in float32 is 8, and a variance of 0.094 is lost: it is
        clamped to 0, and y is near 291 and -292 where 2.99984 and -2.99984 are exact.""",
    ),
    Seed(
        name="torch-folded-constant",
        title="PyTorch: a constant channel of 1e6 gives 103 or more for a shift of 100",
        spec=batch_norm_spec((1, 1, 2)),
        x=[[[1e6, 1e6]]],
        beta=100.0,
        known=FOLDED.on("torch", regime="constant", y="unstable"),
        note="""The exact output of a constant channel is the shift, 100. PyTorch's contiguous training kernel on
        the CPU computes x*a + (beta - mean*a) with a = 1/sqrt(eps) = 316: two products near 3e8 that do not cancel
        in float32.""",
    ),
    Seed(
        name="torch-folded-half",
        title="PyTorch: a constant float16 channel with eps 1e-12 gives -1024",
        spec=batch_norm_spec((3, 1), eps=1e-12, **HALF),
        x=column([3e4, 3e4, 3e4]),
        known=(
            *FOLDED.on("torch", regime="constant", y="unstable"),
            *PARTS_OF_DX.on("flax", "flax-slow-variance", dx="range"),
            *NO_EPS.on(*MXNET, y="range", dgamma="range", dx="range"),
        ),
        note="""Three equal values: y is exactly 0. With eps 1e-12 the folded factor is 1e6, and two products near
        3e10, where float32 numbers are 2048 apart, miss each other by 1024.""",
    ),
    Seed(
        name="jax-brain-equal-channels",
        title="JAX in bfloat16: two equal constant channels, one gives 0 and the other 322",
        spec=batch_norm_spec((3, 2), **PURE_BRAIN),
        x=[[21609054208.0, 21609054208.0]] * 3,
        note="""Three equal values per channel: y is exactly 0. Seen on one machine under jit, where the compiler
        kept the mean unrounded in some vector lanes and rounded in others, and 1/sqrt(eps) = 316 multiplied the
        difference of the two; not seen on others.""",
    ),
    Seed(
        name="square-overflow-float32",
        title="Deviations of 1e30 in float32: their squares overflow",
        spec=batch_norm_spec((4, 1)),
        x=column([1e30, -1e30, 2e30, 0.0]),
        known=(
            *SQUARES_SINGLE.on(
                "numpy", *JAX, "flax-slow-variance", *MXNET, "mxnet-scratch", "torch", y="range", dgamma="range"
            ),
            *SQUARES_SINGLE.on("flax", y="range", dgamma="range", dx="range", new_running_var="range"),
        ),
        note="""The exact y is moderate: 0.447, -1.342, 1.342, -0.447. The squared deviations are 1e60, beyond
        float32, so the variance is infinite and y is 0 (or NaN in some kernels). Scaling by the largest magnitude
        first would avoid it. It is recorded as a limit of range, not as a wrong formula.""",
    ),
    Seed(
        name="cube-overflow-half",
        title="A constant float16 channel: the gradient's r*r*r overflows",
        spec=batch_norm_spec((2, 1), **PURE_HALF),
        x=column([1000.0, 1000.0]),
        cotangent=1.0,
        known=CUBES.on(*JAX, dx="range"),
        note="""Two equal values and a cotangent of ones: the exact dx is 0. Automatic differentiation of 1/sqrt(var
        + eps) forms its third power, 316**3 = 3e7, which float16 cannot hold; infinity times 0 is NaN.""",
    ),
    Seed(
        name="square-overflow-half",
        title="A float16 channel with deviations of 400: their squares overflow",
        spec=batch_norm_spec((4, 2), **PURE_HALF),
        x=[[600.0, 1.0], [-200.0, 2.0], [600.0, 3.0], [-200.0, 4.0]],
        known=(
            *SQUARES.on(*JAX, y="range", dgamma="range", new_running_var="range"),
            *SQUARES.on("mxnet-scratch", y="range", dgamma="range", dx="range", new_running_var="range"),
        ),
        note="""The first channel's y is 1, -1, 1, -1. Computed in float16 throughout, the squared deviation 160,000
        is infinite and y is 0. The second channel must not suffer from it.""",
    ),
)
