"""Reports about axes, sizes and memory layouts."""

from __future__ import annotations

import numpy as np

from bnfuzz.case import batch_norm_spec
from bnfuzz.seeds.causes import ONE_PASS
from bnfuzz.seeds.numbers import normal, rounded, uniform
from bnfuzz.seeds.seed import Seed
from bnfuzz.seeds.shorthand import HALF, columns

SEEDS = (
    Seed(
        name="jax-461-channels-first",
        title="Channels on axis 1 of an image, gamma and beta by channel",
        link="https://github.com/jax-ml/jax/issues/461",
        spec=batch_norm_spec((2, 3, 2, 4)),
        x=rounded(normal(91, (2, 3, 2, 4)), 2.0**-10),
        gamma=[1.0, 2.0, 3.0],
        beta=[-1.0, 0.0, 1.0],
        note="gamma and beta lost their axes and met the wrong one of x, or none.",
    ),
    Seed(
        name="mxnet-14559-channel-axis",
        title="The channel axis in the middle",
        link="https://github.com/apache/mxnet/issues/14559",
        spec=batch_norm_spec((2, 3, 4, 2), 2),
        x=rounded(normal(92, (2, 3, 4, 2), 1.0, 1.0), 2.0**-10),
        gamma=[1.0, 2.0, -1.0, 0.5],
        note="The reported test was itself wrong; an axis other than 1 is a good question all the same.",
    ),
    Seed(
        name="openvino-7913-axes",
        title="Levels that differ along every axis, channels last",
        link="https://github.com/openvinotoolkit/openvino/pull/7913",
        spec=batch_norm_spec((2, 3, 2, 2), -1),
        x=np.arange(24.0).reshape(2, 3, 2, 2) ** 2 / 16,
        note="A rewrite reduced the wrong axes. The levels of these numbers differ along each, so any other set shows.",
    ),
    Seed(
        name="tensorrt-4756-one-group",
        title="Twelve numbers as one group",
        link="https://github.com/NVIDIA/TensorRT/issues/4756",
        spec=batch_norm_spec((1, 1, 4, 3)),
        x=np.arange(12.0).reshape(1, 1, 4, 3),
        note="""A group norm with one group behaved as if every channel were a group. One group is one channel of
        twelve here.""",
    ),
    Seed(
        name="pytorch-discuss-96889-per-channel",
        title="Sixteen channels, each with its own statistics",
        link="https://discuss.pytorch.org/t/why-nn-batchnorm2d-returns-different-values-comparing-with-the-one-calculated-by-math-equation-defined-in-paper/96889",
        spec=batch_norm_spec((1, 16, 2, 2)),
        x=rounded(uniform(93, (1, 16, 2, 2)) + np.arange(16)[:, None, None] / 2, 2.0**-10),
        known=ONE_PASS.on(
            "flax", regime="offset", y="unstable", dgamma="unstable", dx="unstable", new_running_var="unstable"
        ),
        note="A hand-made version took one mean and variance over all channels.",
    ),
    Seed(
        name="flaggems-4984-groups-of-three",
        title="Seventy-five values per channel, no power of two",
        link="https://github.com/flagos-ai/FlagGems/issues/4984",
        spec=batch_norm_spec((3, 2, 5, 5)),
        x=rounded(normal(94, (3, 2, 5, 5), 2.0, 0.5), 2.0**-8),
        note="A group norm kernel pads its tiles to a power of two and counted the padding. A group is a channel here.",
    ),
    Seed(
        name="flaggems-59-rows-merged",
        title="Many short rows of unlike level",
        link="https://github.com/flagos-ai/FlagGems/pull/59",
        spec=batch_norm_spec((3, 12)),
        x=rounded(normal(95, (3, 12)), 2.0**-10) + np.arange(12) * 3.0,
        known=ONE_PASS.on(
            "flax", regime="offset", y="unstable", dgamma="unstable", dx="unstable", new_running_var="unstable"
        ),
        note="A layer norm's backward pass merged the sums of all rows in a block. A row is a channel here.",
    ),
    Seed(
        name="pytorch-62594-inference-channels-last",
        title="float16 images in inference, channels-last memory",
        link="https://github.com/pytorch/pytorch/issues/62594",
        spec=batch_norm_spec((2, 4, 3, 3), steps=("inference",), layout_x="permuted", **HALF),
        x=rounded(normal(96, (2, 4, 3, 3)), 2.0**-8),
        running_mean=[0.5, -1.0, 0.0, 2.0],
        running_var=[1.0, 0.5, 2.0, 0.25],
        note="Strides were mixed up for channels-last memory. Another layout of the same values has the same output.",
    ),
    Seed(
        name="pytorch-62967-permuted-input",
        title="An input that is a transposed view",
        link="https://github.com/pytorch/pytorch/issues/62967",
        spec=batch_norm_spec((3, 2, 4, 2), layout_x="permuted"),
        x=rounded(normal(97, (3, 2, 4, 2), 1.0, 2.0), 2.0**-10),
        note="""A permuted view gave another result than its copy. (The report was of several processes; one is
        asked here.)""",
    ),
    Seed(
        name="pytorch-64039-permuted-gradient",
        title="A cotangent that is a transposed view",
        link="https://github.com/pytorch/pytorch/issues/64039",
        spec=batch_norm_spec((3, 2, 4, 2), layout_cotangent="permuted"),
        x=rounded(normal(98, (3, 2, 4, 2), 1.0, 2.0), 2.0**-10),
        cotangent=rounded(normal(99, (3, 2, 4, 2)), 2.0**-8),
        note="The backward pass took the cotangent's memory for contiguous.",
    ),
    Seed(
        name="pytorch-169372-both-permuted",
        title="Input and cotangent both transposed views",
        link="https://github.com/pytorch/pytorch/pull/169372",
        spec=batch_norm_spec((2, 3, 3, 2), layout_x="permuted", layout_cotangent="permuted"),
        x=rounded(normal(100, (2, 3, 3, 2)), 2.0**-10),
        cotangent=rounded(normal(101, (2, 3, 3, 2)), 2.0**-8),
        note="dx had its axes mixed up on one device, or an exception was raised.",
    ),
    Seed(
        name="pytorch-190645-volumes",
        title="Volumes in a permuted view",
        link="https://github.com/pytorch/pytorch/issues/190645",
        spec=batch_norm_spec((2, 3, 2, 2, 3), layout_x="permuted"),
        x=rounded(normal(102, (2, 3, 2, 2, 3)), 2.0**-8),
        note="The process was aborted on one device. The report had (64, 51, 150, 10, 16).",
    ),
    Seed(
        name="pytorch-84962-no-affine",
        title="Images without gamma and beta",
        link="https://github.com/pytorch/pytorch/issues/84962",
        spec=batch_norm_spec((4, 3, 5, 4), has_gamma=False, has_beta=False),
        x=rounded(normal(103, (4, 3, 5, 4)), 2.0**-8),
        note="One device was off by 0.6. The report had (20, 3, 35, 45).",
    ),
    Seed(
        name="inplace-abn-155-expanded-gradient",
        title="A cotangent whose memory is a single number",
        link="https://github.com/mapillary/inplace_abn/issues/155",
        spec=batch_norm_spec((4, 2, 3), layout_cotangent="zero_stride"),
        x=rounded(normal(104, (4, 2, 3)), 2.0**-10),
        cotangent=1.0,
        note="""The loss sum(y) hands back one number seen everywhere through strides of 0; a kernel that writes
        into it corrupts itself. dx is exactly 0.""",
    ),
    Seed(
        name="flaggems-6332-no-running-statistics",
        title="Training without running statistics leaves x as it was",
        link="https://github.com/flagos-ai/FlagGems/issues/6332",
        spec=batch_norm_spec((4, 3), has_running=False),
        x=columns([1.0, 2.0, 3.0, 5.0], [0.0, 1.0, 0.0, 2.0], [4.0, 3.0, 1.0, 1.0]),
        note="Without running statistics the input was overwritten and the output wrong.",
    ),
    Seed(
        name="pytorch-2917-many-rows",
        title="A long column",
        link="https://github.com/pytorch/pytorch/issues/2917",
        spec=batch_norm_spec((4099, 1)),
        x=rounded(normal(105, (4099, 1)), 2.0**-4),
        note="""A library refused more than 131070 rows. A long column of an odd length is asked here, short of that
        for size.""",
    ),
)
