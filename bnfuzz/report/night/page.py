"""The page of a night: one static HTML file that needs no network, for whoever looks first in the morning.

Case files come from strangers. So every value is escaped by the template, only addresses of the web become links, and a
content security policy lets nothing run but the page's own two scripts.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bnfuzz import __version__
from bnfuzz.casefile import CaseFile, read
from bnfuzz.errors import CaseFileError, UsageError, printable
from bnfuzz.judge.verdict import KINDS
from bnfuzz.night import STANDINGS, NightReport, Tracked
from bnfuzz.report.links import web_address
from bnfuzz.report.night.odd import odd_cases
from bnfuzz.report.night.one_cause import by_cause
from bnfuzz.report.night.page_data import inline_json, plot_data
from bnfuzz.report.night.page_tables import drawn, formats, stored
from bnfuzz.report.night.summary import headline
from bnfuzz.report.text import failure_text
from bnfuzz.signature import parts_of, portable

SECTIONS = (
    ("news", "New"),
    ("gone", "Gone"),
    ("findings", "Findings"),
    ("severity", "Error over κ"),
    ("formats", "Formats"),
    ("trend", "Nights"),
    ("drawn", "Drawn"),
    ("backends", "Backends"),
)

LONGEST_TEXT = 20_000
"""Characters of a script, or of what one printed, that the page shows; the file beside it has the rest."""


def check_ready() -> None:
    """Raises UsageError where the libraries that the page needs are not installed."""
    try:
        import jinja2  # noqa: F401
        import plotly  # noqa: F401
    except ImportError as error:
        raise UsageError(f"the page needs {error.name}; install it with: pip install 'bnfuzz[report]'") from None


def page(report: NightReport, folder: Path) -> str:
    """The page, to stand in `folder` beside `cases/` and `issues/`, from which it takes cases and scripts."""
    check_ready()
    import jinja2
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bnfuzz.report.night"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    data = plot_data(report)
    plotly, script = get_plotlyjs(), _own("page.js")
    findings = {row.signature: _finding(row, folder) for row in report.findings}
    return str(
        environment.get_template("page.html").render(
            night=report.night,
            headline=headline(report),
            tone="bad" if report.night.troubles else "news" if report.exit_code else "good",
            sections=SECTIONS,
            version=__version__,
            infinity=math.inf,
            findings=list(findings.values()),
            news=_standing(findings, report, "new", "back"),
            moved=_standing(findings, report, "changed", "flaky"),
            gone=_standing(findings, report, "gone"),
            choices=_choices(report.findings),
            odd=[
                {**vars(group), "many": group.many, "rows": _addressed(group.rows)}
                for group in odd_cases(report.replayed)
            ],
            unreadable=report.unreadable,
            known=_addressed(report.known),
            expired=_addressed(entry for entry in report.known if entry.standing in ("fixed", "expired")),
            plot_backends=data["backends"],
            plot_outputs=data["outputs"],
            plot_kinds=data["kinds"],
            formats=formats(report.formats),
            nights=[report.night, *reversed(report.history)],
            drawn=drawn(report.night),
            stored=stored(report.replayed),
            policy=_policy(plotly, script),
            # The package's own texts; the data is escaped for where it stands.
            style=Markup(_own("page.css")),
            plotly=Markup(plotly),
            script=Markup(script),
            data=Markup(inline_json(data)),
        )
    )


def _own(name: str) -> str:
    return resources.files("bnfuzz.report.night").joinpath("templates", name).read_text("utf-8")


def _policy(*scripts: str) -> str:
    """What the page may do: run these two scripts, and nothing that reaches outside of it."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _standing(findings: Mapping[str, Any], report: NightReport, *standings: str) -> list[tuple[Any, list[Any]]]:
    """(finding, others of its cause), of these standings."""
    groups = by_cause(row for row in report.findings if row.standing in standings)
    return [(findings[group.first.signature], [findings[row.signature] for row in group.others]) for group in groups]


def _choices(findings: tuple[Tracked, ...]) -> dict[str, list[str]]:
    return {
        "backend": sorted({row.backend for row in findings}),
        "kind": sorted({row.kind for row in findings}, key=KINDS.index),
        "standing": sorted({row.standing for row in findings}, key=STANDINGS.index),
    }


def _addressed(records: Iterable[Any]) -> list[dict[str, Any]]:
    """The records' fields, with the address that may be linked."""
    return [{**vars(record), "address": web_address(record.link)} for record in records]


def _finding(row: Tracked, folder: Path) -> dict[str, Any]:
    parts = parts_of(row.signature)
    mode, formats, regime = ("", "", "") if parts is None else (parts.mode, parts.formats, parts.regime)
    names = formats.split("-")
    file = _case(row, folder)
    issue = Path(row.issue).name if row.issue else ""
    script, printed = (f"{issue.removesuffix('.md')}{suffix}" if issue else "" for suffix in (".py", ".out"))
    return {
        **vars(row),
        "place": f"f-{hashlib.sha256(row.signature.encode()).hexdigest()[:10]}",
        "mode": mode,
        "formats": names[0] if len(set(names)) == 1 else formats,
        "regime": regime,
        "address": web_address(row.link),
        "files": [
            (f"{place}/{quote(name)}", said)
            for place, name, said in (
                ("issues", issue, "issue text"),
                ("issues", script, "script"),
                ("issues", f"{issue.removesuffix('.md')}.svg" if issue else "", "offset ladder"),
                ("cases", Path(row.case).name if file is not None else "", "case file"),
            )
            if name and (folder / place / name).is_file()
        ],
        "text": "" if file is None else _text(row, file),
        "script": _read(folder / "issues" / script) if script else "",
        "printed": _read(folder / "issues" / printed) if printed else "",
    }


def _case(row: Tracked, folder: Path) -> CaseFile | None:
    if not row.case:
        return None
    try:
        return read(folder / "cases" / Path(row.case).name)
    except CaseFileError:
        return None


def _text(row: Tracked, file: CaseFile) -> str:
    verdicts = file.verdicts.get(portable(row.backend), ())
    notes = {"title": file.origin.title, "note": file.origin.note, "origin": file.origin.campaign}
    return failure_text(file.case, row.backend, verdicts, version=None, where=row.case, notes=notes)


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            text = stream.read(LONGEST_TEXT + 1)
    except OSError:
        return ""
    return printable(text[:LONGEST_TEXT]) + ("\n…" if len(text) > LONGEST_TEXT else "")
