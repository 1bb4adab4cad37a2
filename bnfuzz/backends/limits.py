"""How long a worker may take, how much it may hold, and when it is used up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from bnfuzz.backends.memory import machine_bytes
from bnfuzz.errors import UsageError

LONGEST_CALL = 86_400.0
"""Seconds: a day. Sockets take no NaN and no infinite deadline."""

COMPILE_TIMEOUTS = 4.0
"""The first call of a Spec compiles, and so has this many times the deadline of the others."""

MEMORY_SHARE = 0.5
"""Of the machine's memory: what one worker may hold."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a worker counts as hung or as used up.

    call_seconds      for an answer whose program exists
    compile_seconds   for the first answer to a Spec, and for the import of a framework
    programs          a worker is replaced after building so many
    resident_bytes    or when its memory is larger than this after a call
    memory_bytes      a worker whose memory is larger than this within a call is killed
    """

    call_seconds: float = 30.0
    compile_seconds: float = 180.0
    programs: int = 1200
    resident_bytes: int = 3 << 30
    memory_bytes: int = field(default_factory=lambda: int(MEMORY_SHARE * machine_bytes()))

    @classmethod
    def of_timeout(cls, seconds: float) -> Self:
        """With this deadline of a call, and one for compiling in proportion."""
        return cls(call_seconds=seconds, compile_seconds=COMPILE_TIMEOUTS * seconds)

    def __post_init__(self) -> None:
        for seconds in (self.call_seconds, self.compile_seconds):
            if not 0 < seconds <= LONGEST_CALL:
                raise UsageError(
                    f"a timeout of {seconds:g} seconds is out of range; give 0 < seconds <= {LONGEST_CALL:g}"
                )
