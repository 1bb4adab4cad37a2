"""Reports about squares, counts and scalars that leave the range of a narrow format."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.causes import CUBES, JAX, MXNET, NARROW_PARTS, NO_EPS, PARTS_OF_DX, SQUARES
from bnfuzz.seeds.numbers import normal, rounded, uniform
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import HALF, PURE_HALF, column, columns

SEEDS = (
    Seed(
        name="convnext-80-half-squares",
        title="float16 data with deviations above 256",
        link="https://github.com/facebookresearch/ConvNeXt/issues/80",
        spec=batch_norm_spec((4, 2), eps=1e-6, **HALF),
        x=columns([300.0, -300.0, 320.0, -320.0], [1.0, 2.0, 3.0, 5.0]),
        known=SQUARES.on(*MXNET, y="range", dgamma="range", dx="range", new_running_var="range"),
        note="""A channels-first layer norm written by hand squared its deviations in float16: above 256 they are
        infinite and the output is 0. A row there is a channel here. Computed in float32 the output is near 1 and
        -1.""",
    ),
    Seed(
        name="brainchop-56-half-squares",
        title="float16 activations from 370 to 940",
        link="https://github.com/neuroneural/brainchop-cli/pull/56",
        spec=batch_norm_spec((4, 1), **HALF),
        x=column([370.0, 940.0, -650.0, 512.0]),
        known=SQUARES.on(*MXNET, y="range", dgamma="range", dx="range", new_running_var="range"),
        note="""Group norm reduced in float32, but squared each element in float16 before that. A group is a channel
        here. The output must be finite and have deviation 1.""",
    ),
    Seed(
        name="spandrel-332-half-eps",
        title="float16 throughout, eps 1e-6 and deviations above 256",
        link="https://github.com/chaiNNer-org/spandrel/pull/332",
        spec=batch_norm_spec((4, 1), eps=1e-6, **PURE_HALF),
        x=column([400.0, -400.0, 410.0, -410.0]),
        known=(
            *SQUARES.on(*JAX, y="range", dgamma="range", new_running_var="range"),
            *SQUARES.on("mxnet-scratch", y="range", dgamma="range", dx="range", new_running_var="range"),
        ),
        note="""An image network's hand-written layer norm lost its picture in float16: the squares overflow and eps
        is below the smallest normal number. A kernel that computes in float32 gives 1 and -1; one in float16
        throughout has no room for the squares.""",
    ),
    Seed(
        name="pytorch-147303-half-channels-last",
        title="float16 images in channels-last memory: the gradient was NaN",
        link="https://github.com/pytorch/pytorch/issues/147303",
        spec=batch_norm_spec((4, 3, 5, 5), layout_x="permuted", **HALF),
        x=uniform(21, (4, 3, 5, 5)),
        cotangent=normal(22, (4, 3, 5, 5)),
        known=NARROW_PARTS.on("torch", dx="unstable"),
        note="""dx was NaN everywhere for channels-last memory and right for contiguous memory. The values decide,
        not the layout. The report had (16, 3, 224, 224).""",
    ),
    Seed(
        name="executorch-16727-half-count",
        title="float16 data with 2051 values per channel",
        link="https://github.com/pytorch/executorch/pull/16727",
        spec=batch_norm_spec((7, 1, 293), **HALF),
        x=rounded(normal(23, (7, 1, 293), 0.0, 3.0), 1 / 64),
        note="""The number of elements was cast to float16, which cannot count beyond 2048 one by one. The count is
        an integer and stays exact; with 2051 the miss is a small drift.""",
    ),
    Seed(
        name="pytorch-41527-half-zeros",
        title="float16 zeros and eps 1e-12",
        link="https://github.com/pytorch/pytorch/issues/41527",
        spec=batch_norm_spec((10, 1), eps=1e-12, **HALF),
        x=0.0,
        known=NO_EPS.on(*MXNET, y="range", dgamma="range", dx="range"),
        note="""Layer norm of a row of zeros gave NaN: eps had become 0 in float16. Computed in float32, as these
        formats ask, eps is there and the output is 0.""",
    ),
    Seed(
        name="deepspeed-581-half-constant-row",
        title="A constant float16 row and eps 1e-12",
        link="https://github.com/deepspeedai/DeepSpeed/issues/581",
        spec=batch_norm_spec((8, 2), eps=1e-12, **HALF),
        x=columns([3.5] * 8, [0.25, -0.5, 1.0, 2.0, -1.5, 0.0, 0.75, -0.25]),
        known=(
            *PARTS_OF_DX.on("flax", "flax-slow-variance", dx="range"),
            *NO_EPS.on(*MXNET, y="range", dgamma="range", dx="range"),
        ),
        note="""A padded row's variance plus eps was stored in float16, became 0 and gave NaN. A row is a channel
        here; the constant one gives 0 and the other does not notice.""",
    ),
    Seed(
        name="tensorflow-24979-half-tiny-variance",
        title="float16 values a unit apart and eps 1e-12, float16 throughout",
        link="https://github.com/tensorflow/tensorflow/pull/24979",
        spec=batch_norm_spec((4, 1), eps=1e-12, **PURE_HALF),
        x=column([1.0, 1.0009765625, 1.0, 1.0009765625]),
        known=(*CUBES.on(*JAX, "mxnet-scratch", dx="range"),),
        note="""A layer norm had eps 1e-12 built in, which float16 does not have; nor has it the variance, 2.4e-7,
        with any accuracy. Exact is -1, 1, -1, 1; a float16 kernel cannot do better than its range lets it.""",
    ),
    Seed(
        name="torch-mlir-4683-half-inference",
        title="Inference on float16 data",
        link="https://github.com/llvm/torch-mlir/pull/4683",
        spec=batch_norm_spec((3, 4, 2), steps=("inference",), **HALF),
        x=rounded(normal(24, (3, 4, 2), 20.0, 4.0), 1 / 64),
        running_mean=[20.0, 19.5, 21.25, 18.0],
        running_var=[16.0, 12.5, 20.25, 0.01],
        gamma=[1.0, 0.5, -2.0, 1.5],
        beta=[0.0, 1.0, -1.0, 0.25],
        note="""A compiler broke the operation up and computed all parts in float16. With float32 statistics the
        inside is float32, and only the output is rounded.""",
    ),
    Seed(
        name="pytorch-xla-3658-half-rows",
        title="Ten float16 values per row",
        link="https://github.com/pytorch/xla/issues/3658",
        spec=batch_norm_spec((10, 3), **HALF),
        x=rounded(uniform(25, (10, 3)), 2.0**-11),
        note="Layer norm of a (3, 10) float16 array was wrong on an accelerator. Rows are channels here, x transposed.",
    ),
    Seed(
        name="pytorch-66707-half-against-single",
        title="float16 output compared with float32 output, equality demanded",
        link="https://github.com/pytorch/pytorch/issues/66707",
        spec=batch_norm_spec((128, 1), **HALF),
        x=rounded(uniform(26, (128, 1), 0.0, 0.1), 2.0**-14),
        note="""Two correct results differ in the last bit of float16, since one is rounded and the other is not.
        The bound grants exactly that.""",
    ),
    Seed(
        name="pytorch-156513-brain-parameters-single",
        title="bfloat16 data with float32 parameters, all three gradients",
        link="https://github.com/pytorch/pytorch/issues/156513",
        spec=batch_norm_spec(
            (2, 3, 4, 4), data_format="bfloat16", parameter_format="float32", statistics_format="float32"
        ),
        x=normal(27, (2, 3, 4, 4), 1.0, 2.0),
        gamma=[0.5, 1.5, -1.0],
        cotangent=normal(28, (2, 3, 4, 4)) + np.array([0.0, 0.5, -0.25])[:, None, None],
        note="""dx, dgamma and dbeta were wrong for contiguous images in training. They agree with the exact ones
        within rounding.""",
    ),
)
