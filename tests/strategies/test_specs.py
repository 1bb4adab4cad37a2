from __future__ import annotations

from typing import get_args

import pytest

from bnfuzz.case import Cotangent, Layout, batch_norm_spec
from bnfuzz.conventions import MIXED_FORMATS
from bnfuzz.errors import UsageError
from bnfuzz.strategies import specs
from bnfuzz.strategies.shapes import shape_class


def test_all_specs_are_defined(assert_all_examples):
    def check(spec):
        assert spec.operation == "batch_norm"
        assert len(spec.steps) == 1
        assert spec.size <= 4096
        assert spec.n > 1 or spec.eps is None or spec.eps > 0
        assert spec.layout_x != "zero_stride" or spec.shape[0] > 1
        assert spec.has_running or spec.mode == "training"

    assert_all_examples(specs(), check, 300)


def test_filters_are_kept(assert_all_examples):
    strategy = specs(
        modes=("inference",),
        formats=MIXED_FORMATS,
        cotangents=("explicit",),
        layouts=("contiguous",),
        min_rank=4,
        max_rank=4,
        max_size=64,
        large_size=None,
        channel_axis=1,
    )

    def check(spec):
        assert spec.mode == "inference"
        assert spec.formats in MIXED_FORMATS
        assert spec.cotangent == "explicit"
        assert (spec.layout_x, spec.layout_cotangent) == ("contiguous", "contiguous")
        assert (spec.rank, spec.parameter_axes) == (4, (1,))
        assert spec.size <= 64

    assert_all_examples(strategy, check)


@pytest.mark.parametrize("layout", get_args(Layout))
def test_can_produce_every_layout_and_all_of_one_when_asked(find_any, layout):
    find_any(specs(), lambda spec: layout in (spec.layout_x, spec.layout_cotangent), 3000)
    find_any(specs(layouts=(layout,)), lambda spec: spec.layout_x == layout)


@pytest.mark.parametrize("cotangent", get_args(Cotangent))
def test_can_produce_every_cotangent(find_any, cotangent):
    find_any(specs(), lambda spec: spec.cotangent == cotangent)


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(lambda spec: spec.mode == "inference", id="inference"),
        pytest.param(lambda spec: spec.eps is None and spec.momentum is None, id="defaults of the backend"),
        pytest.param(lambda spec: spec.eps == 0.0, id="eps 0"),
        pytest.param(lambda spec: not spec.has_gamma and not spec.has_beta, id="no affine step"),
        pytest.param(lambda spec: not spec.has_running, id="no running statistics"),
        pytest.param(lambda spec: spec.parameter_axes[0] < 0, id="negative axis"),
        pytest.param(lambda spec: spec.n == 1, id="n = 1"),
        pytest.param(lambda spec: shape_class(spec.shape, spec.parameter_axes[0]) == "square", id="square"),
    ],
)
def test_can_produce(find_any, condition):
    find_any(specs(), condition)


def test_can_produce_empty_ones_when_allowed(find_any):
    find_any(specs(allow_empty=True), lambda spec: spec.n == 0)
    find_any(specs(allow_empty=True), lambda spec: spec.statistics_shape == (0,))


def test_shrinks(minimal):
    assert minimal(specs()) == batch_norm_spec((2, 2))
    assert minimal(specs(), lambda spec: spec.mode == "inference") == batch_norm_spec((2, 2), steps=("inference",))
    assert minimal(specs(), lambda spec: spec.data_format == "float64").formats == ("float64",) * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"operations": ("layer_norm",)}, "cannot be drawn yet", id="operation without strategy"),
        pytest.param({"operations": ("dropout",)}, "'dropout', which is not known", id="unknown operation"),
        pytest.param({"operations": ()}, "cannot be drawn yet", id="no operation"),
        pytest.param({"modes": "training"}, "modes='training' must be a collection", id="mode as a string"),
        pytest.param({"modes": ("eval",)}, "modes holds 'eval'", id="unknown mode"),
        pytest.param({"formats": ()}, "is empty", id="no formats"),
        pytest.param({"cotangents": ("ones",)}, "cotangents holds 'ones'", id="unknown cotangent"),
        pytest.param({"layouts": ("tiled",)}, "layouts holds 'tiled'", id="unknown layout"),
        pytest.param({"max_size": -1}, "max_size=-1 must be at least 1", id="size"),
    ],
)
def test_arguments_are_checked_when_drawn_from(minimal, arguments, message):
    strategy = specs(**arguments)
    with pytest.raises(UsageError, match=message):
        minimal(strategy)
