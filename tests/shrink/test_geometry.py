"""The same values, fewer of them or along fewer axes: what each channel holds stays what it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.case import Case, Inputs, Spec, batch_norm_spec, check_inputs
from bnfuzz.judge.verdict import Verdict
from bnfuzz.shrink.geometry import flattened, merged, pick, profile, with_steps, without_axis, worst_place

from .planted import drawn_case


def channels(case: Case) -> list[tuple[object, ...]]:
    """Per channel: gamma, beta, running statistics, and the sorted pairs (x, cotangent) of each step."""
    spec, inputs = case.spec, case.inputs
    (axis,) = spec.kept_axes
    many = len(spec.steps) > 1
    found: list[tuple[object, ...]] = []
    for c in range(spec.shape[axis]):
        values = [
            sorted(
                zip(
                    np.take(x, c, axis=axis).ravel().tolist(),
                    np.take(g, c, axis=axis).ravel().tolist(),
                    strict=True,
                )
            )
            for x, g in zip(
                inputs.x[0] if many else inputs.x, _cotangent(inputs)[0] if many else _cotangent(inputs), strict=True
            )
        ]
        others = [array[0, c].item() for name, array in inputs.items() if name not in ("x", "cotangent")]
        found.append((*others, *map(tuple, values)))
    return found


def _cotangent(inputs: Inputs) -> np.ndarray:
    assert inputs.cotangent is not None
    return inputs.cotangent


specs = st.builds(
    lambda shape, axis, steps, negative: batch_norm_spec(
        tuple(shape), axis % len(shape) - (len(shape) if negative else 0), steps=steps
    ),
    st.lists(st.integers(1, 4), min_size=2, max_size=5),
    st.integers(0, 4),
    st.sampled_from([("training",), ("training", "inference")]),
    st.booleans(),
)


@given(specs)
def test_flattening_keeps_every_channel(spec: Spec) -> None:
    case = drawn_case(spec)
    flat = flattened(case)
    if flat is None:
        assert spec.rank == 2
        assert spec.parameter_axes == (1,)
        return
    assert flat.spec.shape == (spec.n, *spec.statistics_shape)
    assert channels(flat) == channels(case)


@given(specs, st.integers(0, 4))
def test_losing_and_merging_axes_keeps_every_channel(spec: Spec, axis: int) -> None:
    case = drawn_case(spec)
    for smaller in (without_axis(case, axis % spec.rank), merged(case, axis % spec.rank)):
        if smaller is not None:
            assert smaller.spec.rank == spec.rank - 1
            assert smaller.spec.n == spec.n
            assert channels(smaller) == channels(case)


@given(specs, st.data())
def test_picking_channels_takes_their_parameters_along(spec: Spec, data: st.DataObject) -> None:
    case = drawn_case(spec)
    (axis,) = spec.kept_axes
    chosen = data.draw(st.lists(st.integers(0, spec.shape[axis] - 1), min_size=1, unique=True).map(sorted))
    everything = channels(case)
    assert channels(pick(case, {axis: chosen})) == [everything[c] for c in chosen]


def test_picking_positions_of_a_relative_takes_parameters_along_its_axes() -> None:
    spec = Spec(operation="layer_norm", shape=(3, 4), reduced_axes=(1,), parameter_axes=(1,), has_running=False)
    case = drawn_case(spec)
    part = pick(case, {0: (2,), 1: (0, 3)})
    assert part.spec.shape == (1, 2)
    assert case.inputs.gamma is not None
    assert part.inputs.gamma is not None
    assert part.inputs.gamma.tolist() == case.inputs.gamma[:, [0, 3]].tolist()
    assert part.inputs.x.tolist() == case.inputs.x[:, [2]][:, :, [0, 3]].tolist()
    assert flattened(case) is None


@pytest.mark.parametrize(
    ("axis", "rank"), [(0, 3), (1, None), (2, None), (3, 3)], ids=["first", "channels", "longer", "last"]
)
def test_only_reduced_axes_of_length_one_go(axis: int, rank: int | None) -> None:
    smaller = without_axis(drawn_case(batch_norm_spec((1, 1, 3, 1))), axis)
    assert (None if smaller is None else smaller.spec.rank) == rank


def test_the_last_reduced_axis_stays() -> None:
    assert without_axis(drawn_case(batch_norm_spec((1, 3))), 0) is None


def test_axes_around_the_channels_are_not_neighbours() -> None:
    case = drawn_case(batch_norm_spec((2, 3, 4)))
    assert [merged(case, axis) for axis in range(3)] == [None] * 3


@pytest.mark.parametrize("kept", [(0,), (2,), (0, 2), (1, 2)])
def test_steps_keep_their_own_values(kept: tuple[int, ...]) -> None:
    case = drawn_case(batch_norm_spec((4, 3), steps=("training", "training", "inference")))
    shorter = with_steps(case, kept)
    check_inputs(shorter.spec, shorter.inputs)
    assert shorter.spec.steps == tuple(case.spec.steps[step] for step in kept)
    expected = case.inputs.x[0, list(kept)] if len(kept) > 1 else case.inputs.x[0, kept[0]]
    assert shorter.inputs.x[0].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("output", "index", "place"),
    [
        ("dx", (3, 1, 0), {0: 3, 1: 1, 2: 0}),
        ("dgamma", (2,), {1: 2}),
        ("new_running_var", (2,), {1: 2}),
        ("call", (), {}),
        ("y", (), {}),
        ("dgamma", (7,), {}),
    ],
)
def test_the_worst_place_is_told_by_axis(output: str, index: tuple[int, ...], place: dict[int, int]) -> None:
    spec = batch_norm_spec((4, 3, 2), -2)
    assert worst_place(spec, Verdict(output=output, kind="wrong", index=index)) == place


def test_a_profile_runs_through_the_worst_place() -> None:
    case = drawn_case(batch_norm_spec((4, 3, 2), steps=("training", "training")))
    assert profile(case, 0, {1: 2, 2: 1}).tolist() == case.inputs.x[0, 0, :, 2, 1].astype(float).tolist()
    assert profile(case, 2, {}).tolist() == case.inputs.x[0, 0, 0, 0, :].astype(float).tolist()
    flat = replace(case.spec, shape=(4, 3), reduced_axes=(0,), steps=("training",))
    assert len(profile(drawn_case(flat), 1, {0: 3})) == 3
