"""A campaign in a process of its own, which may be told to die, or to find the disk full, at a chosen file operation.

A module of this name is importable in the processes that a fork server makes (see `conftest.py`).
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

WRITING = ("open", "write", "fsync", "link", "replace", "unlink")
"""What a case file is written by."""

Event = Callable[[str, tuple[Any, ...]], None]


class WatchedOs:
    """The module `os`, with `event` called before each writing operation."""

    def __init__(self, event: Event) -> None:
        self._event = event

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        if name not in WRITING:
            return found

        def watched(*args: Any, **options: Any) -> Any:
            self._event(name, args)
            return found(*args, **options)

        return watched


def dies_at(number: int) -> Event:
    """SIGKILL before the operation of that number (from 1); half of what was to be written is on the disk then."""
    left = [number]

    def event(name: str, args: tuple[Any, ...]) -> None:
        left[0] -= 1
        if left[0] == 0:
            if name == "write":
                os.write(args[0], args[1][: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    return event


def full_at(number: int) -> Event:
    """No space is left from the operation of that number on; removing still works."""
    left = [number]

    def event(name: str, args: tuple[Any, ...]) -> None:
        left[0] -= 1
        if left[0] <= 0 and name not in ("unlink", "open"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return event


def counted_in(path: str) -> Event:
    """Writes how many operations there were so far into the file at `path`."""
    done = [0]

    def event(name: str, args: tuple[Any, ...]) -> None:
        done[0] += 1
        Path(path).write_text(str(done[0]))

    return event


EVENTS: dict[str, Callable[..., Event]] = {"dies": dies_at, "full": full_at, "counted": counted_in}


def _main(arguments: list[str], output: str, event: tuple[str, Any] | None) -> None:
    handle = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    from bnfuzz.casefile import atomic
    from bnfuzz.cli import bnfuzz

    if event is not None:
        atomic.os = WatchedOs(EVENTS[event[0]](event[1]))  # type: ignore[assignment]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a text stream
    bnfuzz.main(args=arguments, prog_name="bnfuzz")


class Command:
    """`bnfuzz ARGUMENTS` in a process of its own; its exit code is that of the command, -9 where it was killed."""

    def __init__(self, arguments: list[str], output: Path, event: tuple[str, Any] | None = None) -> None:
        self.output = output
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["bnfuzz.cli.fuzz", "bnfuzz.cli.corpus"])
        self.process: ForkServerProcess = context.Process(target=_main, args=(arguments, str(output), event))
        self.process.start()

    def polls(self, most: int | None = None) -> int:
        """Looks at the process until it has ended or was looked at `most` times; how many times."""
        count = 0
        while (most is None or count < most) and self.process.exitcode is None:
            self.process.join(0.002)
            count += 1
        return count

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def ended(self) -> int:
        """Waits for the end; the exit code."""
        self.process.join(300)
        code = self.process.exitcode
        assert code is not None, f"no end after 300 s: {self.text}"
        return code

    @property
    def text(self) -> str:
        return self.output.read_text("utf-8", errors="replace") if self.output.exists() else ""

    @property
    def signatures(self) -> set[str]:
        """Of the findings that were printed, whole lines only."""
        whole = [line for line in self.text.splitlines(keepends=True) if line.endswith("\n")]
        return {line.split()[1] for line in whole if line.startswith(("NEW ", "SHRUNK "))}
