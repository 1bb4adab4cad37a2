"""The workers of a Dask cluster as a crew (needs the extra `distributed`).

A task whose worker is lost is given to another by Dask itself, several times, before it gives up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import suppress
from importlib import metadata
from typing import Any

from bnfuzz import __version__
from bnfuzz.backends.pool import Limits
from bnfuzz.campaign.parallel import host, shard
from bnfuzz.campaign.parallel.crew import CrewLostError
from bnfuzz.campaign.parallel.frames import Described
from bnfuzz.errors import InfrastructureError, UsageError

CONNECT_SECONDS = 5.0
WORKERS_SECONDS = 10.0
"""What a scheduler, and then its first worker, may take to answer."""


class Cluster:
    """The workers that a scheduler at `address` has at the moment; each thread of one is a job.

    Raises UsageError where Dask is not installed or the address is none, InfrastructureError where nobody answers.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise UsageError(
                "--dask needs the package distributed; install it with: pip install 'bnfuzz[distributed]'"
            ) from None
        self.address = address
        self._killed: type[Exception] = distributed.KilledWorker
        check_address(address)
        try:
            self._client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except OSError:
            raise InfrastructureError(
                f"--dask {address}: no scheduler answers within {CONNECT_SECONDS:g} s; "
                "start one with `dask scheduler`, and `dask worker` with its address"
            ) from None
        try:
            self._check_workers()
        except BaseException:
            self._client.close()
            raise
        self._executor = self._client.get_executor(pure=False)

    @property
    def size(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except (OSError, RuntimeError):
            raise CrewLostError(f"the scheduler at {self.address} is gone; start the campaign again") from None

    def _check_workers(self) -> None:
        """Every worker must have this version of bnfuzz: asked with what Python itself has."""
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        except TimeoutError:
            raise InfrastructureError(
                f"--dask {self.address}: the scheduler has no worker within {WORKERS_SECONDS:g} s; "
                f"start some with: dask worker {self.address}"
            ) from None
        for worker, version in self._client.run(metadata.version, "bnfuzz", on_error="return").items():
            if version != __version__:
                has = f"bnfuzz {version}" if isinstance(version, str) else "no bnfuzz"
                raise InfrastructureError(
                    f"--dask {self.address}: worker {worker} has {has}, and this is bnfuzz {__version__}; "
                    "install the same version on both"
                )

    def describe(self, backends: tuple[str, ...], limits: Limits) -> Collection[dict[str, Described]]:
        workers = list(self._client.nthreads())
        futures = [
            self._client.submit(host.do, shard.describe, backends, limits, pure=False, workers=[worker])
            for worker in workers
        ]
        return list(self._client.gather(futures))

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        return self._executor.submit(host.do, function, *arguments)

    def was_lost(self, error: BaseException) -> bool:
        return isinstance(error, (self._killed, CancelledError, BrokenExecutor))

    def hurry(self) -> None:
        with suppress(OSError, RuntimeError):
            self._client.run(host.hurry, on_error="ignore")

    def close(self) -> None:
        self._executor.shutdown(wait=False)
        # A scheduler that is gone has no workers to be told.
        with suppress(OSError, RuntimeError):
            self._client.run(host.close, on_error="ignore")
        self._client.close()


def check_address(address: str) -> None:
    """Raises UsageError where it is not the address of a scheduler; nobody is asked."""
    if not re.fullmatch(r"(\w+://)?[^\s/]+:\d+", address):
        raise UsageError(f"--dask {address}: not the address of a scheduler; give it as tcp://HOST:8786")
