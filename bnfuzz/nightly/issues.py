"""One text per finding below issues/, ready to be pasted: written once, updated in place, and never doubled.

NAME.md    a line on how the finding stands, then the text
NAME.py    its stand-alone script, NAME.out what that printed, NAME.svg the offset ladder: where there are such
"""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass

from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import CaseFile
from bnfuzz.casefile.atomic import write_atomic
from bnfuzz.corpus import Entry
from bnfuzz.errors import BnfuzzError, printable
from bnfuzz.night import Tracked
from bnfuzz.nightly.ledger import Ledger
from bnfuzz.nightly.store import Store, stem_of
from bnfuzz.report.issue.prepare import prepare
from bnfuzz.report.markdown import code, escaped, fenced
from bnfuzz.report.text import failure_text
from bnfuzz.signature import portable

BODY = "<!-- the text -->"
"""Stands between the line on the standing and the text that is pasted."""

REWRITTEN = frozenset({"new", "back", "changed"})
"""Standings whose text is made anew."""

LEAST_SECONDS = 2.0
"""Below this no text is begun: its script has to be run."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """What is written of one finding.

    cause        what was found of it on the way; empty where it was not looked for
    incomplete   why no script vouches for it; empty where one does
    """

    markdown: str
    script: str = ""
    output: str = ""
    plot: str = ""
    cause: str = ""
    incomplete: str = ""


def write_issues(ledger: Ledger, store: Store, pool: Pool, backends: tuple[str, ...], seconds: float) -> list[str]:
    """Writes and updates the texts, what needs attention first; what is to be remarked of them.

    Those that time does not allow are the next night's.
    """
    deadline = time.monotonic() + seconds
    due = [row for row in ledger.due if _is_due(row, backends)]
    remarks, left = [], 0
    for place, row in enumerate(due):
        file = store.case_of(row)
        if file is None:
            continue
        allowance = (deadline - time.monotonic()) / (len(due) - place)
        if allowance < LEAST_SECONDS:
            left += 1
            continue
        name = row.issue or f"{stem_of(row.signature)}.md"
        text = _text(pool, store, row, file, name, backends, allowance)
        if text.incomplete:
            remarks.append(f"{name}: not ready to be sent: {text.incomplete}")
        ledger.learn(row.signature, issue=name, issue_ready=not text.incomplete, cause=row.cause or text.cause)
        _write(store, name, ledger[row.signature], text)
    for row in ledger.due:
        if row.issue and row not in due:
            _restate(store, row)
    return [*remarks, f"{left} texts of findings are left for the next night"] if left else remarks


def _is_due(row: Tracked, backends: tuple[str, ...]) -> bool:
    return row.open and row.backend in backends and (not row.issue_ready or row.standing in REWRITTEN)


def _text(
    pool: Pool, store: Store, row: Tracked, file: CaseFile, name: str, backends: tuple[str, ...], seconds: float
) -> Text:
    plot = importlib.util.find_spec("matplotlib") is not None
    try:
        issue = prepare(
            pool,
            [Entry(store.cases / row.case, file)],
            backend=row.backend,
            signature=row.signature,
            others=[other for other in backends if other != row.backend],
            seconds=seconds,
            plot=plot,
            image=name.removesuffix(".md") + ".svg",
        )
    except BnfuzzError as error:
        verdicts = file.verdicts.get(portable(row.backend), ())
        notes = {"cause": row.cause}
        body = failure_text(file.case, row.backend, verdicts, version=pool.version(row.backend), notes=notes)
        return Text(markdown=fenced(body), incomplete=str(error).partition("\n")[0])
    return Text(
        markdown=issue.markdown,
        script=issue.script,
        output=issue.script_output,
        plot=issue.plot.decode("utf-8") if issue.plot else "",
        cause=issue.cause,
        incomplete="" if issue.ready else issue.not_ready,
    )


def _write(store: Store, name: str, row: Tracked, text: Text) -> None:
    write_atomic(store.issues / name, f"{_standing(row)}\n{BODY}\n\n{text.markdown.strip()}\n")
    for suffix, content in ((".py", text.script), (".out", text.output), (".svg", text.plot)):
        path = (store.issues / name).with_suffix(suffix)
        if content:
            write_atomic(path, content)
        else:
            path.unlink(missing_ok=True)


def _restate(store: Store, row: Tracked) -> None:
    """Another line on the standing, the text as it was."""
    path = store.issues / row.issue
    try:
        _, mark, body = path.read_text("utf-8").partition(f"{BODY}\n")
    except (OSError, UnicodeDecodeError):
        return
    if mark:
        write_atomic(path, f"{_standing(row)}\n{BODY}\n{body}")


def _standing(row: Tracked) -> str:
    said = f": {escaped(row.note)}" if row.note else ""
    since = f"open since night {row.first_night}, last seen in night {row.last_night}"
    word = "gone" if row.standing == "gone" else since
    return printable(f"> bnfuzz {code(row.signature)} {word}{said}")
