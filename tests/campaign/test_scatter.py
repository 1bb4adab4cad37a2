"""The sample of a campaign: bounded, the same in whatever parts and order it was gathered, and true to the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.campaign.run import Report
from bnfuzz.campaign.scatter import SAMPLE, FormatTally, Point, Scatter

points = st.builds(
    Point,
    backend=st.sampled_from(["flax", "jax"]),
    output=st.sampled_from(["y", "dx"]),
    kind=st.sampled_from(["ok", "wrong"]),
    severity=st.floats(1e-6, 1e6) | st.just(float("inf")),
    kappa=st.floats(1.0, 1e30),
    format=st.just("float32"),
    what=st.just("training [4, 3]"),
    seed=st.integers(0, 1 << 60),
    trial=st.integers(0, 63),
)


def gathered(drawn: list[Point]) -> Scatter:
    scatter = Scatter()
    for point in drawn:
        scatter._keep(point)
    return scatter


@given(st.lists(points, max_size=60), st.data())
def test_neither_parts_nor_their_order_matter(drawn: list[Point], data: st.DataObject) -> None:
    whole = sorted(gathered(drawn), key=repr)
    shuffled = data.draw(st.permutations(drawn))
    cut = data.draw(st.integers(0, len(drawn)))
    parts = gathered(shuffled[:cut])
    parts.merge(gathered(shuffled[cut:]))
    assert sorted(parts, key=repr) == whole
    parts.merge(gathered(drawn))
    assert sorted(parts, key=repr) == whole


@given(st.lists(points, max_size=60))
def test_the_largest_of_each_decade_and_kind_is_kept(drawn: list[Point]) -> None:
    kept = list(gathered(drawn))
    assert len(kept) == len(set(kept))
    assert set(kept) <= set(drawn)
    for point in drawn:
        place = (point.backend, point.output, point.kind, point.decade)
        rivals = [other for other in kept if (other.backend, other.output, other.kind, other.decade) == place]
        assert max(other.severity for other in rivals) >= point.severity


def test_the_sample_is_bounded() -> None:
    plain = Point(
        backend="jax", output="y", kind="ok", severity=0.5, kappa=3.0, format="float32", what="", seed=0, trial=0
    )
    scatter = gathered([replace(plain, seed=seed) for seed in range(5000)])
    assert SAMPLE <= len(list(scatter)) <= SAMPLE + 1


def test_tallies_of_formats_add_up() -> None:
    first, second = Scatter(), Scatter()
    first.formats["jax", "y", "float32"] = FormatTally(checks=3, findings=1, worst_passing=0.5, worst=2.0)
    second.formats["jax", "y", "float32"] = FormatTally(checks=4, findings=0, worst_passing=0.75, worst=0.75)
    second.formats["jax", "dx", "float32"] = FormatTally(checks=1)
    first.merge(second)
    assert first.formats["jax", "y", "float32"] == FormatTally(checks=7, findings=1, worst_passing=0.75, worst=2.0)
    assert set(first.formats) == {("jax", "y", "float32"), ("jax", "dx", "float32")}


def test_a_campaign_is_sampled_as_it_was_judged(campaign: Callable[..., Report], targets: Callable[[str], str]) -> None:
    backend = targets("unbiased")
    report = campaign((backend, "numpy"), None, cases=300, seed=2, formats=("float32",))
    assert {point.backend for point in report.scatter} == {backend, "numpy"}
    assert any(point.kind == "ok" for point in report.scatter if point.backend == "numpy")
    assert any(point.kind == "wrong" for point in report.scatter if point.backend == backend)
    # Each check of an output is counted once.
    for (name, output, data_format), tally in report.scatter.formats.items():
        counted = report.tally.backends[name].outputs[output]
        assert data_format == "float32"
        assert (tally.checks, tally.findings, tally.worst) == (counted.cases, counted.findings, counted.worst)
        assert tally.worst_passing <= 1.0
    for point in report.scatter:
        assert (point.severity > 1.0) == (point.kind != "ok")
        assert point.kappa >= 1.0


def test_outputs_that_were_not_asked_for_are_not_sampled(campaign: Callable[..., Report]) -> None:
    report = campaign(("numpy",), None, cases=200, outputs=("dx",))
    assert {point.output for point in report.scatter} == {"dx"}
    assert {output for _, output, _ in report.scatter.formats} == {"dx"}
