"""Reports about gradients: terms that are 0, gradients that are 0, and noise."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.causes import ONE_PASS
from bnfuzz.seeds.numbers import normal, rounded, uniform
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import DOUBLE, column, columns

SEEDS = (
    Seed(
        name="mxnet-1053-vanishing-term",
        title="A term of the mean's gradient that is 0",
        link="https://github.com/apache/mxnet/issues/1053",
        spec=batch_norm_spec((4, 2), eps=1e-3),
        x=columns([1.0, 2.0, 4.0, 8.0], [0.5, 0.25, -1.0, 3.0]),
        note="""The path through the variance into the mean sums x - mean, which is 0: with or without it dx is the
        same.""",
    ),
    Seed(
        name="caffe-3878-vanishing-path",
        title="A reader misses the path from the mean into the variance",
        link="https://github.com/BVLC/caffe/issues/3878",
        spec=batch_norm_spec((3, 2, 2)),
        x=rounded(normal(71, (3, 2, 2), 1.0, 2.0), 2.0**-10),
        note="That path is identically 0, and the short and the long formula are equal.",
    ),
    Seed(
        name="darknet-1723-missing-term",
        title="The order of two gradients and a term that is missing",
        link="https://github.com/pjreddie/darknet/issues/1723",
        spec=batch_norm_spec((2, 2, 3, 3), eps=1e-6),
        x=rounded(normal(72, (2, 2, 3, 3), -1.0, 0.5), 2.0**-10),
        note="The missing term is 0, so the code is right.",
    ),
    Seed(
        name="oneflow-6149-two-close-values",
        title="Two close values and the loss sum(y)",
        link="https://github.com/Oneflow-Inc/oneflow/pull/6149",
        spec=batch_norm_spec((2, 1), cotangent="sum"),
        x=column([-1.83965693, -1.82964566]),
        known=ONE_PASS.on("flax", regime="offset", y="unstable"),
        note="""dx is exactly 0. Small numbers, different ones in every library, are noise: 1/sqrt(var + eps) is 170
        here.""",
    ),
    Seed(
        name="odyssey-2882-finite-differences",
        title="A cotangent of ones against finite differences",
        link="https://github.com/HomericIntelligence/Odyssey/pull/2882",
        spec=batch_norm_spec((2, 2, 2, 2)),
        x=np.arange(16.0).reshape(2, 2, 2, 2) / 10,
        cotangent=1.0,
        note="""Finite differences said 0.009 where the exact gradient is 0: their own rounding, divided by a small
        step.""",
    ),
    Seed(
        name="mnemosyne-336-varied-weights",
        title="The same with weights that differ from position to position",
        link="https://github.com/HomericIntelligence/Mnemosyne/pull/336",
        spec=batch_norm_spec((4, 1)),
        x=column([0.1, 0.4, 0.2, 0.7]),
        cotangent=column([-0.3, -0.05, 0.2, 0.45]),
        note="With a varied cotangent the gradient is not 0, and a check of it means something.",
    ),
    Seed(
        name="pytorch-34546-nearly-cancelling",
        title="A cotangent that nearly cancels",
        link="https://github.com/pytorch/pytorch/issues/34546",
        spec=batch_norm_spec((4, 2)),
        x=columns([1.0, 2.0, 3.0, 4.0], [0.3, 0.1, -0.4, 0.9]),
        cotangent=columns([1.0, 1.0, 1.0, 1.0000001], [1.0, 1.0000001, 1.0, 1.0]),
        note="Two devices gave different gradients of 1e-8. The exact ones are as small, and noise covers them.",
    ),
    Seed(
        name="tensorflow-107705-gamma-gradient-zero",
        title="A cotangent for which gamma's gradient cancels",
        link="https://github.com/tensorflow/tensorflow/issues/107705",
        spec=batch_norm_spec((4, 1)),
        x=column([1.0, 3.0, 1.0, 3.0]),
        cotangent=column([0.3, 0.3, -0.7, -0.7]),
        note="""dgamma is a sum that cancels to 0 exactly. Noise of a few roundings remains, and scales with the
        cotangent.""",
    ),
    Seed(
        name="pytorch-2330-beta-gradient",
        title="The gradient of beta is the sum of the cotangent",
        link="https://github.com/pytorch/pytorch/issues/2330",
        spec=batch_norm_spec((2, 2, 2, 3)),
        x=rounded(normal(73, (2, 2, 2, 3)), 2.0**-10),
        cotangent=np.arange(24.0).reshape(2, 2, 2, 3) / 8,
        note="Over the samples and positions of the channel, not a mean.",
    ),
    Seed(
        name="oneflow-8256-two-close-values",
        title="Two close values and a varied cotangent",
        link="https://github.com/Oneflow-Inc/oneflow/issues/8256",
        spec=batch_norm_spec((2, 1)),
        x=column([0.6044, 0.5916]),
        cotangent=column([0.1021, 0.352]),
        known=ONE_PASS.on("flax", regime="offset", y="unstable", dgamma="unstable"),
        note="""Libraries differed by 0.01 in a gradient of 3.43. The two values are 93 times as far from 0 as from
        each other, and the cotangent's part that survives is small: that much noise has to be expected.""",
    ),
    Seed(
        name="chainer-8145-double-differences",
        title="A gradient checked by finite differences, eps 2e-5",
        link="https://github.com/chainer/chainer/issues/8145",
        spec=batch_norm_spec((3, 4), eps=2e-5),
        x=rounded(uniform(74, (3, 4), -1.0, 1.0), 2.0**-10),
        note="-0.091324 against -0.091294: the difference quotient is the inaccurate one.",
    ),
    Seed(
        name="chainer-6913-pairs",
        title="Pairs of float64 values, eps 2e-5",
        link="https://github.com/chainer/chainer/issues/6913",
        spec=batch_norm_spec((2, 6), eps=2e-5, **DOUBLE),
        x=uniform(75, (2, 6), -1.0, 1.0),
        note="""Two values are normalised to nearly 1 and -1 whatever they are, with a kink where they meet: a
        difference quotient that straddles it is off by most of its size. The analytic gradient is right.""",
    ),
    Seed(
        name="mxnet-9216-root-or-division",
        title="Multiplication with 1/root against division by the root",
        link="https://github.com/apache/mxnet/issues/9216",
        spec=batch_norm_spec((3, 2, 2, 2), eps=1e-3),
        x=rounded(normal(76, (3, 2, 2, 2), 0.0, 1.0), 2.0**-12),
        note="A difference of 2e-7 between two ways to write the same thing is rounding.",
    ),
    Seed(
        name="miopen-2024-gamma-gradient",
        title="The gradient of gamma over an image batch",
        link="https://github.com/ROCm/MIOpen/issues/2024",
        spec=batch_norm_spec((3, 2, 7, 7)),
        x=rounded(normal(77, (3, 2, 7, 7), 0.5, 1.0), 2.0**-8),
        cotangent=rounded(normal(78, (3, 2, 7, 7)), 2.0**-8),
        note="dgamma was off by 0.84 for images of odd sizes. The report had (16, 64, 147, 147) and the like.",
    ),
    Seed(
        name="mxnet-18499-sum-of-squares",
        title="Twelve numbers and a loss of squares",
        link="https://github.com/apache/mxnet/issues/18499",
        spec=batch_norm_spec((1, 3, 2, 2), cotangent="mean_square"),
        x=np.arange(12.0).reshape(1, 3, 2, 2),
        note="""The reported trouble was adding up gradients over calls, which is out of reach here; the single call
        is kept. dx is of the order of eps, dbeta exactly 0, and dgamma 2/3 but for eps (the report's loss was a
        sum: 8).""",
    ),
)
