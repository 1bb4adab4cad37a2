"""The page in a browser: it renders in silence, asks for nothing, its links and filters work, texts stay texts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bnfuzz.case import OUTPUT_NAMES
from bnfuzz.casefile import dumps, from_finding
from bnfuzz.finding import Finding
from bnfuzz.judge.verdict import Verdict
from bnfuzz.night import FormatWorst, NightReport, Replayed
from bnfuzz.report.night.page import page
from tests.conftest import small_case
from tests.nightly.examples import SIGNATURE, dot, hostile_report, night, report, tracked

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))


class Visit:
    """One page in one tab, and all that it complained of or asked for."""

    def __init__(self, browser: Any, path: Path, *, width: int = 1280, scheme: str = "light") -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(path.as_uri())

    def shown(self) -> list[str]:
        """Signatures of the findings that the filters leave."""
        found: list[str] = self.tab.eval_on_selector_all(
            ".finding:not([hidden])", "rows => rows.map(row => row.querySelector('.facts .code').textContent)"
        )
        return found

    def overflow(self) -> int:
        width: int = self.tab.evaluate("document.documentElement.scrollWidth - innerWidth")
        return width


def written(whole: NightReport, folder: Path) -> Path:
    path = folder / "page.html"
    path.write_text(page(whole, folder), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A night with findings of several backends, kinds and states, plots, and texts beside the page."""
    folder = tmp_path_factory.mktemp("night")
    for name in ("issues", "cases"):
        (folder / name).mkdir()
    finding = Finding(
        case=small_case(), backend="flax", verdicts=(Verdict(output="y", kind="wrong"),), signature=SIGNATURE
    )
    (folder / "cases" / "a.json").write_text(dumps(from_finding(finding)))
    (folder / "issues" / "a.md").write_text("the issue text")
    (folder / "issues" / "a.py").write_text("print('the script')")
    for name in ("summary.md", "junit.xml", "night.json"):
        (folder / name).write_text("beside the page")
    rows = (
        tracked(issue="a.md", case="a.json", cause="one-pass variance"),
        tracked(signature="v1/jax/b", backend="jax", kind="unstable", output="dx", standing="same"),
        tracked(
            signature="v1/jax/c",
            backend="jax",
            kind="wrong",
            standing="gone",
            gone_night=3,
            note="fixed in this version: jax 1",
        ),
        tracked(signature="v1/" + "long" * 60, backend="target:" + "deeper/" * 20 + "f.py:g", cause="word" * 80),
    )
    dots = tuple(
        dot(backend=backend, output=output, kind=kind, kappa=10.0**k, severity=10.0 ** (k - 4), trial=k)
        for backend in ("flax", "jax")
        for output in OUTPUT_NAMES
        for kind in ("ok", "wrong")
        for k in range(9)
    )
    tallies = tuple(
        FormatWorst(backend=backend, output="y", format=name, checks=99, findings=3, worst_passing=0.5, worst=7.0)
        for backend in ("flax", "flax-slow-variance")
        for name in ("float16", "bfloat16", "float32", "float64")
    )
    replayed = (
        Replayed(case="reports/" + "long" * 30 + ".json", backend="flax", standing="failed", reason="recorded: y"),
    )
    whole = report(*rows, dots=dots, formats=tallies, replayed=replayed)
    history = tuple(night(number, judged=100_000 + 7_000 * number) for number in range(1, 3))
    return written(replace(whole, history=history), folder)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_renders_in_silence_asks_for_nothing_and_fits(browser: Any, full: Path, width: int, scheme: str) -> None:
    visit = Visit(browser, full, width=width, scheme=scheme)
    assert visit.tab.locator("h1").inner_text() == "2 new findings, 1 gone"
    # A plot is drawn when its points are there.
    assert visit.tab.locator("#panels .plot .points path.point").count() == 8 * 2 * 2 * 9
    assert visit.tab.locator("#trend-judged .bars path").count() == 3
    assert visit.overflow() <= 0
    visit.tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert visit.overflow() <= 0
    for box in visit.tab.locator("figure .plot").all():
        area = box.bounding_box()
        assert area is not None
        assert area["x"] >= 0
        assert area["x"] + area["width"] <= width
        assert area["width"] >= 0.8 * min(width, 330)
    assert visit.complaints == []
    assert visit.requests == [full.as_uri()]


def test_the_plots_follow_the_colour_scheme(browser: Any, full: Path) -> None:
    visit = Visit(browser, full)
    line = visit.tab.locator("#panel-0 .xtick text").first
    before = line.evaluate("text => text.style.fill")
    visit.tab.emulate_media(color_scheme="dark")
    visit.tab.wait_for_function("old => document.querySelector('#panel-0 .xtick text').style.fill !== old", arg=before)
    assert visit.complaints == []


def test_filters_leave_what_is_asked_for(browser: Any, full: Path) -> None:
    visit = Visit(browser, full)
    assert len(visit.shown()) == 4
    for name, value, left in (
        ("backend", "jax", ["v1/jax/b", "v1/jax/c"]),
        ("kind", "unstable", ["v1/jax/b"]),
        ("kind", "", ["v1/jax/b", "v1/jax/c"]),
        ("standing", "gone", ["v1/jax/c"]),
    ):
        visit.tab.select_option(f"#filters [name={name}]", value)
        assert visit.shown() == left
    assert visit.tab.locator("#shown").inner_text() == "1 of 4"
    for name in ("backend", "standing"):
        visit.tab.select_option(f"#filters [name={name}]", "")
    visit.tab.fill("#filters [name=text]", "ONE-pass")
    assert visit.shown() == [SIGNATURE]
    visit.tab.press("#filters [name=text]", "Enter")
    assert visit.tab.url == full.as_uri()


def test_the_plot_filter_leaves_one_backend(browser: Any, full: Path) -> None:
    visit = Visit(browser, full)
    visit.tab.select_option("#plot-backend", label="jax")
    assert visit.tab.locator("#panels .plot .points path.point").count() == 8 * 2 * 9
    visit.tab.locator("#panel-0 .nsewdrag").hover()
    assert visit.complaints == []


def test_links_lead_to_the_finding_and_to_the_files_beside_the_page(browser: Any, full: Path) -> None:
    visit = Visit(browser, full)
    visit.tab.locator("#news .brief a").first.click()
    opened = visit.tab.locator("details.finding[open]")
    assert opened.locator(".facts .code").first.inner_text() == SIGNATURE
    assert opened.locator("pre").first.inner_text().startswith("flax: y wrong")
    links = visit.tab.eval_on_selector_all("a", "all => all.map(one => one.getAttribute('href'))")
    anchors = [link for link in links if link.startswith("#")]
    assert anchors
    assert all(visit.tab.locator(f"[id='{link[1:]}']").count() == 1 for link in anchors)
    beside = {link for link in links if not link.startswith("#")}
    assert beside == {"issues/a.md", "issues/a.py", "cases/a.json", "summary.md", "junit.xml", "night.json"}
    assert all((full.parent / link).is_file() for link in beside)
    opened.get_by_text("issue text").click()
    visit.tab.wait_for_url("**/issues/a.md")


def test_a_finding_in_the_address_is_open(browser: Any, full: Path) -> None:
    first = Visit(browser, full)
    place = first.tab.locator(".finding").last.get_attribute("id")
    tab = browser.new_page()
    tab.goto(f"{full.as_uri()}#{place}")
    assert tab.locator(f"#{place}[open]").count() == 1


def test_hostile_texts_are_inert(browser: Any, tmp_path: Path) -> None:
    visit = Visit(browser, written(hostile_report(), tmp_path))
    tab = visit.tab
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    tab.locator("#panels .plot").first.scroll_into_view_if_needed()
    drawn = tab.locator("#panels .points path.point")
    assert drawn.count() == 18
    for place in range(0, drawn.count(), 3):
        area = drawn.nth(place).bounding_box()
        assert area is not None
        tab.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
        tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert tab.evaluate("window.stolen") is None
    assert tab.locator("img").count() == 0
    assert tab.locator("a[href^='javascript']").count() == 0
    assert tab.evaluate("[...document.querySelectorAll('svg a')].length") == 0
    assert "<script>window.stolen = 1</script>" in tab.locator("#findings").inner_text()
    assert visit.complaints == []
    assert len(visit.requests) == 1


def test_hovering_shows_the_text_of_a_case_as_it_is(browser: Any, tmp_path: Path) -> None:
    text = "<b>training</b> &lt; <a href='javascript:1'>x</a>"
    visit = Visit(browser, written(report(dots=(dot(what=text, severity=2.0, kappa=100.0),)), tmp_path))
    point = visit.tab.locator("#panels .points path.point").first
    point.scroll_into_view_if_needed()
    area = point.bounding_box()
    assert area is not None
    visit.tab.mouse.move(area["x"] - 40, area["y"] + 40)
    visit.tab.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
    label = visit.tab.locator("#panels .hoverlayer .hovertext")
    label.wait_for()
    assert "<b>training</b> &lt; <a" in label.text_content().replace("\u00a0", " ")
    assert label.locator("a").count() == 0
