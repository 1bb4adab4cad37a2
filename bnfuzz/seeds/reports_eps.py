"""Reports about eps: where it is added, how often, and whether it is the one that was given."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.causes import MXNET, ONE_PASS, VARIANCE_BACK
from bnfuzz.seeds.numbers import normal, rounded
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import column, columns

PAIR = 0.1 * np.array([1.0, -1.0])
"""Two values with mean 0 and variance 0.01."""

SEEDS = (
    Seed(
        name="ncnn-311-eps-outside-root",
        title="Inference with eps a hundred times the variance",
        link="https://github.com/Tencent/ncnn/pull/311",
        spec=batch_norm_spec((2, 1), eps=1e-2, steps=("inference",)),
        x=column([1.0, -1.0]),
        running_var=1e-4,
        note="A proposed kernel had 1/(sqrt(var) + eps): a gain of 50, where 1/sqrt(var + eps) is 9.95.",
    ),
    Seed(
        name="chainer-2149-eps-forgotten",
        title="Inference that left eps out",
        link="https://github.com/chainer/chainer/pull/2149",
        spec=batch_norm_spec((2, 2), eps=1e-2, steps=("inference",)),
        x=[[1.0, 2.0], [-1.0, 0.5]],
        running_mean=[0.0, 1.0],
        running_var=[1e-4, 4.0],
        note="""Without eps the first channel's gain is 100; with it, 9.95. The second channel hardly shows the
        difference.""",
    ),
    Seed(
        name="chainer-4505-eps-learned",
        title="The running variance learned eps, and inference added it again",
        link="https://github.com/chainer/chainer/pull/4505",
        spec=batch_norm_spec((4, 2), eps=0.5, momentum=1.0, steps=("training", "inference")),
        x=[columns([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 0.0, 0.5])] * 2,
        note="""One step of training that keeps only the new statistic, then inference on the same batch. The
        running variance is the batch's, without eps (times 4/3 by the unbiased convention).""",
    ),
    Seed(
        name="keras-contrib-287-eps-learned",
        title="The running variance of a constant channel",
        link="https://github.com/keras-team/keras-contrib/pull/287",
        spec=batch_norm_spec((4, 1), eps=1e-3, momentum=0.01),
        x=column([2.0, 2.0, 2.0, 2.0]),
        running_var=0.0,
        known=VARIANCE_BACK.on(*MXNET, regime="constant", new_running_var="wrong"),
        note="""The square of a deviation that holds eps already was averaged, so that the running variance went to
        eps. It stays 0.""",
    ),
    Seed(
        name="nntrainer-677-eps-in-place",
        title="A running variance of 0, then inference",
        link="https://github.com/nntrainer/nntrainer/pull/677",
        spec=batch_norm_spec((3, 1), eps=1e-3, momentum=1.0, steps=("training", "inference")),
        x=[column([4.0, 4.0, 4.0]), column([4.0, 5.0, 3.0])],
        note="""eps was added to the variance in place before the running one learned it; a first fix would have
        left it out of inference, which then divides by 0. Right: a running variance of 0 and a gain of 1/sqrt(eps)
        = 31.6.""",
    ),
    Seed(
        name="sync-batchnorm-43-larger-of-two",
        title="The larger of variance and eps in place of their sum",
        link="https://github.com/vacancy/Synchronized-BatchNorm-PyTorch/issues/43",
        spec=batch_norm_spec((2, 1), eps=1e-2),
        x=column(PAIR.tolist()),
        note="""Variance and eps are both 0.01: the gain is 1/sqrt(0.02) = 7.07, not 10, and eps has its part in dx
        as well.""",
    ),
    Seed(
        name="opencv-14747-large-eps",
        title="An eps of the size of the variance, inside the root",
        link="https://github.com/opencv/opencv/pull/14747",
        spec=batch_norm_spec((4, 2), eps=0.5),
        x=columns([1.0, -1.0, 1.0, -1.0], [0.25, 0.75, -0.5, 0.0]),
        note="""Two families of frameworks put eps inside or outside the root; networks carried from one to the
        other came out different. Everything here puts it inside: 1/sqrt(1.5) for the first channel.""",
    ),
    Seed(
        name="openvino-8142-eps-outside-asked",
        title="Variance and eps both 0.01, over an image",
        link="https://github.com/openvinotoolkit/openvino/pull/8142",
        spec=batch_norm_spec((1, 2, 2, 2), eps=1e-2),
        x=np.stack([np.outer(PAIR, [1.0, -1.0]), 1.0 + np.outer(PAIR, [1.0, 1.0])])[None],
        note="""An operator asked for eps outside the root, a gain of 9.09, and one device always put it inside,
        7.07, as is meant here.""",
    ),
    Seed(
        name="openvino-1003-eps-ignored",
        title="An eps of 1e-3 that a rewrite turned into 1e-6",
        link="https://github.com/openvinotoolkit/openvino/pull/1003",
        spec=batch_norm_spec((4, 1), eps=1e-3),
        x=column([0.01, -0.01, 0.01, -0.01]),
        note="With variance 1e-4 the gain is 30.2; a rewrite of the graph wrote its own eps, which gives 99.5.",
    ),
    Seed(
        name="tensorflow-37768-eps-raised",
        title="An eps of 1e-7 that was silently raised to 1e-5",
        link="https://github.com/tensorflow/tensorflow/issues/37768",
        spec=batch_norm_spec((4, 1), eps=1e-7),
        x=column([1e-4, -1e-4, 1e-4, -1e-4]),
        note="The variance is 1e-8 and the gain 3015; with 1.001e-5 in place of eps it is a tenth of that.",
    ),
    Seed(
        name="tensorflow-8090-eps-below-minimum",
        title="An eps below a library's minimum of 1e-5",
        link="https://github.com/tensorflow/tensorflow/issues/8090",
        spec=batch_norm_spec((6, 2), eps=2e-6),
        x=rounded(normal(31, (6, 2), 0.0, 1e-3), 2.0**-20),
        note="One library refuses any eps below 1e-5. Where it is accepted, it has to be used as it is.",
    ),
    Seed(
        name="pytorch-1742-eps-below-minimum",
        title="An image with eps 5e-6",
        link="https://github.com/pytorch/pytorch/pull/1742",
        spec=batch_norm_spec((2, 2, 2, 2), eps=5e-6),
        x=rounded(normal(32, (2, 2, 2, 2), 0.5, 2e-3), 2.0**-20),
        known=ONE_PASS.on("flax", regime="offset", y="unstable", dgamma="unstable", dx="unstable"),
        note="The same minimum, met by an error at first; another kernel takes over now, with the eps that was given.",
    ),
    Seed(
        name="onnxruntime-2680-eps-1e-12",
        title="An eps of 1e-12 beside a small variance",
        link="https://github.com/microsoft/onnxruntime/pull/2680",
        spec=batch_norm_spec((4, 2), eps=1e-12),
        x=columns([1e-3, -1e-3, 2e-3, 0.0], [3.0, 4.0, 5.0, 7.0]),
        note="eps was raised by one version of a library and not by another. Unraised, the output has deviation 1.",
    ),
    Seed(
        name="jax-442-square-for-root",
        title="0, 2, 4, 6: divided by the square in place of the root",
        link="https://github.com/jax-ml/jax/issues/442",
        spec=batch_norm_spec((4, 1)),
        x=column([0.0, 2.0, 4.0, 6.0]),
        note="The variance is 5. Divided by 2.236 the output is -1.34 to 1.34; an early version divided by 25.",
    ),
    Seed(
        name="tensorflow-14676-gamma-gradient",
        title="The gradient of gamma at variance 4",
        link="https://github.com/tensorflow/tensorflow/issues/14676",
        spec=batch_norm_spec((4, 1)),
        x=column([2.0, -2.0, 2.0, -2.0]),
        cotangent=column([1.0, 0.0, 0.5, -0.5]),
        note="""A documentation page multiplied by the root where it should divide, which makes dgamma four times as
        large. It is the sum of cotangent times normalised x: 2, but for eps.""",
    ),
    Seed(
        name="pytorch-60582-eps-zero",
        title="Small numbers and eps 0",
        link="https://github.com/pytorch/pytorch/issues/60582",
        spec=batch_norm_spec((1, 2, 6, 6), eps=0.0),
        x=normal(33, (1, 2, 6, 6), 0.0, 1e-3),
        note="""Two engines differed by rounding, beyond a relative tolerance at values near 0. With eps 0 the
        output has deviation 1 exactly. The report's instance norm of one sample is batch norm of that sample.""",
    ),
)
