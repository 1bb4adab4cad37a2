"""How much memory a process holds, and how much the machine has; both from Linux' /proc and cgroups, else unknown."""

from __future__ import annotations

import os

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
UNKNOWN_MACHINE = 8 << 30
"""What a machine that does not tell is taken to have."""


def resident_bytes(pid: int | None = None) -> int:
    """Resident memory of a process (None: this one); 0 where the system does not tell."""
    try:
        with open(f"/proc/{'self' if pid is None else pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def machine_bytes() -> int:
    """Memory of the machine, or of the container that this process lives in."""
    try:
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        installed = UNKNOWN_MACHINE
    return min([installed, *filter(None, map(_number_in, CGROUP_LIMITS))])


def _number_in(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
