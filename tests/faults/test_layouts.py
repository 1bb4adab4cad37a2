"""Memory layouts: kernels that respect strides do not care, those that read memory order do."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from bnfuzz.case import Case, Layout
from bnfuzz.faults.backend import CONVENTIONS, run
from bnfuzz.faults.catalogue import CATALOGUE
from bnfuzz.faults.example import Example
from bnfuzz.faults.textbook import CLEAN

ARRANGED = [layout for layout in get_args(Layout) if layout != "contiguous"]


def laid_out(layout: Layout) -> Case:
    """A case whose x and cotangent are both in `layout`, all samples equal but the positions not."""
    example = Example(family="repeated_rows", layout_x=layout, layout_cotangent=layout)
    return example.case(CONVENTIONS)


@pytest.mark.parametrize("layout", ARRANGED)
def test_the_clean_kernel_respects_strides(layout):
    case = laid_out(layout)
    plain = replace(case.spec, layout_x="contiguous", layout_cotangent="contiguous")
    expected = dict(run(CLEAN, plain, case.inputs).items())
    for name, array in run(CLEAN, case.spec, case.inputs).items():
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize("name", ["shape_from_memory", "grad_layout"])
@pytest.mark.parametrize("layout", ARRANGED)
def test_memory_order_shows_in_every_layout(layout, name):
    fault = CATALOGUE[name]
    case = laid_out(layout)
    assert fault.applies(case.spec, CONVENTIONS)
    first, second = (run(kernel, case.spec, case.inputs).dx for kernel in (CLEAN, fault.kernel))
    if layout == "zero_stride":
        # A buffer of one sample, read over and over, is what the view means: nothing to see.
        np.testing.assert_array_equal(first, second)
    else:
        assert not np.allclose(first, second, rtol=1e-2)


@pytest.mark.parametrize("name", ["shape_from_memory", "grad_layout"])
def test_nothing_to_see_in_c_order(name):
    case = Example().case(CONVENTIONS)
    assert not CATALOGUE[name].applies(case.spec, CONVENTIONS)
    np.testing.assert_array_equal(
        run(CATALOGUE[name].kernel, case.spec, case.inputs).dx, run(CLEAN, case.spec, case.inputs).dx
    )
