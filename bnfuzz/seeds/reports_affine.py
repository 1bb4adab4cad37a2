"""Reports about gamma and beta: absent, zero, shared or left out."""

from __future__ import annotations

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.numbers import normal, rounded
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import columns

SEEDS = (
    Seed(
        name="inplace-abn-4-gamma-zero",
        title="A gamma of 0",
        link="https://github.com/mapillary/inplace_abn/issues/4",
        spec=batch_norm_spec((4, 3)),
        x=columns([1.0, 2.0, 3.0, 5.0], [0.0, 1.0, 0.0, 2.0], [4.0, 3.0, 1.0, 1.0]),
        gamma=[0.0, 1e-30, 1.0],
        note="""Where the normalised x is recovered from the output as (y - beta)/gamma, a gamma of 0 gives NaN.
        dgamma does not depend on gamma at all.""",
    ),
    Seed(
        name="keras-19073-beta-alone",
        title="beta without gamma",
        link="https://github.com/keras-team/keras/issues/19073",
        spec=batch_norm_spec((3, 2, 2), has_gamma=False),
        x=rounded(normal(81, (3, 2, 2), 1.0, 2.0), 2.0**-10),
        beta=[0.5, -1.5],
        note="A layer with a shift and no scale raised an error on one device.",
    ),
    Seed(
        name="tfjs-104-gamma-alone",
        title="gamma without beta",
        link="https://github.com/tensorflow/tfjs-layers/pull/104",
        spec=batch_norm_spec((3, 2, 2), has_beta=False),
        x=rounded(normal(82, (3, 2, 2), 1.0, 2.0), 2.0**-10),
        gamma=[2.0, -0.5],
        note="The options that leave gamma or beta out were not respected.",
    ),
    Seed(
        name="odla-470-explicit-affine",
        title="Inference with gamma and beta that differ by channel",
        link="https://github.com/alibaba/heterogeneity-aware-lowering-and-optimization/issues/470",
        spec=batch_norm_spec((2, 3, 2), steps=("inference",)),
        x=rounded(normal(83, (2, 3, 2)), 2.0**-10),
        gamma=[0.5, 2.0, -3.0],
        beta=[1.0, 0.0, -0.5],
        running_mean=[0.25, -0.5, 1.0],
        running_var=[0.5, 1.0, 2.0],
        note="Explicit scale and offset were applied wrongly.",
    ),
    Seed(
        name="tt-metal-5317-fold-without-bias",
        title="Inference with a mean and a beta to be folded away",
        link="https://github.com/tenstorrent/tt-metal/pull/5317",
        spec=batch_norm_spec((1, 2, 2, 2), steps=("inference",), eps=1e-3),
        x=rounded(normal(84, (1, 2, 2, 2)), 2.0**-10),
        gamma=[1.5, 0.75],
        beta=[0.5, -0.25],
        running_mean=[2.0, -1.0],
        running_var=[0.25, 4.0],
        note="""Folded into a convolution without a bias, the shift beta - mean*scale was left out altogether. It is
        most of the output here.""",
    ),
    Seed(
        name="mxnet-2560-parameters-elsewhere",
        title="Inference with parameters that another library trained",
        link="https://github.com/apache/mxnet/issues/2560",
        spec=batch_norm_spec((2, 2, 3), steps=("inference",), eps=1e-3),
        x=rounded(normal(85, (2, 2, 3), 0.5, 1.0), 2.0**-10),
        gamma=[0.25, 4.0],
        beta=[-1.0, 3.0],
        running_mean=[0.5, -2.0],
        running_var=[0.01, 30.0],
        note="""A network gave other results on another device: each kept its parameters in its own form. The form
        here is var and eps.""",
    ),
    Seed(
        name="mxnet-9624-gamma-given",
        title="A gamma that is not 1",
        link="https://github.com/apache/mxnet/issues/9624",
        spec=batch_norm_spec((4, 2)),
        x=columns([1.0, 2.0, 3.0, 5.0], [0.0, -1.0, 0.5, 2.0]),
        gamma=[0.5, 3.0],
        beta=[0.0, 1.0],
        reference="mxnet",
        note="""With fix_gamma=True a layer ignores the stored gamma, which other tools then read and use. Called
        without flags mx.nd.BatchNorm takes gamma for 1; every other call must use it.""",
    ),
)
