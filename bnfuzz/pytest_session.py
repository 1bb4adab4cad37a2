"""What the pytest plugin needs once stored cases have turned up: backends, workers, texts. Loaded on first use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bnfuzz.backends.pool import Pool
from bnfuzz.casefile import CaseFile
from bnfuzz.corpus import KNOWN_FILE
from bnfuzz.corpus.known import KnownFinding
from bnfuzz.corpus.known import read as read_known
from bnfuzz.replay import Outcome, corpus_of, replay, roster
from bnfuzz.report.text import failure_text, summary


class Session:
    """The backends of one pytest run and their workers, which start with the first case."""

    def __init__(self, asked: Iterable[str]) -> None:
        self.roster = roster(asked)
        self._pool = Pool()
        self._known: dict[Path, tuple[KnownFinding, ...]] = {}

    def close(self) -> None:
        """Ends the workers."""
        self._pool.close()

    def lines(self) -> list[str]:
        """For the head of the run: who takes part, and why the others do not."""
        names = ", ".join(self.roster.names) or "none"
        return [f"bnfuzz backends: {names}", *(f"  without {line}" for line in self.roster.absence_lines())]

    def run(self, path: Path, file: CaseFile, backend: str) -> Outcome:
        """What the backend makes of the case; raises UsageError where the corpus' known.toml is wrong."""
        return replay(self._pool, file, (backend,), self._known_of(path))[backend]

    def _known_of(self, path: Path) -> tuple[KnownFinding, ...]:
        folder = corpus_of(path)
        if folder is None:
            return ()
        if folder not in self._known:
            self._known[folder] = read_known(folder / KNOWN_FILE)
        return self._known[folder]

    def text(self, path: Path, file: CaseFile, outcome: Outcome) -> str:
        """The report of an outcome that is not what is recorded, on one screen."""
        if outcome.standing == "fixed":
            return (
                f"[XPASS(strict)] {outcome.title} passes {path.name}, although a finding is {outcome.reason}"
                f"{' ' + outcome.link if outcome.link else ''}\n"
                f'If the fault is fixed, set "state": "fixed" in {path}, or end the range of versions of the '
                f'expectation before {outcome.version or "this version"}. If it shows now and then, set "flaky".'
            )
        reason = f" ({outcome.reason})" if outcome.standing == "failed" and outcome.reason else ""
        headline = f"{outcome.title}: {summary(outcome.verdicts)}{reason}"
        details = "\n".join(outcome.result.reply.details.strip().splitlines()[-10:])
        text = failure_text(
            file.case,
            outcome.backend,
            outcome.verdicts,
            headline=headline,
            where=str(path),
            notes={"title": file.origin.title, "link": outcome.link or file.origin.link},
        )
        return f"{text}\n  its last lines:\n{details}" if details else text
