"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bnfuzz.casefile.atomic import LEFTOVER, create_atomic, locked, make_folder, remove_leftovers, write_atomic
from bnfuzz.errors import InfrastructureError, UsageError


def failing(code: int) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return fail


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_write_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a.json", "old")
    write_atomic(tmp_path / "a.json", "γ new")
    assert (tmp_path / "a.json").read_text("utf-8") == "γ new"
    assert names(tmp_path) == ["a.json"]


def test_create_never_replaces(tmp_path: Path) -> None:
    assert create_atomic(tmp_path / "a.json", "first")
    assert not create_atomic(tmp_path / "a.json", "second")
    assert (tmp_path / "a.json").read_text() == "first"
    assert names(tmp_path) == ["a.json"]


def test_create_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", failing(errno.EPERM))
    assert create_atomic(tmp_path / "a.json", "first")
    assert not create_atomic(tmp_path / "a.json", "second")
    assert (tmp_path / "a.json").read_text() == "first"
    assert names(tmp_path) == ["a.json"]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:3]))
    write_atomic(tmp_path / "a.json", "0123456789")
    assert (tmp_path / "a.json").read_text() == "0123456789"


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize(
    ("code", "error"),
    [
        (errno.ENOSPC, InfrastructureError),
        (errno.EDQUOT, InfrastructureError),
        (errno.EIO, InfrastructureError),
        (errno.EROFS, UsageError),
        (errno.EACCES, UsageError),
    ],
    ids=errno.errorcode.get,
)
def test_a_failure_keeps_the_old_file(
    call: str, code: int, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_atomic(path, "old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing(code))
        with pytest.raises(error, match=r"a\.json cannot be written: .*; (make room|choose a folder)"):
            write_atomic(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.json"]


def test_a_disk_that_fills_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, room = os.write, [5]

    def some(handle: int, data: Any) -> int:
        if room[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(handle, data[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr(os, "write", some)
    with pytest.raises(InfrastructureError, match="No space left on device; make room"):
        create_atomic(tmp_path / "a.json", "more than five")
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot be written: .*; choose a folder that you may write to"):
        make_folder(tmp_path / "file" / "corpus")
    with pytest.raises(UsageError, match="cannot be written"):
        write_atomic(tmp_path / "missing" / "a.json", "text")


def test_only_old_leftovers_are_removed(tmp_path: Path) -> None:
    old, new = tmp_path / f"{LEFTOVER}1-aa", tmp_path / "found" / f"{LEFTOVER}2-bb"
    new.parent.mkdir()
    old.write_text("half")
    new.write_text("half")
    os.utime(old, (0, 0))
    assert remove_leftovers(tmp_path) == 1
    assert new.exists()
    assert not old.exists()


def test_one_holder_of_a_lock_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path / ".lock") as first, locked(tmp_path / ".lock", patience=0.02) as second:
        assert first
        assert not second
    with locked(tmp_path / ".lock", patience=0.02) as third:
        assert third
