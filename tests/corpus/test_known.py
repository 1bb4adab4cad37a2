"""known.toml: what it says, and an error with entry and field for what it cannot say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnfuzz.corpus import known
from bnfuzz.corpus.known import KnownFinding, append, dumps, find, loads, read, remove
from bnfuzz.errors import InfrastructureError, UsageError

SIGNATURE = "v1/flax/batch_norm/training/y/wrong/float32-float32-float32/offset"
GOOD = f'[[finding]]\nsignature = "{SIGNATURE}"\nreason = "one pass"\n'


def test_an_entry_and_its_defaults() -> None:
    (entry,) = loads(GOOD, "known.toml")
    assert entry == KnownFinding(signature=SIGNATURE, reason="one pass", backend="*", versions="", status="accepted")
    assert loads("", "known.toml") == ()


REFUSED = {
    "no toml": ("[[finding]\n", "no TOML: .*corpus/README.md"),
    "nested": ("a = " + "[\n" * 100_000, "no TOML"),
    "unknown top": ('signature = "x"\n', "'signature' is not known at the top; entries start with"),
    "one table": ('[finding]\nsignature = "x"\n', "two brackets"),
    "no tables": ("finding = [1]\n", "finding 1: 1 is no table"),
    "unknown field": (GOOD + 'url = "x"\n', "finding 1: field 'url' is not known; use signature, reason"),
    "field twice": (GOOD + 'reason = "y"\n', "no TOML"),
    "no signature": ('[[finding]]\nreason = "x"\n', "finding 1: field signature is missing; add it"),
    "no reason": (f'[[finding]]\nsignature = "{SIGNATURE}"\n', "finding 1: field reason is missing; add it"),
    "second entry": (GOOD + '[[finding]]\nreason = "x"\n', "finding 2: field signature is missing"),
    "blank reason": (GOOD.replace("one pass", " "), "finding 1: reason is empty; say why"),
    "number": (GOOD + "versions = 0.12\n", "finding 1: versions=0.12 is no text; put it in quotes"),
    "list": (GOOD + 'backend = ["flax"]\n', r"finding 1: backend=\['flax'\] is no text"),
    "everything": (GOOD.replace(SIGNATURE, "*"), r"finding 1: signature='\*' is no signature: it must start with"),
    "no recipe": (GOOD.replace("v1/flax", "flax"), "finding 1: signature=.*v1/flax/batch_norm"),
    "bad range": (GOOD + 'versions = "0.12"\n', "finding 1: versions='0.12' is no version range; write one like"),
    "bad status": (GOOD + 'status = "fixed"\n', "finding 1: status='fixed' is not known; use one of accepted, ignored"),
    "bad link": (GOOD + 'link = "see me"\n', "finding 1: link='see me' is no address; start it with https://"),
    "no backend": (GOOD + 'backend = ""\n', "finding 1: backend is empty; name one"),
    "other backend": (GOOD + 'backend = "jax*"\n', r"finding 1: backend='jax\*' never fits the signature's .* 'flax'"),
    "two lines": (GOOD.replace("one pass", "one\\npass"), "finding 1: reason=.* control characters; write it on one"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_entry_field_and_remedy(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(UsageError, match=message) as caught:
        loads(text, "corpus/known.toml")
    assert str(caught.value).startswith("corpus/known.toml: ")


LONG = {
    "a dotted key": "a." * 200_000 + "b = 1",
    "a deep array": "finding = " + "[" * 100_000,
    "a deep table": "finding = " + "[{a=" * 3_000,
    "a long number": "finding = " + "9" * 100_000,
}


@pytest.mark.parametrize("name", LONG)
def test_a_line_that_would_take_for_ever_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"known.toml: line 2 has \d+ characters; the limit is 8000"):
        known.loads(f"# hostile\n{LONG[name]}\n", "known.toml")


def test_what_can_be_written_can_be_read(tmp_path: Path) -> None:
    worst = KnownFinding(signature="v1/a", reason='"' * known.MAX_TEXT, link="https://" + "\\" * (known.MAX_TEXT - 8))
    known.append(tmp_path / "known.toml", worst)
    assert known.read(tmp_path / "known.toml") == (worst,)
    with pytest.raises(UsageError, match="reason has 2001 characters; the limit is 2000: shorten it"):
        KnownFinding(signature="v1/a", reason="x" * 2001)


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(tmp_path / "missing.toml") == ()
    (tmp_path / "x.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"x\.toml: byte 0 is no UTF-8; save"):
        read(tmp_path / "x.toml")
    with pytest.raises(UsageError, match=r"cannot be read .*; check its permissions"):
        read(tmp_path)
    monkeypatch.setattr(known, "MAX_BYTES", 0)
    with pytest.raises(UsageError, match="is larger than 0 bytes, the limit; use patterns"):
        read(tmp_path / "x.toml")


MATCHES = [
    (SIGNATURE, "*", "", None, True),
    (SIGNATURE, "flax", "", "0.12.8", True),
    (SIGNATURE, "*", ">=0.12,<0.13", "0.12.8", True),
    (SIGNATURE, "*", ">=0.12,<0.13", "0.13.0", False),
    (SIGNATURE, "*", "<0.13", None, True),
    ("v1/flax/*", "*", "", None, True),
    ("v1/*/y/wrong/*/offset", "fl?x", "", None, True),
    ("v1/*/y/wrong/*/offset", "jax", "", None, False),
    ("v1/*/dx/wrong/*", "*", "", None, False),
    ("v2/flax/*", "*", "", None, False),
    ("v1/Flax/*", "*", "", None, False),
]


@pytest.mark.parametrize(("signature", "backend", "versions", "version", "expected"), MATCHES)
def test_what_an_entry_speaks_of(
    signature: str, backend: str, versions: str, version: str | None, expected: bool
) -> None:
    entry = KnownFinding(signature=signature, reason="x", backend=backend, versions=versions)
    assert entry.matches(SIGNATURE, version) is expected
    assert (find((entry,), SIGNATURE, version) is entry) is expected


def test_the_first_entry_that_fits_counts() -> None:
    entries = tuple(KnownFinding(signature=pattern, reason="x") for pattern in ("v1/jax/*", "v1/*", SIGNATURE))
    assert find(entries, SIGNATURE) is entries[1]
    assert find(entries, "nonsense") is None


words = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"))).map(lambda text: "x" + text)


@given(words, words, st.sampled_from(["accepted", "ignored"]), st.sampled_from(["", "<2"]))
def test_what_is_written_reads_back(reason: str, rest: str, status: known.Status, versions: str) -> None:
    entry = KnownFinding(signature=f"v1/*/{rest}", reason=reason, status=status, versions=versions)
    assert loads(dumps(entry), "here") == (entry,)


def test_append_keeps_comments_and_says_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "corpus" / "known.toml"
    first = KnownFinding(signature=SIGNATURE, reason='a "quoted" \\ reason')
    append(path, first)
    path.write_text("# a comment\n" + path.read_text().rstrip("\n"))
    second = KnownFinding(signature="v1/jax/*", reason="x", link="https://example.org/1", versions=">=0.4")
    append(path, second)
    assert read(path) == (first, second)
    assert path.read_text().startswith("# a comment\n")
    with pytest.raises(UsageError, match="finding 2 says the same already; nothing to add"):
        append(path, second)


def test_append_never_touches_what_it_cannot_read_or_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "known.toml"
    path.write_text("[[finding]]\n")
    with pytest.raises(UsageError, match="finding 1: field signature is missing"):
        append(path, KnownFinding(signature=SIGNATURE, reason="x"))
    path.write_text(GOOD)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(InfrastructureError, match="No space left"):
        append(path, KnownFinding(signature="v1/jax/*", reason="x"))
    assert path.read_text() == GOOD


def test_the_committed_list_is_readable() -> None:
    folder = Path(__file__).parents[2] / "corpus"
    read(folder / "known.toml")
    example = (folder / "README.md").read_text("utf-8").split("```toml\n")[1].split("```")[0]
    (entry,) = loads(example, "README.md")
    assert entry.matches(SIGNATURE, "0.12.8")


TEXTS = ["", "# Ours.\n", "# Ours.\n\n", dumps(KnownFinding(signature="v1/a/*", reason="r"))]


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("text", TEXTS)
def test_taking_out_undoes_an_append(tmp_path: Path, text: str, number: int) -> None:
    """Byte for byte, whichever of several is taken out first."""
    path = tmp_path / "known.toml"
    path.write_text(text)
    added = [KnownFinding(signature=f"v1/backend-{i}/*", reason="r") for i in range(number + 1)]
    for entry in added:
        append(path, entry)
    for entry in (*added[1:], added[0]):
        remove(path, entry)
    assert path.read_text() == text
