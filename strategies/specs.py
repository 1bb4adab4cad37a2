"""Specs: what is computed."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import get_args

from hypothesis import strategies as st

from bnfuzz.case import Cotangent, Layout, Mode, Operation, Spec, batch_norm_spec
from bnfuzz.conventions import FormatTriple
from bnfuzz.errors import UsageError
from bnfuzz.strategies.formats import format_triples
from bnfuzz.strategies.parameters import eps_values, momenta, presences
from bnfuzz.strategies.shapes import Shape, shapes_and_channel_axes
from bnfuzz.strategies.weighted import subset

MODE_WEIGHTS: Mapping[Mode, int] = MappingProxyType({"training": 3, "inference": 1})

LOSS_WEIGHTS: Mapping[Cotangent, int] = MappingProxyType({"explicit": 8, "sum": 1, "mean_square": 1})
"""An explicit cotangent shows more: with the loss `sum` dx is exactly 0 in training."""

LAYOUT_WEIGHTS: Mapping[Layout, int] = MappingProxyType(
    {"contiguous": 55, "permuted": 1, "sliced": 1, "flipped": 1, "zero_stride": 1, "offset": 1}
)
"""Drawn for x and for the cotangent each: 11 of 12 arrays are contiguous."""

DRAWN_OPERATIONS: tuple[Operation, ...] = ("batch_norm",)
"""What `specs` draws; the others have a place in Spec but no strategy yet."""


def specs(
    *,
    operations: Collection[Operation] = DRAWN_OPERATIONS,
    modes: Collection[Mode] | None = None,
    formats: Collection[FormatTriple] | None = None,
    cotangents: Collection[Cotangent] | None = None,
    layouts: Collection[Layout] | None = None,
    min_rank: int = 2,
    max_rank: int = 5,
    max_size: int = 512,
    large_size: int | None = 4096,
    allow_empty: bool = False,
    channel_axis: int | None = None,
) -> st.SearchStrategy[Spec]:
    """A Spec of one step, with scalars and shapes that show faults.

    * ``operations``: what is computed; batch norm by default, the only one drawn so far.
    * ``modes``: training and inference by default, three to one.
    * ``formats``: triples (data, parameters, statistics); by default those of `format_triples`.
    * ``cotangents``: explicit arrays and the two losses by default, eight to one to one.
    * ``layouts``: memory layouts of x and of the cotangent; all by default, 11 of 12 contiguous.
    * ``min_rank``, ``max_rank``, ``max_size``, ``large_size``, ``allow_empty``, ``channel_axis``: as in
      `shapes_and_channel_axes`, with the same defaults.

    Where n = 1 eps is positive, else nothing would be defined. Shrinks towards training in float32 on a contiguous
    shape of rank 2, eps 1e-5, momentum 0.1, with gamma, beta and running statistics.

    Drawn: ``Spec(shape=(3, 2), reduced_axes=(0,), parameter_axes=(1,), …)``,
    ``Spec(shape=(1, 4, 5, 4), reduced_axes=(0, 1, 2), parameter_axes=(-1,), eps=None, …)``.
    """

    def build() -> st.SearchStrategy[Spec]:
        _check_operations(operations)
        return _batch_norms(
            shapes=shapes_and_channel_axes(
                min_rank=min_rank,
                max_rank=max_rank,
                max_size=max_size,
                large_size=large_size,
                allow_empty=allow_empty,
                channel_axis=channel_axis,
            ),
            modes=subset("modes", MODE_WEIGHTS, modes),
            formats=format_triples(allowed=formats),
            cotangents=subset("cotangents", LOSS_WEIGHTS, cotangents),
            layouts=subset("layouts", LAYOUT_WEIGHTS, layouts),
        )

    return st.deferred(build)


def _check_operations(operations: Collection[Operation]) -> None:
    for operation in operations:
        if operation not in get_args(Operation):
            raise UsageError(f"operations holds {operation!r}, which is not known; use some of {DRAWN_OPERATIONS}")
    if not set(operations) <= set(DRAWN_OPERATIONS) or not operations:
        raise UsageError(f"operations={operations!r} cannot be drawn yet; use some of {DRAWN_OPERATIONS}")


_EPS, _POSITIVE_EPS, _MOMENTA = eps_values(), eps_values(minimum=1e-12), momenta()
_PRESENCES: Mapping[Mode, st.SearchStrategy[tuple[bool, bool, bool]]] = MappingProxyType(
    {mode: presences(mode=mode) for mode in MODE_WEIGHTS}
)


@st.composite
def _batch_norms(
    draw: st.DrawFn,
    *,
    shapes: st.SearchStrategy[tuple[Shape, int]],
    modes: st.SearchStrategy[Mode],
    formats: st.SearchStrategy[FormatTriple],
    cotangents: st.SearchStrategy[Cotangent],
    layouts: st.SearchStrategy[Layout],
) -> Spec:
    shape, axis = draw(shapes)
    mode = draw(modes)
    data_format, parameter_format, statistics_format = draw(formats)
    eps = draw(_POSITIVE_EPS if math.prod(shape) <= shape[axis] else _EPS)
    # Drawn though it may be of no use: of two examples Hypothesis takes the one of fewer draws for the simpler one.
    momentum = draw(_MOMENTA)
    has_gamma, has_beta, has_running = draw(_PRESENCES[mode])
    cotangent = draw(cotangents)
    layout_x, layout_cotangent = draw(layouts), draw(layouts)
    return batch_norm_spec(
        shape,
        axis,
        data_format=data_format,
        parameter_format=parameter_format,
        statistics_format=statistics_format,
        eps=eps,
        momentum=momentum if mode == "training" else 0.1,
        has_gamma=has_gamma,
        has_beta=has_beta,
        has_running=has_running,
        steps=(mode,),
        cotangent=cotangent,
        layout_x=_possible(layout_x, shape, eps),
        layout_cotangent=_possible(layout_cotangent, shape, None) if cotangent == "explicit" else "contiguous",
    )


def _possible(layout: Layout, shape: tuple[int, ...], eps: float | None) -> Layout:
    """A zero stride repeats one sample: there must be two, and with eps = 0 the result may be undefined."""
    return "contiguous" if layout == "zero_stride" and (shape[0] < 2 or eps == 0.0) else layout
