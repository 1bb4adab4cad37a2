"""Time that a report may take: what there is none left for is left out, and named."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Time that is left; without a limit there is always some."""

    ends: float | None = None
    skipped: list[str] = field(default_factory=list)

    def allows(self, what: str, seconds: float = 5.0) -> bool:
        """Whether so many seconds are left; what is not allowed is remembered."""
        if self.ends is None or self.ends - time.monotonic() >= seconds:
            return True
        self.skipped.append(what)
        return False

    def left(self, most: float) -> float:
        return most if self.ends is None else max(min(most, self.ends - time.monotonic()), 1.0)
