"""The corpus that is written by hand: its files are what the generator writes, and each case says what it is about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bnfuzz.case import OUTPUT_NAMES
from bnfuzz.casefile import CaseFile, case_id, dumps, loads, read
from bnfuzz.seeds import Seed, all_seeds, write
from bnfuzz.seeds.numbers import normal, uniform, varied

CORPUS = Path(__file__).parents[2] / "corpus"
SEEDS = [(folder, seed) for folder, seeds in all_seeds().items() for seed in seeds]
REPORTS = all_seeds()["reports"]
MAX_KILOBYTES = 200

each_seed = pytest.mark.parametrize(("folder", "seed"), SEEDS, ids=[f"{folder}/{seed.name}" for folder, seed in SEEDS])


def told(file: CaseFile) -> tuple[object, ...]:
    """All that a file says, bit for bit; two texts may differ in how an array is compressed."""
    reference = {name: array.tobytes() for name, array in file.reference.items()}
    return (file.id, file.state, file.origin, file.expectations, reference, file.verdicts, file.environment)


@each_seed
def test_the_file_holds_what_the_generator_writes(folder: str, seed: Seed) -> None:
    path = CORPUS / folder / f"{seed.name}.json"
    assert path.stat().st_size < MAX_KILOBYTES * 1024
    generated = loads(dumps(seed.file()), "generated")
    assert told(read(path)) == told(generated), f"run bnfuzz.seeds.write on the corpus: {path.name} is out of date"


@pytest.mark.parametrize("folder", all_seeds())
def test_no_other_files(folder: str) -> None:
    assert {path.stem for path in (CORPUS / folder).iterdir()} == {seed.name for seed in all_seeds()[folder]}


def test_no_case_is_there_twice() -> None:
    ids = [case_id(seed.case()) for _, seed in SEEDS]
    assert len(set(ids)) == len(ids)


def test_at_least_thirty_reports_each_with_its_link() -> None:
    assert len(REPORTS) >= 30
    assert all(seed.link.startswith("https://") for seed in REPORTS)


@each_seed
def test_a_case_tells_its_story(folder: str, seed: Seed) -> None:
    assert len(seed.title) > 10
    assert len(seed.note) > 40
    for known in seed.known:
        expectation = known.expectation(seed.spec)
        assert expectation.signature.startswith("v")
        assert expectation.confirmed
        assert known.versions or known.backend == "numpy"
        assert len(known.why) > 20
        assert set(known.fails) <= {*OUTPUT_NAMES, "call"}


def test_write_into_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"questions": all_seeds()["questions"][5:6], "current": all_seeds()["current"][:1]}
    monkeypatch.setattr("bnfuzz.seeds.all_seeds", lambda: few)
    paths = write(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        f"{folder}/{seeds[0].name}.json" for folder, seeds in few.items()
    ]
    assert all(read(path).origin.note for path in paths)


def test_exact_outputs_of_a_constant_cotangent_are_zero() -> None:
    seed = next(seed for seed in REPORTS if seed.name == "odyssey-2882-finite-differences")
    reference = seed.file().reference
    assert np.all(reference["dx"] == 0)
    assert np.all(reference["dbeta"] == 8)


def test_exact_outputs_where_nothing_is_defined() -> None:
    seed = next(seed for seed in REPORTS if seed.name == "pytorch-90342-one-infinity")
    y = seed.file().reference["y"]
    assert np.isnan(y[:, 0]).all()
    assert np.isfinite(y[:, 1]).all()


def test_numbers_are_the_same_everywhere() -> None:
    assert uniform(1, (2,), 1.0, 2.0).tolist() == UNIFORM
    assert normal(1, (2,)).tolist() == NORMAL
    assert varied((4,)).tolist() == [-0.8125, -0.125, 0.5625, -0.6875]


UNIFORM = [1.5118215680122375, 1.9504636526107788]
NORMAL = [-0.6953991055488586, 0.465839684009552]
