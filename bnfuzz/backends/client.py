"""One worker process from the parent's side: start it, send a request, collect its answers, replace it.

A crash is an end of the stream, a hang is a deadline passed; both end the process and are blamed on the
backend whose turn it was.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bnfuzz.backends import wire
from bnfuzz.backends.environments import Environment
from bnfuzz.backends.memory import resident_bytes
from bnfuzz.case import Array
from bnfuzz.errors import InternalError

ONE_THREAD = MappingProxyType(
    {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMEXPR_NUM_THREADS": "1",
        "VECLIB_MAXIMUM_THREADS": "1",
        "MXNET_ENGINE_TYPE": "NaiveEngine",
        "MXNET_STORAGE_FALLBACK_LOG_VERBOSE": "0",
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
)
XLA_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
CHATTER_BYTES = 1 << 16
CHATTER_LINES = 80
WATCH_SECONDS = 0.1
"""Between looks at a worker's memory: what fills pages fastest gets some hundred megabytes in that time."""


class WorkerDied(Exception):
    """The process ended or sent garbage: `reason` says how, `chatter` is the last of what it printed."""

    def __init__(self, reason: str, chatter: str) -> None:
        super().__init__(reason)
        self.reason, self.chatter = reason, chatter


class WorkerHung(Exception):
    """No answer within the deadline; the process has been killed."""


class Worker:
    """A process in `environment`, with JAX's 64-bit mode on or off; started on construction.

    It is killed when it holds more than `memory_bytes`, resident: address space, which resource limits count, says
    little (JAX maps 1.4 GB of it and holds 0.2), and a limit of it raises MemoryError where the function asks for it.
    It dies with the thread that constructed it (PR_SET_PDEATHSIG counts threads): make workers in a thread that lasts.
    """

    def __init__(self, environment: Environment, *, x64: bool, memory_bytes: int) -> None:
        ours, theirs = socket.socketpair()
        # An isolated interpreter sees only its own packages; -P keeps this folder (jax.py, torch.py) off the path.
        flags = ["-I"] if environment.isolated else ["-P"]
        main = Path(__file__).with_name("worker_main.py")
        with theirs:
            self._process = subprocess.Popen(
                [str(environment.python), *flags, str(main), str(theirs.fileno()), str(os.getpid())],
                env=worker_variables(os.environ, x64=x64),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # an interrupt from the terminal is the parent's to handle
            )
        self._channel = ours
        self._chatter = b""
        self._memory_bytes = memory_bytes
        self._excess = ""
        self._drain = threading.Thread(target=self._watch, daemon=True)
        self._drain.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, header: Mapping[str, Any], arrays: Mapping[str, Array], seconds: float) -> None:
        """Sends a request; raises WorkerDied, or WorkerHung where it does not take it within `seconds`."""
        self._channel.settimeout(seconds)
        try:
            self._channel.sendall(wire.encode(header, arrays))
        except TimeoutError:
            self._hung(seconds)
        except OSError:
            raise self._died() from None

    def receive(self, seconds: float) -> tuple[wire.Header, dict[str, Array]]:
        """The next answer; raises WorkerDied or WorkerHung, and the process has ended then."""
        deadline = time.monotonic() + seconds

        def read(count: int) -> bytes:
            buffer = bytearray(count)
            view, done = memoryview(buffer), 0
            while done < count:
                self._channel.settimeout(max(deadline - time.monotonic(), 1e-3))
                got = self._channel.recv_into(view[done:])
                if got == 0:
                    raise EOFError
                done += got
            return bytes(buffer)

        try:
            return wire.decode(read)
        except TimeoutError:
            self._hung(seconds)
        except (EOFError, OSError):
            raise self._died() from None
        except wire.WireError as error:
            self._process.kill()
            died = self._died()
            raise WorkerDied(f"sent garbage ({error})", died.chatter) from None
        raise InternalError("a read neither answered nor failed")

    def close(self) -> None:
        """Ends the process and what it has started, whatever they are doing."""
        self._channel.close()
        self._kill_group()
        self._process.kill()
        self._process.wait()
        # A process that left the group keeps the pipe open: nobody waits for it.
        self._drain.join(timeout=1)
        if self._process.stdout is not None and not self._drain.is_alive():
            self._process.stdout.close()

    def _kill_group(self) -> None:
        # Not after the process was waited for: its number may be another's then.
        if self._process.returncode is None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _hung(self, seconds: float) -> None:
        self.close()
        raise WorkerHung(f"no answer within {seconds:g} s")

    def _died(self) -> WorkerDied:
        if not self._ends(seconds=5):
            self._process.kill()
        self._kill_group()
        code = self._process.wait()
        self.close()
        lines = self._chatter.decode(errors="replace").splitlines()
        return WorkerDied(self._excess or how_ended(code), "\n".join(lines[-CHATTER_LINES:]))

    def _ends(self, *, seconds: float) -> bool:
        """Whether the process ends by itself within that time; it is not waited for, so that its number stays its."""
        if not hasattr(os, "waitid"):
            return True
        deadline = time.monotonic() + seconds
        while os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return True

    def _watch(self) -> None:
        """Keeps the last of what the process prints, and ends it when it holds too much memory."""
        stream = self._process.stdout
        assert stream is not None
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        while True:
            if poll.poll(1000 * WATCH_SECONDS):
                chunk = os.read(stream.fileno(), 4096)
                if not chunk:
                    return
                # By bytes: a traceback of a dying interpreter comes in scores of tiny writes.
                self._chatter = (self._chatter + chunk)[-CHATTER_BYTES:]
            held = resident_bytes(self._process.pid)
            if held > self._memory_bytes and not self._excess:
                self._excess = (
                    f"killed: it held {held >> 20} MiB of memory; the limit is {self._memory_bytes >> 20} MiB"
                )
                self._process.kill()


def how_ended(code: int) -> str:
    """A return code in words: the signal's name, or the exit code."""
    if code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"ended with exit code {code}"


def worker_variables(outside: Mapping[str, str], *, x64: bool) -> dict[str, str]:
    """The environment variables of a worker: one thread, the CPU, JAX's 64-bit mode as asked."""
    xla = f"{outside.get('XLA_FLAGS', '')} {XLA_ONE_THREAD}".strip()
    return {**outside, **ONE_THREAD, "XLA_FLAGS": xla, "JAX_ENABLE_X64": "1" if x64 else "0"}
