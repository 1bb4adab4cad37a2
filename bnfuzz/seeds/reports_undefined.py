"""Reports about empty input, numbers that are not finite, and statistics that no data could have."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.causes import EMPTY_MEAN
from bnfuzz.seeds.numbers import normal, rounded
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import columns

SEEDS = (
    Seed(
        name="pytorch-12013-empty-training",
        title="A batch of no samples in training",
        link="https://github.com/pytorch/pytorch/issues/12013",
        spec=batch_norm_spec((0, 5, 9)),
        x=0.0,
        known=EMPTY_MEAN.on("flax", "flax-slow-variance", regime="empty", dgamma="nonfinite"),
        note="""The output is empty, dgamma and dbeta are 0. The mean of nothing is not defined: leaving the running
        statistics alone is the friendly answer, and each backend is held to what it documents.""",
    ),
    Seed(
        name="pytorch-29578-empty-inference",
        title="A batch of no samples in inference",
        link="https://github.com/pytorch/pytorch/issues/29578",
        spec=batch_norm_spec((0, 3, 4, 4), steps=("inference",)),
        x=0.0,
        note="The process died of a division by zero. The output is empty and the statistics stay.",
    ),
    Seed(
        name="caffe2-40806-empty-rows",
        title="No rows at all",
        link="https://github.com/pytorch/pytorch/pull/40806",
        spec=batch_norm_spec((0, 2), has_running=False),
        x=0.0,
        known=EMPTY_MEAN.on("flax", "flax-slow-variance", regime="empty", dgamma="nonfinite"),
        note="A division by the number of rows crashed.",
    ),
    Seed(
        name="pytorch-90342-one-infinity",
        title="One infinite activation",
        link="https://github.com/pytorch/pytorch/issues/90342",
        spec=batch_norm_spec((4, 2)),
        x=columns([1.0, np.inf, 3.0, 4.0], [0.5, 1.0, -1.0, 2.0]),
        note="""Its own channel has no defined result and its running statistics are spoilt. The other channel must
        come out as if nothing had happened.""",
    ),
    Seed(
        name="pytorch-106605-negative-variance",
        title="Running variances below zero",
        link="https://github.com/pytorch/pytorch/issues/106605",
        spec=batch_norm_spec((2, 4), steps=("inference",)),
        x=[[1.0, 2.0, 3.0, 4.0], [-1.0, 0.5, 0.0, 2.0]],
        running_var=[-1.0, -2e-5, -1e-6, 1.0],
        note="""Random running variances gave NaN. Where var + eps is negative no result is defined and NaN is
        right; -1e-6 with eps 1e-5 still has a root, and a gain of 333.""",
    ),
    Seed(
        name="mobilenet-caffe-87-dead-channel",
        title="Stored variances that nearly cancel eps",
        link="https://github.com/shicai/MobileNet-Caffe/issues/87",
        spec=batch_norm_spec((2, 2), steps=("inference",)),
        x=[[1e-5, 1.0], [-2e-5, 0.5]],
        running_var=[-9.9998997e-06, 1.0],
        note="""A published model holds variances that were computed back from a dead channel's gain. Together with
        eps only 1e-10 is left, of which float32 knows hardly three digits: the bound says so. Tools that clamp such
        a variance at 0 have another gain.""",
    ),
    Seed(
        name="lasagne-stored-inverse",
        title="A tiny variance such as an inverse deviation would look like",
        link="https://kiwix.lema.org/stackoverflow.com_en_all_2023-11/questions/49930367/convert-lasagne-batchnormlayer-to-keras-batchnormalization-layer",
        spec=batch_norm_spec((3, 2), steps=("inference",), eps=1e-4),
        x=rounded(normal(111, (3, 2)), 2.0**-10),
        running_mean=[0.5, -0.5],
        running_var=[0.0399, 24.9999],
        note="""One library stores 1/sqrt(var + eps); pasted into another as the variance it gives a quite different
        gain. For a stored 5 the variance is 1/25 - eps = 0.0399.""",
    ),
)
