"""Reports about the variance itself: one pass over the data, a mean that is rounded."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.causes import ONE_PASS, ONE_PASS_TIE
from bnfuzz.seeds.numbers import normal, rounded
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import BRAIN, column, columns

SEEDS = (
    Seed(
        name="tt-metal-45968-brain-offset",
        title="bfloat16 channels with means of 5 and -5 and a small spread",
        link="https://github.com/tenstorrent/tt-metal/issues/45968",
        spec=batch_norm_spec((2, 2, 6, 6), **BRAIN),
        x=np.array([5.0, -5.0])[:, None, None] + normal(11, (2, 2, 6, 6), 0.0, 0.1),
        note="""An accelerator's kernel gave NaN or output that was not normalised: it formed mean(x*x) - mean*mean
        too narrowly. Squares of 25 leave no room for a variance of 0.01 in bfloat16. Computed in float32 the output
        has deviation 1. The report had (2, 64, 32, 32); two channels of 72 values do as well.""",
    ),
    Seed(
        name="flax-1491-one-pass",
        title="Consecutive numbers from 10000 on",
        link="https://github.com/google/flax/issues/1491",
        spec=batch_norm_spec((4, 1)),
        x=column([10000.0, 10001.0, 10002.0, 10003.0]),
        known=ONE_PASS_TIE.on(
            "flax", regime="offset", y="unstable", dgamma="unstable", dx="unstable", new_running_var="unstable"
        ),
        note="""Nearly constant large images gave NaN, since a one-pass variance came out below -eps. The exact
        output is -1.34, -0.45, 0.45, 1.34. Later releases clamp the variance at 0, which makes the output 350 times
        too large without a word.""",
    ),
    Seed(
        name="tensorflow-3290-negative-variance",
        title="Activations with a large mean: a variance below zero",
        link="https://github.com/tensorflow/tensorflow/issues/3290",
        spec=batch_norm_spec((16, 2)),
        x=rounded(normal(12, (16, 2), 300.0, 1 / 64), 2.0**-12),
        known=ONE_PASS.on(
            "flax", regime="offset", y="unstable", dgamma="unstable", dx="unstable", new_running_var="unstable"
        ),
        note="""The moments of activations with a large mean had a variance of -0.002. It is a mean of squares and
        never negative; here it is near 0.00024 and the output has deviation 1 but for eps.""",
    ),
    Seed(
        name="caffe-3299-running-variance",
        title="The running variance of four values around 10",
        link="https://github.com/BVLC/caffe/pull/3299",
        spec=batch_norm_spec((4, 1), momentum=1.0),
        x=column([9.0, 11.0, 9.0, 11.0]),
        note="""A change scaled the running mean of squares by m/(m - 1) but not the squared mean that is subtracted
        from it, which adds mean*mean/(m - 1) = 33 to a variance of 1. Right is 1, or 4/3 where the convention is
        the unbiased one.""",
    ),
    Seed(
        name="onnxruntime-28463-row-of-40000",
        title="Rows of four consecutive numbers from 40000 and from 80000 on",
        link="https://github.com/microsoft/onnxruntime/issues/28463",
        spec=batch_norm_spec((4, 2)),
        x=columns(range(40000, 40004), range(80000, 80004)),
        known=ONE_PASS.on(
            "flax", regime="offset", y="unstable", dgamma="unstable", dx="unstable", new_running_var="unstable"
        ),
        note="""Layer normalization of such a row gave NaN. A row there is a channel here, x transposed: the same
        mathematics. The exact output is -1.34, -0.447, 0.447, 1.34 for both; squares of 1.6e9 and more hide a
        variance of 1.25.""",
    ),
    Seed(
        name="pytorch-40302-many-values-near-100",
        title="Many values near 100 with a spread of 0.01",
        link="https://github.com/pytorch/pytorch/issues/40302",
        spec=batch_norm_spec((512, 1)),
        x=rounded(normal(13, (512, 1), 100.0, 0.01), 2.0**-15),
        known=ONE_PASS.on("flax", regime="offset", y="unstable", dx="unstable", new_running_var="unstable"),
        note="""Layer and group norm of rows of 32768 such values took their variance, 1e-4, for 0. A row is a
        channel here, and 512 values show it: mean(x*x) is 10000, where float32 numbers are 1e-3 apart.""",
    ),
    Seed(
        name="keras-18795-large-mean",
        title="A channel whose mean is 30000 times its deviation",
        link="https://github.com/keras-team/keras/pull/18795",
        spec=batch_norm_spec((6, 3, 3, 2), -1),
        x=rounded(normal(14, (6, 3, 3, 2), 0.0, 0.125) + np.array([4096.0, -0.5]), 2.0**-10),
        known=ONE_PASS.on(
            "flax", regime="offset", y="unstable", dgamma="unstable", dx="unstable", new_running_var="unstable"
        ),
        note="""Moments as mean(x*x) - mean*mean were NaN now and then once a root was taken of them. The second
        channel, with a mean near 0, is right whatever the formula.""",
    ),
    Seed(
        name="caffe-3963-all-hundreds",
        title="Nine values of 100",
        link="https://github.com/BVLC/caffe/issues/3963",
        spec=batch_norm_spec((1, 1, 3, 3)),
        x=100.0,
        known=ONE_PASS.on("flax", regime="constant", dx="unstable", new_running_var="unstable"),
        note="""A constant channel: y is exactly 0. A mean formed as a sum of 100*(1/9) came out as 100.000015, and
        y as -0.0048. How large such a miss may be depends on the order of the sum; -0.0048 is one unit of float32
        at 100 times 1/sqrt(eps).""",
    ),
    Seed(
        name="miopen-248-constant-column",
        title="Per-activation normalization with one constant column, no running statistics",
        link="https://github.com/ROCm/MIOpen/issues/248",
        spec=batch_norm_spec((16, 4), has_running=False),
        x=np.where(np.arange(4) == 2, 0.7, normal(15, (16, 4))),
        known=ONE_PASS.on("flax", regime="constant", dx="unstable"),
        note="""NaN appeared in the column without variance. Its exact output is 0, and the other columns do not
        depend on it.""",
    ),
    Seed(
        name="cltorch-81-small-image",
        title="One channel of a small image after a 5 by 5 convolution, eps 1e-3",
        link="https://github.com/hughperkins/cltorch/issues/81",
        spec=batch_norm_spec((1, 1, 12, 12), eps=1e-3),
        x=rounded(normal(16, (1, 1, 12, 12), 0.2, 0.3), 2.0**-12),
        note="NaN from ordinary finite data, cause never shown. One channel of 144 values, all outputs finite.",
    ),
    Seed(
        name="pytorch-discuss-168881-ddof",
        title="A hand-made variance with ddof 1 against the layer",
        link="https://discuss.pytorch.org/t/different-result-between-tensor-var-vs-directly-calculating-variance/168881",
        spec=batch_norm_spec((5, 2)),
        x=columns([1.0, 2.0, 3.0, 4.0, 5.0], [0.5, -0.5, 0.25, 0.0, 1.25]),
        note="""tensor.var divides by n - 1 unless told otherwise; normalization divides by n. With five values the
        output would be 11 percent too small. The running variance is another matter: there some libraries do divide
        by n - 1.""",
    ),
    Seed(
        name="pytorch-discuss-51877-eps-after-division",
        title="A hand-made layer with ddof 1 and eps added after the division",
        link="https://discuss.pytorch.org/t/batchnorm1d-output-different-with-my-implementation/51877",
        spec=batch_norm_spec((32, 2, 1)),
        x=rounded(normal(17, (32, 2, 1)), 2.0**-12),
        note="""The layer's output was 1.6 percent larger than the hand-made one: sqrt(32/31) from the divisor n -
        1. The layer is right.""",
    ),
)
