"""Records of nights, plain and hostile, and strategies for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from bnfuzz.judge.verdict import FINDINGS
from bnfuzz.night import (
    STANDINGS,
    BackendNight,
    Counts,
    Dot,
    FormatWorst,
    KnownEntry,
    Night,
    NightReport,
    Planted,
    Replayed,
    Tracked,
    Unreadable,
)

SIGNATURE = "v1/flax/batch_norm/training/y/wrong/float32-float32-float32/offset"
FOUND = "v1/target:planted.py:eps_missing/batch_norm/training/y/wrong/float32-float32-float32/plain"

HOSTILE = (
    "<script>window.stolen = 1</script>",
    '"><img src=x onerror="window.stolen = 2">',
    "</script><script>window.stolen = 3</script>",
    "javascript:window.stolen=4",
    "' onmouseover='window.stolen=5",
    "{{ 7 * 7 }}{% raw %}",
    "<a href='javascript:window.stolen=6'>press</a>",
    "| [click](javascript:window.stolen=7) `code` *bold*",
    "<!-- <script> --> ]]> \u2028 \u202e",
)


def tracked(**changes: Any) -> Tracked:
    """A new finding on flax."""
    plain = Tracked(
        signature=SIGNATURE,
        backend="flax",
        output="y",
        kind="wrong",
        severity=120.0,
        standing="new",
        first_night=3,
        last_night=3,
        version="flax 0.12.8",
    )
    return replace(plain, **changes)


def night(number: int = 3, **changes: Any) -> Night:
    """A quiet night."""
    plain = Night(
        number=number,
        started=f"2026-11-{number:02d}T02:00:00Z",
        seed=20261100000 + number,
        budget="10 minutes",
        seconds=600.0,
        search_seconds=500.0,
        judged=150_000,
        plans=600,
        backends=(
            BackendNight(name="flax", version="flax 0.12.8", judged=150_000, seconds=90.0, worst=0.8, worst_output="y"),
        ),
        drawn=(("formats: float32/float32/float32", 400), ("values: noise", 250)),
        planted=Planted(fault="eps_missing", description="eps left out", signatures=(FOUND,), trials=128),
    )
    return replace(plain, **changes)


def report(*rows: Tracked, **changes: Any) -> NightReport:
    """A night with these findings, its counts made from them."""
    standings = [row.standing for row in rows]
    counts = Counts(**{name: standings.count(name) for name in STANDINGS})
    return replace(NightReport(night=night(counts=counts), findings=rows, history=(night(1), night(2))), **changes)


def dot(**changes: Any) -> Dot:
    """A point below the bound."""
    plain = Dot(
        backend="flax",
        output="y",
        kind="ok",
        severity=0.3,
        kappa=40.0,
        format="float32",
        what="training [4, 3]",
        seed=1,
        trial=0,
    )
    return replace(plain, **changes)


def hostile_report() -> NightReport:
    """Every text that can come from a case file, a known.toml or a backend's name is hostile."""
    rows = [
        tracked(
            signature=f"{SIGNATURE}{number}",
            backend=text,
            note=text,
            cause=text,
            link=text,
            issue=text,
            case=text,
            version=text,
            fixed_in=text,
            standing=STANDINGS[number % len(STANDINGS)],
            gone_night=3,
        )
        for number, text in enumerate(HOSTILE)
    ]
    odd = ("failed", "fixed", "known")
    return report(
        *rows,
        replayed=tuple(
            Replayed(case=text, backend=text, standing=odd[n % 3], reason=text, link=text, title=text)
            for n, text in enumerate(HOSTILE)
        ),
        unreadable=tuple(Unreadable(case=text, problem=text) for text in HOSTILE),
        known=tuple(
            KnownEntry(signature=text, reason=text, link=text, versions=text, standing="expired", note=text)
            for text in HOSTILE
        ),
        dots=tuple(
            dot(backend=text, what=text, format=text, kappa=10.0 ** (n + 1), kind=kind, severity=0.5 + n)
            for n, text in enumerate(HOSTILE)
            for kind in ("ok", "wrong")
        ),
        formats=tuple(
            FormatWorst(backend=text, output="y", format="float32", checks=9, findings=1, worst_passing=0.4, worst=3.0)
            for text in HOSTILE
        ),
        night=night(
            backends=tuple(BackendNight(name=text, version=text) for text in HOSTILE),
            drawn=tuple((text, 3) for text in HOSTILE),
            planted=Planted(fault=HOSTILE[0], description=HOSTILE[1], signatures=(HOSTILE[2],)),
            troubles=HOSTILE,
            remarks=HOSTILE,
        ),
    )


names = st.sampled_from([f"{SIGNATURE}{number}" for number in range(6)])


@st.composite
def rows(draw: st.DrawFn) -> Tracked:
    """Any finding that a state can hold."""
    number = draw(st.integers(1, 5))
    return tracked(
        signature=draw(names),
        kind=draw(st.sampled_from(sorted(FINDINGS))),
        severity=draw(st.floats(0, allow_nan=False)),
        standing=draw(st.sampled_from(STANDINGS)),
        note=draw(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)),
        first_night=number,
        last_night=number,
        gone_night=draw(st.integers(0, 5)),
        finished=draw(st.booleans()),
    )
