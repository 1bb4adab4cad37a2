"""The place of one searching process: an executor of its own, so that a death is blamed on the work it was at."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from typing import Any

from bnfuzz.campaign.parallel import shard


class Place:
    """Holds one process, whichever fills it at the moment: it starts with its first task, and again after a death.

    free       nothing is being done
    submit     as an Executor's; only where it is free
    interrupt  asks for the work at hand to end soon
    close      ends the process, whatever it is doing
    """

    def __init__(self) -> None:
        self._executor: ProcessPoolExecutor | None = None
        self._processes: list[BaseProcess] = []
        self._future: Future[Any] | None = None

    @property
    def free(self) -> bool:
        return self._future is None or self._future.done()

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        if self._executor is not None:
            try:
                self._future = self._executor.submit(function, *arguments)
                return self._future
            except BrokenExecutor:
                self.close()
        before = active_children()
        with _interrupts_held() as held:
            # Spawned: a fork of a process with threads may hang. The process starts with its first task.
            context = get_context("spawn")
            self._executor = ProcessPoolExecutor(1, mp_context=context, initializer=shard.begin, initargs=(held,))
            self._future = self._executor.submit(function, *arguments)
        self._processes = [child for child in active_children() if child not in before]
        return self._future

    def interrupt(self) -> None:
        for process in self._processes:
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, signal.SIGINT)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
        if self._executor is not None:
            # The executor's own thread takes leave of the dead process; waiting for it here too, one could miss it.
            self._executor.shutdown(wait=True, cancel_futures=True)
        self._executor, self._processes = None, []


@contextmanager
def _interrupts_held() -> Iterator[bool]:
    """Ctrl-C reaches a new process too: it must not find it before it knows what to do. Yields whether it is held."""
    if threading.current_thread() is not threading.main_thread():
        yield False
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield signal.SIGINT not in before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
