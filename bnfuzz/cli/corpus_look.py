"""`bnfuzz corpus list` and `show`."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from bnfuzz.casefile import CaseFile, State
from bnfuzz.cli.cases import existing, folder_option, resolve, tell_problems
from bnfuzz.corpus import KNOWN_FILE, Corpus, Entry, known
from bnfuzz.judge.verdict import FINDINGS
from bnfuzz.report.words import counted, inputs_words, spec_words


@click.command("list")
@folder_option
@click.option("--state", type=click.Choice(get_args(State)), help="Only cases of this state.")
@click.option("--backend", help="Only cases with an expectation for this backend.")
@click.option("--kind", type=click.Choice(sorted(FINDINGS)), help="Only cases that record a failure of this kind.")
@click.option("--signature", help="Only cases with this signature, or one that fits this pattern (with * and ?).")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list, for other programs.")
def list_cases(
    folder: Path, state: str | None, backend: str | None, kind: str | None, signature: str | None, *, as_json: bool
) -> None:
    """One line for each case: id, state, severity, shape, what is expected, file."""
    corpus = existing(folder)

    def is_wanted(file: CaseFile) -> bool:
        return (
            (state is None or file.state == state)
            and (backend is None or bool(file.expected(backend)))
            and (kind is None or any(kind in entry.findings.values() for entry in file.expectations))
            and (signature is None or any(fnmatch.fnmatchcase(own, signature) for own in file.signatures))
        )

    shown = [entry for entry in corpus.entries if is_wanted(entry.file)]
    tell_problems(corpus)
    if as_json:
        click.echo(json.dumps([_tree(corpus, entry) for entry in shown], indent=2, ensure_ascii=False))
        return
    for entry in shown:
        file = entry.file
        shape = "x".join(map(str, file.case.spec.shape))
        severity = f"{file.severity:.3g}" if file.severity else "-"
        what = "; ".join(_expectation_words(file)) or file.origin.title or "-"
        click.echo(f"{file.id}  {file.state:5}  {severity:>8}  {shape:12}  {what}  {_place(corpus, entry)}")
    whole, unreadable = counted(len(corpus.entries), "case"), counted(len(corpus.problems), "unreadable file")
    click.echo(f"{len(shown)} of {whole}, {unreadable}")


def _place(corpus: Corpus, entry: Entry) -> str:
    return str(entry.path.relative_to(corpus.folder))


def _tree(corpus: Corpus, entry: Entry) -> dict[str, Any]:
    file, spec = entry.file, entry.file.case.spec
    return {
        "id": file.id,
        "file": _place(corpus, entry),
        "state": file.state,
        # JSON knows no infinity.
        "severity": file.severity if file.severity < float("inf") else "inf",
        "operation": spec.operation,
        "steps": list(spec.steps),
        "shape": list(spec.shape),
        "formats": list(spec.formats),
        "title": file.origin.title,
        "link": file.origin.link,
        "expectations": [
            {
                "backend": expectation.backend,
                "versions": expectation.versions,
                "expect": dict(expectation.findings) or "ok",
                "signature": expectation.signature,
                "explanation": expectation.explanation,
            }
            for expectation in file.expectations
        ],
    }


def _expectation_words(file: CaseFile) -> list[str]:
    words = []
    for entry in file.expectations:
        what = ", ".join(f"{output} {kind}" for output, kind in entry.findings.items()) or "ok"
        words.append(f"{entry.backend}{entry.versions and ' ' + entry.versions}: {what}")
    return words


STATES = {
    "open": "open: it shows a known fault",
    "flaky": "flaky: what it shows comes only now and then",
    "fixed": "fixed: it showed a fault once",
    "seed": "a seed: a question worth asking, without a known fault",
}


@click.command()
@folder_option
@click.argument("case")
def show(folder: Path, case: str) -> None:
    """All that CASE holds, in words (a path, a file name, or the start of an id)."""
    corpus = Corpus(folder)
    entry = resolve(corpus, case)
    click.echo("\n".join(_story(corpus, entry)))


def _story(corpus: Corpus, entry: Entry) -> Iterator[str]:
    file, origin = entry.file, entry.file.origin
    yield str(entry.path)
    yield f"case {file.id}, {STATES[file.state]}"
    for name in ("title", "link", "campaign", "seed", "note"):
        value = getattr(origin, name)
        if value not in ("", None):
            yield f"{name}: {value}"
    if file.descent is not None:
        so_far = "nothing was left to try" if file.descent.finished else "it was stopped before the end"
        steps = counted(len(file.descent.steps), "step")
        yield f"shrunk from case {file.descent.origin} ({file.descent.severity:.3g} bounds) in {steps}; {so_far}"
        yield from (f"  {step}" for step in file.descent.steps)
    yield from spec_words(file.case.spec)
    yield from (f"  {line}" for line in inputs_words(file.case))
    for expectation, words in zip(file.expectations, _expectation_words(file), strict=True):
        yield f"expected of {words}{', confirmed with mpmath' if expectation.confirmed else ''}"
        for label, detail in (
            ("", expectation.signature),
            ("why: ", expectation.why),
            ("cause: ", expectation.cause),
            ("", expectation.link),
        ):
            if detail:
                yield f"  {label}{detail}"
        listed = known.find(corpus.known_list, expectation.signature) if expectation.signature else None
        if listed is not None:
            yield f"  {listed.status} in {KNOWN_FILE} by {listed.signature}: {listed.reason}"
    for backend, verdicts in file.verdicts.items():
        for verdict in verdicts:
            if verdict.is_finding:
                why = f" ({verdict.why})" if verdict.why else ""
                yield (
                    f"{backend} {verdict.output} {verdict.kind}{why}: at {list(verdict.index)} "
                    f"exact {verdict.exact!r}, observed {verdict.observed!r}, {verdict.severity:.3g} times the bound"
                )
    if file.environment:
        yield "seen with"
        yield from (f"  {name} = {value}" for name, value in sorted(file.environment.items()))
