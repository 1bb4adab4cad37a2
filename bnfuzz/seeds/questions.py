"""The two questions that this project began with, several cases each: why do these two gradients differ?"""

from __future__ import annotations

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.numbers import normal, rounded, uniform
from bnfuzz.seeds.seed import Seed

MXNET_LINK = "https://github.com/apache/mxnet/issues/12369"
MXNET_X = uniform(1, (2, 16, 4, 4), 1.0, 2.0)
GAMMA_LINK = "https://github.com/apache/mxnet/issues/12899"
JAX_FULL = rounded(normal(2, (20, 30, 40, 5)), 1 / 16)
JAX_SMALL = normal(3, (4, 6, 5, 5))

SEEDS = (
    Seed(
        name="mxnet-scratch-default-eps",
        title="From scratch against mx.nd.BatchNorm, eps left at its default",
        link=MXNET_LINK,
        spec=batch_norm_spec((2, 16, 4, 4), eps=None, momentum=None),
        x=MXNET_X,
        cotangent=1.0,
        running_var=0.0,
        reference="mxnet",
        note="""Somebody's batch norm agreed with mx.nd.BatchNorm going forward but seemed to have quite another
        gradient. The cotangent is constant in each channel, so the exact dx is 0: both printed rounding noise,
        whose ratio means nothing. The small difference going forward is real: the operator's own default eps is
        1e-3, not 1e-5. The exact outputs in this file follow that default.""",
    ),
    Seed(
        name="mxnet-scratch-eps-1e-3",
        title="From scratch against mx.nd.BatchNorm, eps 1e-3 in both",
        link=MXNET_LINK,
        spec=batch_norm_spec((2, 16, 4, 4), eps=1e-3),
        x=MXNET_X,
        cotangent=1.0,
        running_var=0.0,
        note="""The same data with the operator's default said aloud: every implementation agrees, and dx is still
        exactly 0.""",
    ),
    Seed(
        name="mxnet-scratch-eps-1e-5",
        title="From scratch against mx.nd.BatchNorm, eps 1e-5 in both",
        link=MXNET_LINK,
        spec=batch_norm_spec((2, 16, 4, 4), eps=1e-5),
        x=MXNET_X,
        cotangent=1.0,
        running_var=0.0,
        note="""The same data with the eps that the hand-written version used. dx is exactly 0 for a cotangent of
        ones; what is printed instead is noise within the bound.""",
    ),
    Seed(
        name="mxnet-scratch-sum-loss",
        title="The same question asked with a loss: sum(y)",
        link=MXNET_LINK,
        spec=batch_norm_spec((2, 16, 4, 4), eps=1e-5, cotangent="sum"),
        x=MXNET_X,
        note="""A loss sum(y) is a cotangent of ones: dx is exactly 0, dbeta is the number of values of a channel,
        dgamma is 0 as well.""",
    ),
    Seed(
        name="mxnet-scratch-varied-cotangent",
        title="From scratch against mx.nd.BatchNorm, with a cotangent that tells them apart",
        link=MXNET_LINK,
        spec=batch_norm_spec((2, 16, 8, 8), eps=1e-5),
        x=normal(4, (2, 16, 8, 8), 0.3, 2.0),
        cotangent=normal(5, (2, 16, 8, 8)),
        note="""How the comparison should have been made: equal eps, normal data with mean 0.3 and deviation 2, and
        a random cotangent, so that dx is far from 0. Both implementations agree with the exact gradient within the
        bound. The reporter's own second attempt had 32 by 32 positions; 8 by 8 show the same.""",
    ),
    Seed(
        name="mxnet-gamma-gradient-zero",
        title="The next trap: gamma's gradient is 0 unless fix_gamma is turned off",
        link=GAMMA_LINK,
        spec=batch_norm_spec((2, 1), eps=None, momentum=None),
        x=[[0.18527887], [-1.23678724]],
        cotangent=[[-1.57768], [0.55019]],
        running_var=0.0,
        reference="mxnet",
        note="""Two values, a squared loss, and a gamma gradient of exactly 0 where a hand calculation gives about
        -2.1. mx.nd.BatchNorm ignores gamma unless fix_gamma=False is given, and then its gradient is 0 by
        definition. It is a documented convention, so the backend that is called without flags is right to give 0,
        and the one called with fix_gamma=False is right to give the other value.""",
    ),
    Seed(
        name="jax-scratch-shift-small",
        title="From scratch in JAX: two versions give unlike gradients of the shift, small data",
        spec=batch_norm_spec((4, 6, 5, 5), -1, cotangent="mean_square", momentum=0.9),
        x=JAX_SMALL,
        note="""Asked in a public discussion about JAX. One version is written for a single example and shares its
        statistics under vmap, the other reduces all axes but the last. With the loss mean(y*y) and a shift of 0 the
        gradient of the shift is 2 mean(y) = 0 exactly: values of 1e-9 that are not even similar are noise on both
        sides, and nothing is wrong. The gradient of the scale is 2/5 var/(var + eps) for five features, and both
        agree with it. The loss gives x almost no gradient either. (momentum 0.1 weighed the old statistic there:
        0.9 new.)""",
    ),
    Seed(
        name="jax-scratch-shift-full",
        title="From scratch in JAX: two versions give unlike gradients of the shift, data of the size asked about",
        spec=batch_norm_spec((20, 30, 40, 5), -1, cotangent="mean_square", momentum=0.9),
        x=JAX_FULL,
        note="""The full size, 24,000 values per feature, drawn nearly normal and rounded to sixteenths to keep the
        file small. The gradient of the shift is exactly 0, that of the scale 0.4 var/(var + 1e-5). Exact outputs
        are left out of the file for their size.""",
    ),
    Seed(
        name="jax-scratch-shift-not-zero",
        title="The same loss with a shift that is not 0",
        spec=batch_norm_spec((4, 6, 5, 5), -1, cotangent="mean_square", momentum=0.9),
        x=JAX_SMALL,
        gamma=[1.0, 2.0, -1.0, 0.5, 1.5],
        beta=[1.0, -1.0, 0.5, 2.0, 0.25],
        note="""How the two versions can be told apart: with a shift b the gradient of the shift under mean(y*y) is
        2 b/5, so an error would now show in its digits.""",
    ),
    Seed(
        name="jax-scratch-explicit-cotangent",
        title="The same data with a cotangent that leaves no gradient at 0",
        spec=batch_norm_spec((4, 6, 5, 5), -1, momentum=0.9),
        x=JAX_SMALL,
        cotangent=normal(6, (4, 6, 5, 5)) + np.arange(5) / 4,
        note="""The other way to tell the two versions apart: a random cotangent, so that dx, dgamma and dbeta all
        have digits.""",
    ),
)
