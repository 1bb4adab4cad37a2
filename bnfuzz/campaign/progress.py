"""The live line of a campaign: seconds, cases per second, findings, and the worst ratio per backend."""

from __future__ import annotations

import sys
import time
from typing import Protocol, TextIO

from bnfuzz.campaign.budget import Budget
from bnfuzz.campaign.findings.discover import Discoveries
from bnfuzz.campaign.tally import Tally

REFRESH_SECONDS = 0.5
PLAIN_SECONDS = 10.0
"""Between lines where the output is no terminal (a log)."""


class Watched(Protocol):
    """A campaign that goes on, here or elsewhere."""

    @property
    def budget(self) -> Budget: ...
    @property
    def tally(self) -> Tally: ...
    @property
    def discoveries(self) -> Discoveries: ...


class Progress:
    """Writes to a stream (standard error), rewriting its line on a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._next = 0.0
        self._width = 0

    def tick(self, campaign: Watched) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (REFRESH_SECONDS if self._terminal else PLAIN_SECONDS)
        line = self._line(campaign)
        if self._terminal:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Wipes the line, so that other text can be printed."""
        if self._terminal and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0

    @staticmethod
    def _line(campaign: Watched) -> str:
        elapsed = max(campaign.budget.elapsed, 1e-9)
        whole, found = campaign.tally, campaign.discoveries
        judged = whole.judged
        worst = []
        for name, tally in whole.backends.items():
            output, ratio = tally.worst
            worst.append(f"{name} {output} {ratio:.2g}" if output else f"{name} -")
        return (
            f"{elapsed:5.0f} s  {judged:,} cases ({judged / elapsed:,.0f}/s)  "
            f"{len(found.distinct)} new, {len(found.known)} known  worst: {', '.join(worst)}"
        )
