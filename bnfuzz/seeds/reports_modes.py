"""Reports about training and inference: which statistics are used, and which formula the gradient has."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.numbers import normal, rounded, uniform
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import column

ROWS = np.array([[1.0, 3.0, 3.0, 7.0], [1.0, 4.0, 3.0, 4.0]])

SEEDS = (
    Seed(
        name="oneflow-3929-training",
        title="Two rows of four channels in training",
        link="https://github.com/Oneflow-Inc/oneflow/issues/3929",
        spec=batch_norm_spec((2, 4)),
        x=ROWS,
        note="""All zeros came out where 0, -1, 0, 1 and 0, 1, 0, -1 were expected: the layer was in inference, its
        statistics never set. In training the expected values are right; the two constant channels give 0.""",
    ),
    Seed(
        name="oneflow-3929-inference",
        title="The same two rows in inference",
        link="https://github.com/Oneflow-Inc/oneflow/issues/3929",
        spec=batch_norm_spec((2, 4), steps=("inference",)),
        x=ROWS,
        note="With mean 0 and variance 1 the output is x itself, but for eps: another right answer to the same call.",
    ),
    Seed(
        name="haiku-361-variance-still-zero",
        title="Inference before any training, the running variance still 0",
        link="https://github.com/google-deepmind/dm-haiku/issues/361",
        spec=batch_norm_spec((3, 2), steps=("inference",)),
        x=rounded(normal(51, (3, 2)), 2.0**-10),
        running_var=0.0,
        note="The gain is 1/sqrt(eps) = 316, forwards and backwards: huge, but what the given statistics say.",
    ),
    Seed(
        name="equinox-1010-initial-statistics",
        title="Inference with the statistics that a layer starts with",
        link="https://github.com/patrick-kidger/equinox/issues/1010",
        spec=batch_norm_spec((4, 2), steps=("inference",)),
        x=rounded(normal(52, (4, 2)), 2.0**-10),
        note="""A correction for the start, 1 - m**k, was 0 after 0 steps, and the output 0/0. Mean 0 and variance 1
        leave x.""",
    ),
    Seed(
        name="tch-rs-628-train-then-evaluate",
        title="Inference uses what training learned",
        link="https://github.com/LaurentMazare/tch-rs/issues/628",
        spec=batch_norm_spec((4, 2), steps=("training", "training", "inference")),
        x=rounded(normal(53, (3, 4, 2), 3.0, 2.0), 2.0**-10),
        note="""The statistics printed after training were still 0 and 1. They must have learned, and inference must
        use them.""",
    ),
    Seed(
        name="flux-1429-inference-with-gradient",
        title="A gradient in inference leaves the statistics alone",
        link="https://github.com/FluxML/Flux.jl/issues/1429",
        spec=batch_norm_spec((3, 2, 2), steps=("inference",)),
        x=rounded(normal(54, (3, 2, 2)), 2.0**-10),
        running_mean=[0.5, -0.25],
        running_var=[2.0, 0.75],
        note="""On one device the running statistics changed in test mode once a gradient was asked for. They are
        constants there.""",
    ),
    Seed(
        name="keras-core-339-variance-learns",
        title="Both running statistics learn in one step",
        link="https://github.com/keras-team/keras-core/pull/339",
        spec=batch_norm_spec((4, 3), momentum=0.01, eps=1e-3),
        x=rounded(normal(55, (4, 3), 2.0, 3.0), 2.0**-10),
        note="The moving variance was never written, while the moving mean was: both learn in every step of training.",
    ),
    Seed(
        name="singa-554-update-lost",
        title="A step of training on an image batch, statistics from elsewhere",
        link="https://github.com/apache/singa/pull/554",
        spec=batch_norm_spec((2, 2, 2, 2)),
        x=rounded(normal(56, (2, 2, 2, 2), 1.0, 2.0), 2.0**-10),
        running_mean=[4.0, -4.0],
        running_var=[0.25, 9.0],
        note="The update was written to a temporary and lost.",
    ),
    Seed(
        name="tvm-18609-batch-axis-missing",
        title="Samples of very different level",
        link="https://github.com/apache/tvm/pull/18609",
        spec=batch_norm_spec((3, 2, 2, 2), has_running=False),
        x=rounded(normal(57, (3, 2, 2, 2)), 2.0**-10) + np.array([0.0, 10.0, -5.0])[:, None, None, None],
        note="""Without running statistics the batch axis was left out of the reduction, which makes it an instance
        norm.""",
    ),
    Seed(
        name="onnxruntime-29790-momentum-and-output",
        title="The output in training does not depend on momentum",
        link="https://github.com/microsoft/onnxruntime/issues/29790",
        spec=batch_norm_spec((2, 4, 3), momentum=0.5),
        x=rounded(normal(58, (2, 4, 3)), 2.0**-10),
        running_mean=[1.0, -1.0, 2.0, 0.0],
        running_var=[4.0, 1.0, 0.5, 2.0],
        note="The output was said to change with momentum. In training it is made of the batch's own statistics alone.",
    ),
    Seed(
        name="pytorch-53887-instance-inference",
        title="Inference with tracked statistics, four positions",
        link="https://github.com/pytorch/pytorch/issues/53887",
        spec=batch_norm_spec((2, 2, 1, 4), steps=("inference",)),
        x=np.arange(16.0).reshape(2, 2, 1, 4),
        running_mean=[3.0, 9.0],
        running_var=[2.0, 0.5],
        note="""An instance norm that tracks statistics uses them in inference, like a batch norm; an export
        normalised each sample in place of that.""",
    ),
    Seed(
        name="mxnet-15644-predict-mode",
        title="Two rows outside of a recording",
        link="https://github.com/apache/mxnet/issues/15644",
        spec=batch_norm_spec((2, 2), steps=("inference",)),
        x=[[1.5, 3.0], [-2.1, 2.1]],
        note="""The layer seemed to do nothing: outside of a recording it is in inference, and with mean 0 and
        variance 1 it is x.""",
    ),
    Seed(
        name="mxnet-17863-one-row-in-training",
        title="One row of many channels in training",
        link="https://github.com/apache/mxnet/issues/17863",
        spec=batch_norm_spec((1, 100), eps=2e-5, momentum=1.0),
        x=rounded(uniform(59, (1, 100)), 2.0**-10),
        note="All zeros, which looked broken. A single value per channel is its own mean, so 0 is right.",
    ),
    Seed(
        name="caffe-4885-scale-factor",
        title="Inference with stored statistics",
        link="https://github.com/BVLC/caffe/issues/4885",
        spec=batch_norm_spec((2, 3), steps=("inference",)),
        x=[[1.0, 2.0, 3.0], [-1.0, 0.0, 6.0]],
        running_mean=[0.5, 1.5, 4.0],
        running_var=[1.5, 0.25, 8.0],
        note="""One format stores sums, to be divided by a third number before use. What arrives here is divided
        already; a factor in the wrong place would show in mean and variance at once.""",
    ),
    Seed(
        name="pytorch-xla-913-inference-gradient",
        title="The gradient in inference, loss sum(y)",
        link="https://github.com/pytorch/xla/issues/913",
        spec=batch_norm_spec((4, 5, 3), steps=("inference",), cotangent="sum"),
        x=rounded(normal(60, (4, 5, 3)), 2.0**-10),
        gamma=[1.0, 2.0, 0.5, -1.0, 1.5],
        running_var=[1.0, 0.5, 2.0, 4.0, 0.25],
        note="dx is gamma/sqrt(var + eps) everywhere. The training formula gives 0 for this loss.",
    ),
    Seed(
        name="mxnet-18209-inference-backward",
        title="The gradient in inference with a varied cotangent",
        link="https://github.com/apache/mxnet/issues/18209",
        spec=batch_norm_spec((16, 6), steps=("inference",)),
        x=rounded(normal(61, (16, 6)), 2.0**-10),
        cotangent=rounded(normal(62, (16, 6)), 2.0**-8),
        running_mean=[0.5, -0.5, 0.0, 1.0, 2.0, -1.0],
        running_var=[0.5, 1.5, 1.0, 2.0, 4.0, 0.125],
        note="One device used the training formula backwards though it had been told not to.",
    ),
    Seed(
        name="mxnet-1630-global-statistics",
        title="Given statistics are constants in the gradient",
        link="https://github.com/apache/mxnet/pull/1630",
        spec=batch_norm_spec((4, 1), steps=("inference",), eps=1e-3),
        x=column([1.0, 2.0, 3.0, 5.0]),
        cotangent=column([1.0, 0.0, 0.0, 0.0]),
        running_mean=2.75,
        running_var=2.1875,
        note="""Mean and variance happen to be the batch's own, so that the output tells nothing: only the gradient
        does. It is 0 where the cotangent is; extra terms from the statistics would fill it.""",
    ),
    Seed(
        name="tvm-3216-inference-small-variances",
        title="Inference with some variances near 0",
        link="https://github.com/apache/tvm/issues/3216",
        spec=batch_norm_spec((5, 8), steps=("inference",)),
        x=rounded(normal(63, (5, 8)), 2.0**-12),
        running_mean=rounded(normal(64, (8,)), 2.0**-12),
        running_var=[1e-6, 0.7, 1.3, 2e-4, 0.05, 3.1, 0.9, 1e-3],
        note="""A rewrite into x*scale + shift failed a relative tolerance of 1e-7 in a few places. Where x is near
        the mean that form cancels; the bound knows the folded form and admits it.""",
    ),
    Seed(
        name="mxnet-4997-many-rows",
        title="Inference on more than 1024 rows",
        link="https://github.com/apache/mxnet/issues/4997",
        spec=batch_norm_spec((1030, 1), steps=("inference",)),
        x=rounded(normal(65, (1030, 1)), 2.0**-6),
        running_mean=0.25,
        running_var=1.5,
        note="A kernel's limit on the batch size made it fail.",
    ),
)
