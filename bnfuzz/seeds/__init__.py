"""The cases that the corpus starts with, and the files that hold them.

Two founding questions, published reports about normalization layers, and faults of current releases. Each is an entry
written down by hand; `write` turns all of them into case files, always the same ones.
"""

from __future__ import annotations

from pathlib import Path

from bnfuzz.casefile import dumps, write_atomic
from bnfuzz.seeds.seed import Known, Seed

__all__ = ["Known", "Seed", "all_seeds", "write"]


def all_seeds() -> dict[str, tuple[Seed, ...]]:
    """folder -> its seeds."""
    from bnfuzz.seeds import current, questions, reports

    return {"questions": questions.SEEDS, "reports": reports.SEEDS, "current": current.SEEDS}


def write(folder: Path) -> tuple[Path, ...]:
    """Writes every case file below `folder`, over those of the same name; the paths, in order."""
    paths = []
    for place, seeds in all_seeds().items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        for seed in seeds:
            path = folder / place / f"{seed.name}.json"
            write_atomic(path, dumps(seed.file()))
            paths.append(path)
    return tuple(paths)
