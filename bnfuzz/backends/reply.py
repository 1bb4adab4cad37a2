"""What one backend made of one request, from the frame that its worker sent, or from its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bnfuzz.backends import wire
from bnfuzz.backends.client import WorkerDied, WorkerHung
from bnfuzz.case import Array, Outputs
from bnfuzz.errors import InfrastructureError, UsageError

Status = Literal["ok", "unsupported", "error", "crash", "hang"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Reply:
    """What one backend made of one request.

    status           ok; unsupported (never sent); error (an exception); crash (the process died); hang
    outputs          with a leading trial axis (and a steps axis after it for a sequence); only when ok
    message          one line: why unsupported, the exception, the signal, the deadline
    details          the traceback, or the last lines that a dead worker printed
    mutated          inputs whose bytes a call had changed
    seconds          in calls; compile_seconds in building programs and their first calls
    """

    backend: str
    status: Status
    outputs: Outputs | None = None
    message: str = ""
    details: str = ""
    mutated: tuple[str, ...] = ()
    seconds: float = 0.0
    compile_seconds: float = 0.0


def refuse_to_go_on(header: wire.Header) -> None:
    """Raises what a worker reports that is no verdict on the backend."""
    if header["status"] == "usage":
        raise UsageError(header["message"])
    if header["status"] == "absent":
        raise InfrastructureError(
            f"backend {header['backend']} cannot start: {header['message']}; see `bnfuzz backends`\n{header['details']}"
        )


def reply_of(header: wire.Header, arrays: Mapping[str, Array]) -> Reply:
    """What a worker answered; raises as `refuse_to_go_on`."""
    refuse_to_go_on(header)
    if header["status"] != "ok":
        return Reply(backend=header["backend"], status="error", message=header["message"], details=header["details"])
    outputs: dict[str, Any] = dict(arrays)
    return Reply(
        backend=header["backend"],
        status="ok",
        outputs=Outputs(**outputs),
        mutated=tuple(header["mutated"]),
        seconds=header["seconds"],
        compile_seconds=header["compile_seconds"],
    )


def lost(name: str, error: WorkerDied | WorkerHung) -> Reply:
    """A crash or a hang, where no answer came."""
    if isinstance(error, WorkerDied):
        return Reply(backend=name, status="crash", message=error.reason, details=error.chatter)
    return Reply(backend=name, status="hang", message=str(error))
