"""A night in a few lines of Markdown: the step summary of continuous integration. Short when all is quiet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bnfuzz.night import NightReport, Tracked
from bnfuzz.report.links import linked
from bnfuzz.report.markdown import cell, code, escaped, table
from bnfuzz.report.night.odd import FEW, OddCases, odd_cases
from bnfuzz.report.night.one_cause import by_cause
from bnfuzz.report.words import counted, ratio

SHOWN = 25
"""Rows of a table; the page has them all."""

ATTENTION = ("new", "back", "changed", "flaky")


def headline(report: NightReport) -> str:
    """What the night came to, in one clause."""
    night, counts = report.night, report.night.counts
    if night.troubles:
        return "not to be trusted"
    parts = [
        f"{counts.new} new finding{'s' if counts.new != 1 else ''}" if counts.new else "",
        f"{counts.back} came back" if counts.back else "",
        f"{counts.changed} changed" if counts.changed else "",
        f"{counts.gone} gone" if counts.gone else "",
        f"{counts.replay_fixed} recorded ones fixed" if counts.replay_fixed else "",
    ]
    said = ", ".join(filter(None, parts)) or "nothing new"
    harmless = report.news and not any(row.fails for row in report.news)
    return f"{said} (of a kind that fails no run)" if harmless else said


def summary(report: NightReport) -> str:
    """The night as Markdown."""
    night = report.night
    word = "search" if night.new_only else f"night {night.number}"
    lines = [f"## bnfuzz {word}: {headline(report)}", ""]
    for trouble in night.troubles:
        lines += [f"> **Not to be trusted:** {escaped(trouble)}", ""]
    lines += [*_figures(report), ""]
    for title, standings in (("Needs attention", ATTENTION), ("Went away", ("gone",))):
        rows = [row for row in report.findings if row.standing in standings and _tonight(row, night.number)]
        if rows:
            lines += [f"### {title}", "", *_findings(rows), ""]
    lines += _replay(report)
    lines += _known(report)
    return "\n".join(lines).rstrip() + "\n"


def _tonight(row: Tracked, number: int) -> bool:
    return row.open or row.gone_night == number


def _figures(report: NightReport) -> Iterator[str]:
    night, counts = report.night, report.night.counts
    backends = ", ".join(escaped(_named(backend.name, backend.version)) for backend in night.backends)
    yield (
        f"{night.judged:,} trials judged in {night.search_seconds:.0f} s ({night.rate:,.0f}/s), seed {night.seed}, "
        f"on {backends or 'no backend'}."
    )
    standings = Counter(row.standing for row in report.replayed)
    replayed = ", ".join(f"{count} {name}" for name, count in standings.most_common())
    left = f", {counts.replay_left} left for the next night" if counts.replay_left else ""
    yield f"Stored cases on backends: {replayed or 'none'}{left}. Findings open: {counts.open}."
    planted = night.planted
    if planted.arrived:
        yield f"The planted fault {code(planted.fault)} was found as {code(planted.signatures[0])}."
    else:
        yield f"The planted fault {code(planted.fault)} was **not found** in {planted.trials:,} trials."
    without = sum(
        bool(row.case) and row.standing not in ("unseen", "gone") and not row.issue for row in report.findings
    )
    if without:
        whose = "its issue text" if without == 1 else "their issue texts"
        later = "" if night.new_only else "; the next night writes what it has time for"
        yield f"No time was left for {counted(without, 'finding')} to get {whose}{later}."
    if not night.complete:
        yield "Ended by the user before its time."


def _named(name: str, version: str) -> str:
    """`flax 0.12.8`; `jax-eager (jax 0.10.2)`."""
    return version if version.split(" ", maxsplit=1)[0] == name else f"{name} ({version})" if version else name


def _findings(rows: list[Tracked]) -> Iterator[str]:
    groups = by_cause(rows)
    cells = [
        (
            group.first.standing,
            cell(group.first.signature) + (f" and {len(group.others)} more of this cause" if group.others else ""),
            ratio(group.first.severity) if group.first.severity else "",
            str(group.first.first_night),
            linked(group.first.note or group.first.cause or "", group.first.link),
        )
        for group in groups[:SHOWN]
    ]
    yield table(("", "finding", "error/bound", "since night", "said of it"), cells)
    left = sum(1 + len(group.others) for group in groups[SHOWN:])
    if left:
        yield f"\nand {left} more: see the page"


def _replay(report: NightReport) -> list[str]:
    """Stored cases that do not do what is recorded."""
    cells = [row for group in odd_cases(report.replayed) for row in _odd(group)]
    lines = []
    if cells:
        lines += ["### Stored cases", "", table(("", "case", "backend", ""), cells[:SHOWN])]
        lines += [f"\nand {len(cells) - SHOWN} more: see the page"] if len(cells) > SHOWN else []
        lines.append("")
    if report.unreadable:
        lines += ["### Unreadable files", ""]
        lines += [f"- {escaped(file.problem)}" for file in report.unreadable[:SHOWN]]
        lines.append("")
    return lines


def _odd(group: OddCases) -> Iterator[tuple[str, ...]]:
    """A row per case, or one for all of them where there are many."""
    if group.many:
        named = ", ".join(cell(row.case) for row in group.rows[:FEW])
        yield group.standing, f"{len(group.rows)} cases", escaped(group.backend), f"{named}, …: see the page"
        return
    for row in group.rows:
        yield row.standing, cell(row.case), escaped(row.backend), linked(row.reason or row.title, row.link)


def _known(report: NightReport) -> list[str]:
    """Entries of known.toml that have expired."""
    over = [entry for entry in report.known if entry.standing in ("fixed", "expired")]
    if not over:
        return []
    cells = [
        (entry.standing, cell(entry.signature), escaped(entry.note), linked(entry.reason, entry.link)) for entry in over
    ]
    return ["### Known findings that have expired", "", table(("", "entry of known.toml", "", ""), cells[:SHOWN]), ""]
