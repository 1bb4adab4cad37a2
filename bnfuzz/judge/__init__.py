"""The judge. `from bnfuzz.judge import judge` loads it on first use."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "judge":
        raise AttributeError(f"module 'bnfuzz.judge' has no attribute {name!r}")
    from bnfuzz.judge.compare import judge

    return judge
