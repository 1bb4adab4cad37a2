"""What runs here, with versions, and why the rest does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bnfuzz.backends import environments, registry
from bnfuzz.backends.pool import Pool
from bnfuzz.errors import BnfuzzError


@dataclass(frozen=True, kw_only=True)
class Row:
    """One backend. `state` is ready, absent (`reason` says why and what to do) or broken (it was tried and failed)."""

    name: str
    environment: str
    device: str
    state: Literal["ready", "absent", "broken"]
    version: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    reason: str = ""


def describe(names: tuple[str, ...] | None = None) -> list[Row]:
    """A row for each named backend (default: all), each ready one having been started in its worker."""
    with Pool() as pool:
        return [_row(pool, name) for name in names or registry.names()]


def _row(pool: Pool, name: str) -> Row:
    backend = pool.backend(name)
    environment, device = backend.environment, backend.device
    reason = environments.absence(backend)
    if reason is not None:
        return Row(name=name, environment=environment, device=device, state="absent", reason=reason)
    environment = environments.locate(environment).name
    try:
        versions = pool.versions(name)
    except BnfuzzError as error:
        return Row(name=name, environment=environment, device=device, state="broken", reason=str(error))
    return Row(
        name=name,
        environment=environment,
        device=device,
        state="ready",
        version=versions.get(backend.framework, ""),
        versions=tuple(sorted(versions.items())),
    )
