"""Reports about the running statistics: which divisor, which weight, from which start."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.numbers import normal, rounded, uniform
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import column, columns

TWELVE = np.arange(12.0)

SEEDS = (
    Seed(
        name="fastnn-11-two-divisors",
        title="1, 2, 3, 4 on two devices with two divisors",
        link="https://github.com/CanReader/FastNN/issues/11",
        spec=batch_norm_spec((4, 1, 1, 1)),
        x=np.array([1.0, 2.0, 3.0, 4.0]).reshape(4, 1, 1, 1),
        note="""The new running variance is 1.025 by the biased convention and 1.0667 by the unbiased one. One
        library had both, by device; each backend is held to the one that it documents.""",
    ),
    Seed(
        name="trident-125-small-spatial",
        title="The running variance over four positions",
        link="https://github.com/kakaobrain/trident/pull/125",
        spec=batch_norm_spec((1, 2, 4)),
        x=[[[1.0, 3.0, 2.0, 6.0], [-1.0, 0.5, 0.0, 2.5]]],
        note="""An instance norm forgot the factor n/(n - 1), which large images hide. One sample's instance norm is
        its batch norm.""",
    ),
    Seed(
        name="paddle-68159-dialect",
        title="Twelve numbers in two channels, momentum 0.9 of the old value",
        link="https://github.com/PaddlePaddle/Paddle/pull/68159",
        spec=batch_norm_spec((2, 1, 2, 3)),
        x=TWELVE.reshape(2, 1, 2, 3),
        note="2.0917 by the biased convention, 2.2 by the unbiased one: two dialects, not an error.",
    ),
    Seed(
        name="keras-10443-unbiased",
        title="1, 2, 3, 4 with nothing kept of the old statistics",
        link="https://github.com/keras-team/keras/issues/10443",
        spec=batch_norm_spec((4, 1), momentum=1.0),
        x=column([1.0, 2.0, 3.0, 4.0]),
        note="""The running variance becomes 1.25 or 1.6667 by the convention. The reporter expected the first and
        saw the second.""",
    ),
    Seed(
        name="keras-8982-two-values",
        title="Two values per batch: the conventions differ by a factor of two",
        link="https://github.com/keras-team/keras/issues/8982",
        spec=batch_norm_spec((2, 2), momentum=0.5, steps=("training", "training")),
        x=[columns([0.0, 2.0], [5.0, 6.0]), columns([1.0, -2.0], [5.5, 4.0])],
        note="The biased average of variances over pairs is half of the population's variance, step after step.",
    ),
    Seed(
        name="tensorflow-55545-fused-or-not",
        title="Few elements per channel, channels last",
        link="https://github.com/tensorflow/tensorflow/issues/55545",
        spec=batch_norm_spec((1, 2, 2, 3), -1, momentum=0.25),
        x=TWELVE.reshape(1, 2, 2, 3) ** 2 / 8,
        note="""One layer used either divisor by an option that was meant to change speed only. One convention must
        hold.""",
    ),
    Seed(
        name="pytorch-60528-ramps",
        title="Integer ramps: output with one divisor, running variance with the other",
        link="https://github.com/pytorch/pytorch/issues/60528",
        spec=batch_norm_spec((4, 3, 4)),
        x=np.arange(48.0).reshape(4, 3, 4) % 7,
        note="The output divides by n, the running variance there by n - 1; both documented, and both to be kept.",
    ),
    Seed(
        name="pytorch-77427-documented-divisor",
        title="Momentum 1 and an eps of 1e-18",
        link="https://github.com/pytorch/pytorch/issues/77427",
        spec=batch_norm_spec((4, 3, 2, 2), eps=1e-18, momentum=1.0),
        x=rounded(normal(41, (4, 3, 2, 2)), 2.0**-12),
        note="""A page said that the running variance was biased, and it was not. With momentum 1 it is the batch's
        own at once.""",
    ),
    Seed(
        name="pytorch-19916-train-then-evaluate",
        title="Training on three values, then inference on the same",
        link="https://github.com/pytorch/pytorch/issues/19916",
        spec=batch_norm_spec((3, 1), momentum=1.0, steps=("training", "inference")),
        x=[column([1.0, 2.0, 4.0])] * 2,
        note="With the unbiased convention the two outputs differ by sqrt(3/2); with the biased one they are equal.",
    ),
    Seed(
        name="pytorch-1381-one-value",
        title="One value per channel in training",
        link="https://github.com/pytorch/pytorch/issues/1381",
        spec=batch_norm_spec((1, 3)),
        x=[[0.5, -2.0, 7.0]],
        note="""n/(n - 1) was 1/0 and the running variance NaN. One value has the output beta; a refusal is right as
        well.""",
    ),
    Seed(
        name="tensorflow-34062-one-value-channels-last",
        title="One pixel, channels last",
        link="https://github.com/tensorflow/tensorflow/issues/34062",
        spec=batch_norm_spec((1, 1, 1, 4), -1, momentum=0.01),
        x=[[[[1.0, 2.0, 3.0, 4.0]]]],
        note="The running variance became NaN on one device; 0.99 is what remains of it.",
    ),
    Seed(
        name="mxnet-21111-nothing-kept",
        title="Five positions of one sample, nothing kept of the old statistics",
        link="https://github.com/apache/mxnet/issues/21111",
        spec=batch_norm_spec((1, 6, 5), momentum=1.0),
        x=rounded(uniform(42, (1, 6, 5)), 2.0**-12),
        note="""Two libraries behind one layer had two divisors, and one gave NaN for single values. On the CPU it
        is the biased one.""",
    ),
    Seed(
        name="makemore-22-batch-of-one",
        title="A batch of one in a lesson's layer",
        link="https://github.com/karpathy/makemore/issues/22",
        spec=batch_norm_spec((1, 2), momentum=1e-3),
        x=[[3.0, -1.5]],
        beta=[0.25, -0.75],
        note="A variance with ddof 1 of a single row is NaN. The output of a single row is beta.",
    ),
    Seed(
        name="sparseconvnet-190-batch-of-one-then-test",
        title="One step on a single value, then inference",
        link="https://github.com/facebookresearch/SparseConvNet/issues/190",
        spec=batch_norm_spec((1, 2), steps=("training", "inference")),
        x=[[[2.0, 3.0]], [[1.0, -1.0]]],
        note="The running variance was NaN after one step on one value, and so was every later output.",
    ),
    Seed(
        name="mxnet-18751-single-rows",
        title="Three steps on single rows",
        link="https://github.com/apache/mxnet/issues/18751",
        spec=batch_norm_spec((1, 3), steps=("training", "training", "training")),
        x=[[[0.5, 1.0, -2.0]], [[1.5, 1.0, 0.0]], [[-0.5, 3.0, 4.0]]],
        note="""Mean and variance seemed to be swapped between two devices; in truth one of them learned a variance
        of 0 and the other kept its own. The rule for a single value decides, and the mean is an ordinary average.""",
    ),
    Seed(
        name="flux-onnx-57-complement",
        title="A momentum of 0.1 that was copied where 0.9 was meant",
        link="https://github.com/FluxML/ONNX.jl/pull/57",
        spec=batch_norm_spec((4, 2), momentum=0.1),
        x=columns([1.0, 2.0, 3.0, 6.0], [10.0, 12.0, 14.0, 8.0]),
        running_mean=[5.0, -5.0],
        running_var=[2.0, 3.0],
        note="""Some libraries weigh the new statistic, others the old one; the number has to be turned into its
        complement.""",
    ),
    Seed(
        name="onnxscript-1289-complement",
        title="The exported momentum was not turned into its complement",
        link="https://github.com/microsoft/onnxscript/pull/1289",
        spec=batch_norm_spec((2, 2, 3), momentum=0.125),
        x=TWELVE.reshape(2, 2, 3),
        running_mean=[1.0, 2.0],
        running_var=[0.5, 4.0],
        note="The new running mean is 7/8 of the old and 1/8 of the new; swapped weights would be seen at once.",
    ),
    Seed(
        name="pytorch-15298-momentum-zero",
        title="A momentum of 0 changes nothing",
        link="https://github.com/pytorch/pytorch/issues/15298",
        spec=batch_norm_spec((2, 1), momentum=0.0),
        x=column([0.0, 2.0]),
        note="The weight of the new statistic is 0, so mean 0 and variance 1 stay. The reporter expected 1 and 2.",
    ),
    Seed(
        name="tensorflow-18334-negative-running-variance",
        title="Thirteen features, little kept of the old statistics, then inference",
        link="https://github.com/tensorflow/tensorflow/issues/18334",
        spec=batch_norm_spec((5, 13), momentum=0.99, steps=("training", "training", "inference")),
        x=rounded(uniform(43, (3, 5, 13)), 2.0**-10),
        note="Running variances came out negative and inference NaN. An average of variances is never negative.",
    ),
    Seed(
        name="tensorflow-14353-many-updates",
        title="One layer used at several time steps",
        link="https://github.com/tensorflow/tensorflow/issues/14353",
        spec=batch_norm_spec((4, 2), momentum=0.4, steps=("training",) * 5),
        x=rounded(normal(44, (5, 4, 2)), 2.0**-10),
        note="""Updates that all started from the same stale value overshot below 0. Each has to start from the one
        before.""",
    ),
    Seed(
        name="keras-9003-slow-average",
        title="Eight updates at momentum 0.99 from a start of 9",
        link="https://github.com/keras-team/keras/pull/9003",
        spec=batch_norm_spec((4, 1), momentum=0.01, steps=("training",) * 8),
        x=[column([2.0, -2.0, 2.0, -2.0])] * 8,
        running_var=9.0,
        note="A plain average is still far from 4 after eight steps: no error. A debiased one would be there at once.",
    ),
    Seed(
        name="equinox-659-first-batch",
        title="The first batch overwrites the statistics, or is averaged in",
        link="https://github.com/patrick-kidger/equinox/issues/659",
        spec=batch_norm_spec((3, 2), momentum=0.01, steps=("training", "training")),
        x=[columns([1.0, 2.0, 6.0], [0.0, 1.0, 2.0]), columns([3.0, 3.5, 4.0], [7.0, 1.0, -2.0])],
        note="Here the first batch is averaged in like every other, from the statistics that are given.",
    ),
    Seed(
        name="mxnet-18673-nothing-learned",
        title="Neither gamma nor beta: the running statistics still learn",
        link="https://github.com/apache/mxnet/issues/18673",
        spec=batch_norm_spec((4, 2), has_gamma=False, has_beta=False),
        x=columns([1.0, 2.0, 3.0, 4.0], [-1.0, 1.0, 4.0, 0.0]),
        note="With nothing to learn, no backward pass reached the layer, and its statistics were never written.",
    ),
    Seed(
        name="yolo-master-262-three-steps",
        title="Three steps, compared by their statistics and not by output alone",
        link="https://github.com/Tencent/YOLO-Master/issues/262",
        spec=batch_norm_spec((2, 3, 2, 2), momentum=0.03, eps=1e-3, steps=("training",) * 3),
        x=rounded(normal(45, (3, 2, 3, 2, 2)), 2.0**-10),
        note="""Output and gradients agreed for ever while the statistics were updated twice a step. They have to be
        looked at.""",
    ),
)
