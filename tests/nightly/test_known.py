"""Known findings expire by themselves: mended ones, and version ranges that leave out what runs here."""

from __future__ import annotations

import pytest

from bnfuzz.corpus import KnownFinding
from bnfuzz.nightly.known import known_tonight
from tests.nightly.examples import SIGNATURE

OTHER = SIGNATURE.replace("flax", "jax")


@pytest.mark.parametrize(
    ("trials", "replayed", "mended", "versions", "standing", "last", "note"),
    [
        ({SIGNATURE: 7}, (), (), "", "seen", 9, ""),
        ({OTHER: 7}, (), (), "", "quiet", 4, ""),
        ({}, (SIGNATURE,), (SIGNATURE,), "", "seen", 9, ""),
        ({}, (), (SIGNATURE,), "", "fixed", 4, "fixed in this version: flax 0.13.0"),
        ({}, (), (OTHER,), "", "quiet", 4, ""),
        ({}, (), (), "<0.13", "expired", 4, "holds for <0.13, here is 0.13.0"),
        ({SIGNATURE: 7}, (), (), "<0.14", "seen", 9, ""),
    ],
)
def test_standing(
    trials: dict[str, int],
    replayed: tuple[str, ...],
    mended: tuple[str, ...],
    versions: str,
    standing: str,
    last: int,
    note: str,
) -> None:
    entry = KnownFinding(signature="v1/flax/batch_norm/*", reason="one-pass", versions=versions)
    (shown,) = known_tonight(
        (entry,),
        number=9,
        versions={"flax": "0.13.0", "jax": "0.10.2"},
        trials=trials,
        replayed=replayed,
        mended=mended,
        last_seen={entry.signature: 4},
    )
    assert (shown.standing, shown.last_night, shown.note) == (standing, last, note)
    assert shown.trials == trials.get(SIGNATURE, 0)


def test_an_entry_whose_backend_did_not_take_part_is_quiet() -> None:
    entry = KnownFinding(signature="v1/torch/*", reason="folded", versions="<1")
    (shown,) = known_tonight(
        (entry,), number=9, versions={"flax": "0.13.0"}, trials={}, replayed=(), mended=(), last_seen={}
    )
    assert shown.standing == "quiet"
