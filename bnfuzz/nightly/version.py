"""What a night calls the version of a backend: of its framework, or, for a function of a user's, of its file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bnfuzz.backends.pool import Pool
from bnfuzz.backends.registry import TARGET
from bnfuzz.backends.target import parsed


def version_of(pool: Pool, backend: str) -> str:
    """`flax 0.12.8`; for a target `mine.py 1a2b3c4d`, by its bytes: with its file a function becomes another."""
    if backend.startswith(TARGET):
        path = Path(parsed(backend)[0])
        try:
            return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
        except OSError:
            return path.name
    framework, version = pool.backend(backend).framework, pool.version(backend)
    return f"{framework} {version}" if version else framework
