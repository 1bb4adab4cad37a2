"""Version ranges."""

from __future__ import annotations

import pytest

from bnfuzz.casefile.versions import check_range, within
from bnfuzz.errors import UsageError

TABLE = [
    ("0.12.8", ">=0.12", True),
    ("0.11.9", ">=0.12", False),
    ("2.13.0+cpu", "<=2.13", True),
    ("1.0rc1", ">=0.9", True),
    ("1.0rc1", ">=1.0", False),
    ("0.12.8", "", True),
    ("git-1a2b", "", True),
    ("git-1a2b", ">=0", False),
    (None, ">=5", True),
]


@pytest.mark.parametrize(("version", "versions", "expected"), TABLE)
def test_within(version: str | None, versions: str, expected: bool) -> None:
    assert within(version, versions) is expected


@pytest.mark.parametrize("versions", ["0.12", "latest", ">= one", ">=1;<2"])
def test_what_is_no_range(versions: str) -> None:
    with pytest.raises(UsageError, match="is no version range; write one like"):
        check_range(versions)
