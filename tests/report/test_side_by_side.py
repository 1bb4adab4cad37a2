"""The table of one case on several backends: the odd one out at a glance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from bnfuzz.backends.pool import Pool
from bnfuzz.case import Case
from bnfuzz.evaluation import evaluate_block
from bnfuzz.report.side_by_side import conditions, side_by_side, worst_spot


def table(case: Case, *backends: str, marks: dict[str, str] | None = None) -> list[str]:
    with Pool() as pool:
        results = evaluate_block(pool, backends, case.spec, case.inputs)
    return [" ".join(line.split()) for line in side_by_side(case.spec, results, marks or {})]


def test_everyone_is_shown_at_the_worst_element_of_the_worst(
    implementations: Path, plain_case: Callable[..., Case]
) -> None:
    right, wrong, raises = (f"target:{implementations}:{name}" for name in ("right", "wrong_y", "raises"))
    case = plain_case()
    with Pool() as pool:
        results = evaluate_block(pool, ("numpy", right, wrong, raises), case.spec, case.inputs)
    spot = worst_spot({name: results[name] for name in (right, wrong)}, "y")
    assert spot is not None
    lines = [" ".join(line.split()) for line in side_by_side(case.spec, results, {wrong: "known"})]
    start = next(i for i, line in enumerate(lines) if line.startswith("y ["))
    assert lines[start].startswith(f"y {list(spot.index)} numpy ")
    assert lines[start + 1].startswith(f"{right} ")
    assert lines[start + 1].endswith(" ok")
    assert lines[start + 2].startswith(f"{wrong} ")
    assert "wrong (known)" in lines[start + 2]
    # One element for all: the exact value is the same in every row.
    exact = {line.split()[-5] for line in lines[start : start + 2]}
    assert len(exact) == 1
    assert any(line.startswith(f"call {raises} error: ") and "no kernel for this" in line for line in lines)
    assert conditions(results).startswith("n = 3, κ up to ")


def test_exact_zeros_are_said(plain_case: Callable[..., Case]) -> None:
    lines = table(plain_case(cotangent="sum"), "numpy")
    assert any(line.startswith("dx [") and "the exact value is zero: noise up to" in line for line in lines)


MOMENTA = """
def {name}(x, gamma, beta, running_mean, running_var, *, eps, momentum={default}, axis, training):
    return right(x, gamma, beta, running_mean, running_var, eps=eps, momentum=momentum, axis=axis, training=training)
"""


def test_a_zero_for_some_backends_names_them(implementations: Path, plain_case: Callable[..., Case]) -> None:
    """0.9 · 1 + 0.1 · (-9) is 0, and 0.5 · 1 + 0.5 · (-9) is not."""
    with implementations.open("a") as file:
        file.write(MOMENTA.format(name="tenth", default=0.1) + MOMENTA.format(name="half", default=0.5))
    tenth, half = (f"target:{implementations}:{name}" for name in ("tenth", "half"))
    case = plain_case([[-8.0], [-9.0], [-10.0]], momentum=None)
    case = replace(case, inputs=replace(case.inputs, running_mean=np.ones((1, 1), np.float32)))
    note = f"new_running_mean [0] of {tenth}: the exact value is zero"
    assert any(line.startswith(note) for line in table(case, tenth, half))
    assert any(line.startswith("new_running_mean [0]: the exact value is zero") for line in table(case, tenth))
    assert not any("new_running_mean [0]" in line and "exact value is zero" in line for line in table(case, half))


def test_sequences_name_the_step(plain_case: Callable[..., Case]) -> None:
    spec = plain_case().spec
    assert spec.steps == ("training",)
    import numpy as np

    from bnfuzz.case import Inputs, batch_norm_spec

    steps = batch_norm_spec((3, 1), steps=("training", "inference"), cotangent="sum")
    x = np.float32([[[[1], [2], [4]], [[0], [1], [5]]]])
    one = np.ones((1, 1), np.float32)
    case = Case(spec=steps, inputs=Inputs(x=x, gamma=one, beta=one, running_mean=one, running_var=one))
    lines = table(case, "numpy")
    assert any(line.startswith("y step ") for line in lines)


def test_nothing_judged_gives_nothing(plain_case: Callable[..., Case], implementations: Path) -> None:
    case = plain_case([1.0, 2.0], channel_axis=0)
    right = f"target:{implementations}:right"
    assert table(case, right) == []
    with Pool() as pool:
        assert conditions(evaluate_block(pool, (right,), case.spec, case.inputs)) == ""
