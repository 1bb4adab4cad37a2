"""Who works on a campaign, and the crew of this machine: one process per job."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import BrokenExecutor, Future
from typing import Any, Protocol

from bnfuzz.backends.pool import Limits
from bnfuzz.campaign.parallel import shard
from bnfuzz.campaign.parallel.frames import Described
from bnfuzz.campaign.parallel.place import Place
from bnfuzz.errors import InfrastructureError, InternalError


class CrewLostError(InfrastructureError):
    """Nobody is there any more, or nobody can be reached; what was found until then stands."""


class Crew(Protocol):
    """Who works on a campaign.

    size      units that can be worked on at a time; 0 where nobody is there at the moment; may raise CrewLostError
    describe  asks every worker for the backends, and brings their frameworks up
    submit    as an Executor's; no more at a time than `size`
    was_lost  whether an exception of a future means that the worker died
    hurry     asks for units at hand to end soon, where that can be
    close     ends all, whatever is being done
    """

    @property
    def size(self) -> int: ...
    def describe(self, backends: tuple[str, ...], limits: Limits) -> Collection[dict[str, Described]]: ...
    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]: ...
    def was_lost(self, error: BaseException) -> bool: ...
    def hurry(self) -> None: ...
    def close(self) -> None: ...


class LocalCrew:
    """So many processes of this machine; one that dies is replaced when it is needed.

    They are spawned: a script that makes a crew keeps that below `if __name__ == "__main__":`.
    """

    def __init__(self, jobs: int) -> None:
        self.size = jobs
        self._places = [Place() for _ in range(jobs)]

    def describe(self, backends: tuple[str, ...], limits: Limits) -> Collection[dict[str, Described]]:
        futures = [self.submit(shard.describe, backends, limits) for _ in range(self.size)]
        try:
            return [future.result() for future in futures]
        except BrokenExecutor:
            raise InfrastructureError(
                "a job died while it started; see what it printed above, and try --jobs 1"
            ) from None

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        free = next((place for place in self._places if place.free), None)
        if free is None:
            raise InternalError(f"all {self.size} jobs are at work")
        return free.submit(function, *arguments)

    def was_lost(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def hurry(self) -> None:
        for place in self._places:
            place.interrupt()

    def close(self) -> None:
        for place in self._places:
            place.close()
