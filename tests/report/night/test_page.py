"""The page as text: every value escaped, addresses of the web alone are links, what is shown is what was given."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.night import FormatWorst, NightReport, Replayed
from bnfuzz.report.night import page as pages
from bnfuzz.report.night.odd import FEW
from bnfuzz.report.night.page import page
from bnfuzz.report.night.page_data import HIGHEST, LOWEST, MOST_TICKS, inline_json, plot_data
from bnfuzz.report.night.page_tables import drawn, formats, stored
from tests.nightly.examples import SIGNATURE, dot, hostile_report, night, report, tracked


class Elements(HTMLParser):
    """Every start tag with its attributes, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._silent = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        self._silent = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent = False

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text += data


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the plotting library's megabytes, which no test of the text needs."""
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "/* plots */")


@pytest.mark.usefixtures("small")
def test_hostile_texts_make_no_elements_and_no_links(tmp_path: Path) -> None:
    plain, hostile = (Elements(page(one, tmp_path)) for one in (report(tracked()), hostile_report()))
    kinds = {tag for tag, _ in plain.tags} | {
        "p",
        "ul",
        "li",
        "tr",
        "td",
        "details",
        "summary",
        "strong",
        "br",
        "b",
        "small",
    }
    assert {tag for tag, _ in hostile.tags} <= kinds
    assert [tag for tag, _ in hostile.tags].count("script") == 3
    for tag, attributes in hostile.tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        if "href" in attributes:
            assert re.match(r"#|https?://|summary\.md|junit\.xml|night\.json|issues/|cases/", attributes["href"] or "")
    assert "{{ 7 * 7 }}" in hostile.text
    assert "<script>window.stolen = 1</script>" in hostile.text


@pytest.mark.usefixtures("small")
def test_links_of_known_findings_are_those_of_the_web(tmp_path: Path) -> None:
    rows = [tracked(link="https://example.org/7"), tracked(signature="v1/b", link="javascript:1")]
    links = [attributes.get("href") for tag, attributes in Elements(page(report(*rows), tmp_path)).tags if tag == "a"]
    assert "https://example.org/7" in links
    assert not [link for link in links if link and link.startswith("javascript")]


@pytest.mark.usefixtures("small")
def test_files_beside_the_page_are_linked_where_they_exist(tmp_path: Path) -> None:
    (tmp_path / "issues").mkdir()
    (tmp_path / "issues" / "a.md").write_text("text")
    (tmp_path / "issues" / "a.py").write_text("print('<b>run</b>')")
    (tmp_path / "outside.md").write_text("no")
    text = page(report(tracked(issue="a.md"), tracked(signature="v1/b", issue="../outside.md")), tmp_path)
    links = [attributes.get("href") for tag, attributes in Elements(text).tags if tag == "a"]
    assert "issues/a.md" in links
    assert "issues/a.py" in links
    assert not [link for link in links if link and "outside" in link]
    assert "print(&#39;&lt;b&gt;run&lt;/b&gt;&#39;)" in text


@pytest.mark.usefixtures("small")
def test_the_policy_lets_the_pages_own_scripts_run_and_nothing_else(tmp_path: Path) -> None:
    (policy,) = (
        attributes["content"] or ""
        for tag, attributes in Elements(page(report(), tmp_path)).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.partition("style-src")[0]


def test_a_missing_library_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "plotly", None)
    with pytest.raises(pages.UsageError, match=r"needs plotly; install it with: pip install 'bnfuzz\[report\]'"):
        pages.check_ready()


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_inline_json_reads_back_and_ends_no_element(value: object) -> None:
    text = inline_json(value)
    assert json.loads(text) == value
    assert not re.search(r"[<>&\u2028]", text)


def test_ratios_beyond_the_plot_are_drawn_at_its_edge() -> None:
    dots = (dot(severity=math.inf), dot(severity=1e-9, trial=1), dot(severity=2.5, kappa=1e30, trial=2))
    data = plot_data(report(dots=dots))
    assert [one["y"] for one in data["dots"]] == [HIGHEST, LOWEST, 2.5]
    low, high = data["decades"]["y"]
    assert low < math.log10(LOWEST) < math.log10(HIGHEST) < high
    assert data["decades"]["x"][1] > 30
    assert "error/bound ∞" in data["dots"][0]["text"]


def test_texts_in_plots_hold_no_mark_up() -> None:
    for one in plot_data(hostile_report())["dots"]:
        assert set(re.findall(r"<[^>]*>", one["text"])) <= {"<br>"}


def test_the_trend_goes_from_the_first_night_to_tonight() -> None:
    trend = plot_data(report(tracked()))["trend"]
    assert trend["night"] == [1, 2, 3]
    assert trend["new"] == [0, 0, 1]
    assert trend["rate"] == [300.0, 300.0, 300.0]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (1, 3), (1, 8), (1, 9), (40, 1000)])
def test_the_axis_of_nights_has_whole_numbers_of_nights_that_were(first: int, last: int) -> None:
    history = tuple(night(number) for number in range(first, last))
    trend = plot_data(report(night=night(last), history=history))["trend"]
    low, high = trend["range"]
    assert 0 < low < first
    assert high > last
    assert set(trend["ticks"]) <= set(trend["night"])
    assert 1 <= len(trend["ticks"]) <= MOST_TICKS
    assert trend["ticks"][-1] == last


@pytest.mark.usefixtures("small")
def test_findings_that_differ_in_their_mode_alone_can_be_told_apart(tmp_path: Path) -> None:
    rows = [tracked(), tracked(signature=SIGNATURE.replace("/training/", "/inference/"))]
    text = Elements(page(report(*rows), tmp_path)).text
    for mode in ("training", "inference"):
        assert text.count(f"{mode}, float32, offset") == 2


@pytest.mark.usefixtures("small")
def test_many_stored_cases_of_one_backend_are_folded(tmp_path: Path) -> None:
    def folded(count: int) -> int:
        rows = tuple(Replayed(case=f"{n}.json", backend="mine", standing="failed") for n in range(count))
        shown = Elements(page(report(replayed=rows), tmp_path))
        assert all(row.case in shown.text for row in rows)
        return [attributes.get("class") for _, attributes in shown.tags].count("odd")

    assert (folded(FEW), folded(FEW + 1)) == (0, 1)


def test_formats_show_the_worst_that_passed() -> None:
    def tally(output: str, worst: float, findings: int = 0) -> FormatWorst:
        return FormatWorst(
            backend="flax",
            output=output,
            format="float32",
            checks=100,
            findings=findings,
            worst_passing=worst,
            worst=9.0,
        )

    table = formats([tally("y", 0.25), tally("dx", 0.75, findings=2)])
    assert table["names"] == ["float32"]
    (row,) = table["rows"]
    (cell,) = row["cells"]
    assert (cell["output"], cell["worst"], cell["checks"], cell["share"], cell["heat"]) == ("dx", 0.75, 200, "1 %", 75)


def test_stored_cases_are_counted_by_backend_and_standing() -> None:
    rows = [Replayed(case=f"{n}", backend="jax", standing=name) for n, name in enumerate(["known", "ok", "ok"])]
    assert stored(rows) == {"names": ["ok", "known"], "rows": [("jax", [2, 1])]}


def test_what_was_drawn_is_a_share_of_the_plans() -> None:
    assert drawn(night()) == [("formats", [("float32/float32/float32", 67, 400)]), ("values", [("noise", 42, 250)])]


def test_a_report_of_nothing_is_a_page_too(tmp_path: Path) -> None:
    empty = NightReport(night=night(judged=0, plans=0, backends=(), drawn=(), search_seconds=0.0))
    text = Elements(page(empty, tmp_path)).text
    assert "Nothing was judged." in text
    assert SIGNATURE not in text
