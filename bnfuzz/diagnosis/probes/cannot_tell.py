"""What a probe raises where it has no answer."""

from __future__ import annotations


class CannotTell(Exception):
    """The implementation's form hides the answer, or no alternative fits; the text says why."""
