"""Findings of one cause are told together, and none is lost by that."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.diagnosis.explanation import UNKNOWN
from bnfuzz.night import STANDINGS, Tracked
from bnfuzz.report.night.one_cause import by_cause
from bnfuzz.report.night.page import page
from bnfuzz.report.night.summary import summary
from tests.nightly.examples import report, tracked


@st.composite
def findings(draw: st.DrawFn) -> list[Tracked]:
    """Up to eight findings of few backends, standings, notes and causes."""
    return [
        tracked(
            signature=f"v1/{backend}/{number}",
            backend=backend,
            standing=draw(st.sampled_from(STANDINGS)),
            note=draw(st.sampled_from(["", "a note"])),
            cause=draw(st.sampled_from(["", UNKNOWN, "eps is missing", "eps is doubled"])),
        )
        for number, backend in enumerate(draw(st.lists(st.sampled_from(["jax", "flax"]), max_size=8)))
    ]


@given(findings())
def test_each_finding_is_in_one_group_of_its_kind(rows: list[Tracked]) -> None:
    groups = by_cause(rows)
    told = [row for group in groups for row in (group.first, *group.others)]
    assert sorted(row.signature for row in told) == sorted(row.signature for row in rows)
    assert [group.first for group in groups] == sorted((group.first for group in groups), key=rows.index)
    for group in groups:
        for other in group.others:
            assert rows.index(other) > rows.index(group.first)
            assert (other.backend, other.standing, other.cause) == (
                group.first.backend,
                group.first.standing,
                group.first.cause,
            )
            assert other.cause not in ("", UNKNOWN)


@given(findings())
def test_what_is_said_alike_of_one_backend_is_said_once(rows: list[Tracked]) -> None:
    said = [
        (group.first.backend, group.first.standing, group.first.note, group.first.cause)
        for group in by_cause(rows)
        if group.first.cause not in ("", UNKNOWN)
    ]
    assert len(said) == len(set(said))


def test_page_and_summary_tell_the_others_behind_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "/* plots */")
    rows = [tracked(signature=f"v1/flax/{number}", cause="eps is missing") for number in range(3)]
    night = report(*rows, tracked(signature="v1/flax/apart", cause="eps is doubled"))
    text = page(night, tmp_path)
    assert text.count("and 2 more of this cause") == 1
    assert text.count('<details class="finding"') == 4
    assert "v1/flax/0" in summary(night)
    assert "and 2 more of this cause" in summary(night)
    assert "v1/flax/1" not in summary(night)
    assert "v1/flax/apart" in summary(night)
