"""The entries of known.toml against what the night has seen: known findings expire by themselves."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Mapping

from bnfuzz.casefile.versions import within
from bnfuzz.corpus import KnownFinding
from bnfuzz.night import KnownEntry
from bnfuzz.signature import backend_of, portable


def known_tonight(
    entries: tuple[KnownFinding, ...],
    *,
    number: int,
    versions: Mapping[str, str | None],
    trials: Mapping[str, int],
    replayed: Collection[str],
    mended: Collection[str],
    last_seen: Mapping[str, int],
) -> tuple[KnownEntry, ...]:
    """How each entry stands.

    versions   backend -> version of its framework
    trials     signature -> failing trials in the campaign
    replayed   signatures of stored cases that failed, and mended: recorded ones that did not
    last_seen  entry -> night, from the nights before
    """
    return tuple(
        _standing(entry, number, versions, trials, replayed, mended, last_seen.get(entry.signature, 0))
        for entry in entries
    )


def _standing(
    entry: KnownFinding,
    number: int,
    versions: Mapping[str, str | None],
    trials: Mapping[str, int],
    replayed: Collection[str],
    mended: Collection[str],
    last_seen: int,
) -> KnownEntry:
    def of(signatures: Collection[str]) -> list[str]:
        return [signature for signature in signatures if entry.matches(signature)]

    here = {name: version for name, version in versions.items() if _speaks_of(entry, name)}
    shown = KnownEntry(
        signature=entry.signature,
        reason=entry.reason,
        link=entry.link,
        versions=entry.versions,
        trials=sum(trials[signature] for signature in of(trials)),
        last_night=last_seen,
    )
    changes: dict[str, object] = {}
    if here and not any(within(version, entry.versions) for version in here.values()):
        found = ", ".join(sorted({str(version) for version in here.values()}))
        changes = {"standing": "expired", "note": f"holds for {entry.versions}, here is {found}"}
    elif shown.trials or of(replayed):
        changes = {"standing": "seen", "last_night": number}
    elif of(mended):
        found = ", ".join(f"{name} {version or ''}".strip() for name, version in sorted(here.items()))
        changes = {"standing": "fixed", "note": f"fixed in this version: {found}"}
    return KnownEntry(**{**vars(shown), **changes})


def _speaks_of(entry: KnownFinding, backend: str) -> bool:
    name = portable(backend)
    return fnmatch.fnmatchcase(name, backend_of(entry.signature)) and fnmatch.fnmatchcase(name, entry.backend)
