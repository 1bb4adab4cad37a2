"""A thousand hostile files beside a good one, read by a process that may do nothing but read, in little room.

The limits of CPU time and memory are the kernel's: who exceeds them dies, and the test with it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import compress

import pytest

import bnfuzz
from bnfuzz.casefile import files

from .test_hostile import TEXT, TREE

READER = """
import json, resource, sys
from bnfuzz.corpus import Corpus

folder, good = sys.argv[1:]
Corpus(good)  # imports and compiles all that reading needs
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (1 << 30), held + (1 << 30)))
resource.setrlimit(resource.RLIMIT_CPU, (240, 240))
seen = []

def watch(event, args):
    harmless = event in ("open", "os.scandir", "os.walk", "os.listdir", "sys._getframe", "object.__getattr__")
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        harmless = False
    if not harmless and not event.startswith(("cpython.", "gc.", "array.")):
        seen.append(event)

sys.addaudithook(watch)
corpus = Corpus(folder)
told = list(seen)
print(json.dumps({
    "entries": [entry.path.name for entry in corpus.entries],
    "problems": {problem.path.name: problem.message for problem in corpus.problems},
    "events": told,
}))
"""

Rng = random.Random


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path] + [place for key, item in items for place in places(item, (*path, key))]


CASE_PLACES = [place for place in places(TREE) if place[:1] == ("case",) and len(place) > 2]


def with_text(rng: Rng, text: str, *, among: list[tuple[Any, ...]] | None = None) -> bytes:
    """The good file with raw text in the place of some value."""
    tree = json.loads(TEXT)
    *steps, last = rng.choice(among or places(TREE)[1:])
    inner = tree
    for step in steps:
        inner = inner[step]
    inner[last] = ""
    return json.dumps(tree).replace('""', text).encode("utf-8", errors="surrogatepass")


def nested(rng: Rng) -> bytes:
    depth = rng.choice([17, 100, 5_000, 50_000])
    opening, closing = rng.choice([("[", "]"), ('{"a":', "}")])
    text = opening * depth + "1" + closing * rng.choice([depth, 0])
    return rng.choice([text.encode(), with_text(rng, text)])


def huge_shape(rng: Rng) -> bytes:
    sizes = [rng.choice([2**31, 10**9, 10**15, 2**53, 2**62, 10**30, -1, 1e300]) for _ in range(rng.randint(1, 8))]
    where = [("case", "spec", "shape"), ("case", "inputs", "x", "shape"), ("case", "spec", "reduced_axes")]
    return with_text(rng, json.dumps(sizes), among=where)


def huge_number(rng: Rng) -> bytes:
    digits = str(rng.randint(1, 9)) * rng.choice([40, 5_000, 200_000])
    return with_text(rng, rng.choice([digits, f"-{digits}", f"0.{digits}e{rng.randint(400, 10**6)}", f"1e{digits}"]))


def no_number(rng: Rng) -> bytes:
    return with_text(rng, rng.choice(["NaN", "Infinity", "-Infinity", "nan", "0x10", "1_000", "+1", "01", ".5"]))


def twice(rng: Rng) -> bytes:
    line = rng.choice([line for line in TEXT.splitlines() if line.strip().startswith('"') and ":" in line])
    key = line.split(":")[0].strip()
    return TEXT.replace(line, f"{key}: 1, {line.strip()}", 1).encode()


def no_utf8(rng: Rng) -> bytes:
    data, at = TEXT.encode(), rng.randrange(len(TEXT))
    bad = rng.choice([b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80", b"\xfe\xff"])
    return rng.choice([data[:at] + bad + data[at:], TEXT.encode("utf-16"), TEXT.encode("utf-32")])


def bomb(rng: Rng) -> bytes:
    raw = compress(bytes(rng.choice([9, 1 << 16, 1 << 22])), 9)
    if rng.random() < 0.3:
        raw = raw[: len(raw) // 2]
    array = {"format": "float32", "shape": [2, 1], "packed": b64encode(raw).decode(), "sha256": "0" * 64}
    return with_text(rng, json.dumps(array), among=[("case", "inputs", "x")])


def cut(rng: Rng) -> bytes:
    return TEXT.encode()[: rng.randrange(len(TEXT) - 3)]


def many(rng: Rng) -> bytes:
    count = rng.choice([1_001, 5_000, 70_000])
    text = rng.choice(
        [
            "{" + ",".join(f'"k{i}":{i}' for i in range(count)) + "}",
            "[" + ",".join(["0"] * count) + "]",
            "[" + ",".join(['"training"'] * count) + "]",
            json.dumps("x" * 50 * count),
        ]
    )
    return with_text(rng, text, among=CASE_PLACES)


def recipe(rng: Rng) -> bytes:
    made_up = rng.choice(
        [
            {"recipe": "normal", "count": 10**9},
            {"$ref": "file:///etc/passwd"},
            {"repeat": [0], "times": 10**9},
            "np.zeros(10**9)",
            {"__reduce__": ["os.system", ["true"]]},
        ]
    )
    return with_text(rng, json.dumps(made_up), among=[("case", "inputs", "x", "values"), ("case", "inputs", "x")])


def control(rng: Rng) -> bytes:
    return with_text(rng, rng.choice(['"\\u0000"', '"\\ud800"', '"\\u001b[31m"', '"a\nb"', '"\\u202e\\udfff"']))


def path_as_name(rng: Rng) -> bytes:
    place = rng.choice([("id",), ("state",), ("case", "spec", "operation"), ("case", "inputs", "x", "format")])
    return with_text(
        rng, json.dumps(rng.choice(["../../etc/passwd", "/dev/zero", "C:\\x", "a/../b", "~root"])), among=[place]
    )


def foreign(rng: Rng) -> bytes:
    heads = [
        b"\x80\x04\x95",
        b"PK\x03\x04",
        b"\x1f\x8b\x08",
        b"\x7fELF",
        b"#!/usr/bin/python\n",
        b"\x93NUMPY",
        b"\xef\xbb\xbf",
    ]
    return rng.choice(heads) + rng.randbytes(rng.randint(0, 200))


FAMILIES: tuple[Callable[[Rng], bytes], ...] = (
    nested, huge_shape, huge_number, no_number, twice, no_utf8, bomb, cut, many, recipe, control, path_as_name, foreign,
)  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the reader says of a thousand hostile files beside a good one."""
    rng = random.Random(1968)
    root = tmp_path_factory.mktemp("hostile")
    good, folder = root / "good", root / "corpus"
    for place in (good, folder):
        place.mkdir()
        (place / "good.json").write_text(TEXT)
    for number in range(1000):
        family = FAMILIES[number % len(FAMILIES)]
        (folder / f"{family.__name__}-{number}.json").write_bytes(family(rng))
    with (folder / "nested-sparse.json").open("wb") as file:
        file.truncate(files.MAX_BYTES + 1)
    environment = os.environ | {"PYTHONPATH": str(Path(bnfuzz.__file__).parents[1])}
    command = [sys.executable, "-c", READER, str(folder), str(good)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc how much memory is in use")
def test_each_is_an_error_with_its_place_and_the_good_one_is_read(told: dict[str, Any]) -> None:
    assert "good.json" in told["entries"]
    # A free text may hold a number's text or a path; such a file is the good one with another title, and no more.
    assert all(name == "good.json" or name.startswith(("no_number", "control")) for name in told["entries"])
    assert len(told["problems"]) >= 980
    for name, message in told["problems"].items():
        file, _, problem = message.partition(f"{name}: ")
        assert file.endswith("/corpus/"), message
        assert problem.startswith(("at $", "at line ", "byte ", "is larger than ")), message
        assert len(message) < 900, name


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc how much memory is in use")
def test_reading_does_nothing_but_read(told: dict[str, Any]) -> None:
    assert told["events"] == []
