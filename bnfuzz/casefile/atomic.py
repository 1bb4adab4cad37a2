"""Files that are written whole or not at all, also when the writer is killed or the disk is full."""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bnfuzz.errors import BnfuzzError, InfrastructureError, UsageError

LEFTOVER = ".tmp-"
"""Start of the names of files being written; a killed writer leaves one, no reader takes it for a case."""

LEFTOVER_AGE = 3600.0
"""Seconds after which a leftover belongs to no living writer."""

_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})


def write_atomic(path: Path, text: str) -> None:
    """Puts `text` at `path`, in place of what is there: readers see the old or the new file, never a part.

    Raises InfrastructureError where the machine fails (a full disk), UsageError where the folder cannot be written;
    the old file is intact then.
    """
    write_bytes_atomic(path, text.encode("utf-8"))


def write_bytes_atomic(path: Path, data: bytes) -> None:
    """As `write_atomic`, for what is no text."""
    with _written(path, data) as temporary, _explained(path):
        os.replace(temporary, path)
        _sync_folder(path.parent)


def create_atomic(path: Path, text: str) -> bool:
    """As `write_atomic`, but never in place of a file: False where `path` exists, whoever made it."""
    with _written(path, text.encode("utf-8")) as temporary, _explained(path):
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            # Some file systems have no hard links; between this check and the rename another writer could come.
            if error.errno not in _NO_LINKS:
                raise
            if path.exists():
                return False
            os.replace(temporary, path)
        _sync_folder(path.parent)
        return True


def make_folder(folder: Path) -> None:
    """Creates the folder and its parents where missing; raises as `write_atomic`."""
    with _explained(folder):
        folder.mkdir(parents=True, exist_ok=True)


def remove_leftovers(folder: Path, *, age: float = LEFTOVER_AGE) -> int:
    """Removes what killed writers left in the folder and below, if older than `age` seconds; how many."""
    removed = 0
    for place, _, names in os.walk(folder):
        for name in names:
            if name.startswith(LEFTOVER):
                leftover = Path(place, name)
                with suppress(OSError):
                    if time.time() - leftover.lstat().st_mtime > age:
                        leftover.unlink()
                        removed += 1
    return removed


@contextmanager
def locked(path: Path, *, patience: float = 10.0) -> Iterator[bool]:
    """Holds an advisory lock on the file `path`, which ends with the process; whether it was got within `patience`.

    It spares two writers the loss of each other's changes to one file. Without it (a stopped holder, a file system or
    system without locks) writing stays safe file by file, so the caller goes on in any case.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    with _explained(path):
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        yield _acquire(lambda: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB), patience)
    finally:
        os.close(handle)


def _acquire(attempt: Callable[[], None], patience: float) -> bool:
    deadline = time.monotonic() + patience
    while True:
        try:
            attempt()
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        except OSError:
            return False
        else:
            return True


@contextmanager
def _written(path: Path, content: bytes) -> Iterator[Path]:
    """A complete, synchronised temporary file beside `path`; gone afterwards."""
    temporary = path.parent / f"{LEFTOVER}{os.getpid()}-{secrets.token_hex(4)}"
    data = memoryview(content)
    try:
        with _explained(path):
            handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            try:
                while data:
                    data = data[os.write(handle, data) :]
                os.fsync(handle)
            finally:
                os.close(handle)
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise explained(path, error) from error


def explained(path: Path, error: OSError) -> BnfuzzError:
    """The error of this package for what the system said about writing `path`."""
    reason = error.strerror or str(error)
    if error.errno in _MACHINE:
        return InfrastructureError(f"{path} cannot be written: {reason}; make room or choose another folder")
    return UsageError(f"{path} cannot be written: {reason}; choose a folder that you may write to")


def _sync_folder(folder: Path) -> None:
    """Makes a rename in the folder durable (POSIX only: elsewhere folders cannot be opened)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
