"""The child side: reads requests, runs them, answers; one thread, one request at a time.

The protocol has a descriptor of its own, so whatever a framework or a user's function prints goes elsewhere.
The process ends with its parent, leaves no core file, and answers every Python exception; what kills it is
for the parent to see.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np

from bnfuzz.backends import registry, wire
from bnfuzz.backends.base import Backend
from bnfuzz.backends.execution import Programs, run_trials
from bnfuzz.backends.memory import resident_bytes
from bnfuzz.backends.surroundings import put_back
from bnfuzz.case import Array, Spec
from bnfuzz.errors import UsageError

MAX_TEXT = 20_000


def main(descriptor: int, parent: int) -> None:
    """Serves the socket `descriptor` until its end."""
    tie_to_parent(parent)
    no_core_files()
    faulthandler.enable()
    with socket.socket(fileno=descriptor) as channel:
        channel.setblocking(True)
        # A process that a function under test forks must not hold the line: its end tells the parent of a death.
        os.register_at_fork(after_in_child=channel.close)
        Server(channel).serve()


def tie_to_parent(parent: int) -> None:
    """SIGKILL for this process when its parent dies, even while it hangs in native code (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


def no_core_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_exactly(channel: socket.socket, count: int) -> bytes:
    """`count` bytes; EOFError at the end of the stream."""
    buffer = bytearray(count)
    view, done = memoryview(buffer), 0
    while done < count:
        got = channel.recv_into(view[done:])
        if got == 0:
            raise EOFError
        done += got
    return bytes(buffer)


class Server:
    """Answers requests, each for the backends that it names: {"do": WHAT, "backends": [names], …}.

    describe   versions and conventions
    run        outputs of all trials of "spec"
    observe    one trial of "spec" taken apart (`Backend.observe`)
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._pid = os.getpid()
        self._programs = Programs()
        self._started: dict[str, Backend] = {}

    def serve(self) -> None:
        while True:
            try:
                header, arrays = wire.decode(lambda count: read_exactly(self._channel, count))
            except (EOFError, ConnectionResetError):
                return
            for name in header["backends"]:
                self._answer(name, header, arrays)

    def _answer(self, name: str, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        try:
            with put_back():
                reply, outputs = self._done(name, header, arrays)
            frame = wire.encode({**reply, "backend": name, **self._load()}, outputs)
        except BaseException as error:
            # BaseException: a function under test that calls sys.exit has failed, the worker has not.
            if os.getpid() != self._pid:
                os._exit(0)  # the copy that the function forked: only one of the two answers
            frame = wire.encode({**described(error), "backend": name, **self._load()}, {})
        self._channel.sendall(frame)

    def _done(
        self, name: str, header: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> tuple[dict[str, Any], Mapping[str, Array]]:
        if name not in self._started:
            backend = registry.get(name)
            try:
                backend.start()
            except ImportError as error:
                return {"status": "absent", "message": str(error), "details": last_of(traceback.format_exc())}, {}
            self._started[name] = backend
        backend = self._started[name]
        if header["do"] == "describe":
            conventions = wire.to_json(backend.conventions)
            return {"status": "ok", "versions": backend.versions(), "conventions": conventions}, {}
        spec = wire.from_json(Spec, header["spec"])
        if header["do"] == "observe":
            return {"status": "ok"}, backend.observe(spec, {name: np.array(array[0]) for name, array in arrays.items()})
        execution = run_trials(backend, self._programs, spec, arrays)
        return {
            "status": "ok",
            "mutated": execution.mutated,
            "seconds": execution.seconds,
            "compile_seconds": execution.compile_seconds,
        }, execution.outputs

    def _load(self) -> dict[str, int]:
        """What decides when the parent replaces this process."""
        return {"built": self._programs.built, "resident": resident_bytes()}


def described(error: BaseException) -> dict[str, Any]:
    """An exception as a reply; a UsageError is the caller's, any other the backend's."""
    return {
        "status": "usage" if isinstance(error, UsageError) else "error",
        "message": str(error) if isinstance(error, UsageError) else last_of(f"{type(error).__name__}: {_text(error)}"),
        "details": last_of("".join(traceback.format_exception(error))),
    }


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as second:
        return f"(its text cannot be had: {type(second).__name__})"


def last_of(text: str) -> str:
    return text if len(text) <= MAX_TEXT else "…" + text[-MAX_TEXT:]
