"""Version ranges of backends, as in package requirements: ">=0.12,<0.13"; the empty range is every version."""

from __future__ import annotations

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from bnfuzz.errors import UsageError


def check_range(versions: str) -> None:
    """Raises UsageError where `versions` is no version range."""
    try:
        SpecifierSet(versions)
    except InvalidSpecifier:
        raise UsageError(f'versions={versions!r} is no version range; write one like ">=0.12,<0.13"') from None


def within(version: str | None, versions: str) -> bool:
    """Whether the version lies in the range. None means "do not ask"; an odd version lies in the empty range only."""
    if version is None or not versions:
        return True
    try:
        return SpecifierSet(versions).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False
