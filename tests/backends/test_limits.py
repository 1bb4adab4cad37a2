"""Limits of workers."""

from __future__ import annotations

import pytest

from bnfuzz.backends.limits import LONGEST_CALL, Limits
from bnfuzz.errors import UsageError


@pytest.mark.parametrize("seconds", [0.5, 30.0, 3600.0])
def test_who_waits_longer_for_a_call_waits_longer_for_compiling(seconds: float) -> None:
    limits = Limits.of_timeout(seconds)
    assert limits.call_seconds == seconds
    assert limits.compile_seconds > seconds
    assert limits.compile_seconds / seconds == Limits.of_timeout(1.0).compile_seconds


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 2 * LONGEST_CALL])
def test_what_is_no_timeout(seconds: float) -> None:
    with pytest.raises(UsageError, match="is out of range; give 0 < seconds"):
        Limits.of_timeout(seconds)
