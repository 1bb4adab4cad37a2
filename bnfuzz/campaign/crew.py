"""Processes of this machine that search: one executor each, so that a death is blamed on the unit it was at.

A crew is a `concurrent.futures.Executor` that knows its size and which errors mean that a worker was lost.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from bnfuzz.backends.pool import Limits
from bnfuzz.campaign import shard
from bnfuzz.campaign.frames import Described
from bnfuzz.errors import InfrastructureError, InternalError


class Crew(Protocol):
    """Who works on a campaign.

    size      units that can be worked on at a time; 0 where nobody is there at the moment
    describe  asks every worker for the backends, and brings their frameworks up
    submit    as an Executor's; no more at a time than `size`
    was_lost  whether an exception of a future means that the worker died
    hurry     asks for units at hand to end soon, where that can be
    close     ends all, whatever is being done
    """

    @property
    def size(self) -> int: ...
    def describe(self, backends: tuple[str, ...], limits: Limits) -> Collection[dict[str, Described]]: ...
    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]: ...
    def was_lost(self, error: BaseException) -> bool: ...
    def hurry(self) -> None: ...
    def close(self) -> None: ...


class LocalCrew:
    """So many processes of this machine; one that dies is replaced when it is needed.

    They are spawned: a script that makes a crew keeps that below `if __name__ == "__main__":`.
    """

    def __init__(self, jobs: int) -> None:
        self.size = jobs
        self._places = [_Place() for _ in range(jobs)]

    def describe(self, backends: tuple[str, ...], limits: Limits) -> Collection[dict[str, Described]]:
        futures = [self.submit(shard.describe, backends, limits) for _ in range(self.size)]
        try:
            return [future.result() for future in futures]
        except BrokenExecutor:
            raise InfrastructureError(
                "a job died while it started; see what it printed above, and try --jobs 1"
            ) from None

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        free = next((place for place in self._places if place.free), None)
        if free is None:
            raise InternalError(f"all {self.size} jobs are at work")
        return free.submit(function, *arguments)

    def was_lost(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def hurry(self) -> None:
        for place in self._places:
            place.interrupt()

    def close(self) -> None:
        for place in self._places:
            place.close()


class _Place:
    """The place of one process, whichever fills it at the moment."""

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
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.kill()
            process.join()
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
