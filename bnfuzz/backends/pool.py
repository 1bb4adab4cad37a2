"""All workers together: backend name -> worker, requests that run while the parent computes, replacement.

with Pool() as pool:
    pending = pool.submit(["numpy", "jax", "mxnet"], spec, inputs)
    ...                       # the parent evaluates its reference here
    replies = pending.collect()
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from types import TracebackType
from typing import NamedTuple, Self

from bnfuzz import layouts
from bnfuzz.backends import environments, registry, wire
from bnfuzz.backends.base import Backend
from bnfuzz.backends.client import Worker, WorkerDied, WorkerHung
from bnfuzz.backends.limits import Limits
from bnfuzz.backends.reply import Reply, Status, lost, refuse_to_go_on, reply_of
from bnfuzz.case import Array, Inputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.errors import InfrastructureError

__all__ = ["Limits", "Pending", "Pool", "Reply", "Status"]

IDLE_TARGETS = 4
"""Workers of users' functions that are kept for later, each some 50 MB and more."""


class Key(NamedTuple):
    """Which backends share a worker.

    target  a user's function has a worker of its own: whatever it does to NumPy, to its framework or to the process
            is no finding of others; empty for released backends, which share one
    """

    environment: str
    x64: bool
    target: str


class Pool:
    """The workers of this process, one per (environment, 64-bit mode, user's function), made on demand.

    Not for several threads at once; it lives in the thread that made it. One submission at a time is
    on its way: the next one first collects it, so that its replies are there when they are asked for.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._slots: dict[Key, _Slot] = {}
        self._latest: Pending | None = None
        self._backends: dict[str, Backend] = {}
        self._described: dict[str, tuple[Conventions, dict[str, str]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends every worker."""
        for slot in self._slots.values():
            slot.discard()
        self._slots.clear()

    def backend(self, name: str) -> Backend:
        """The adapter, without its framework; raises UsageError where the name is unknown."""
        if name not in self._backends:
            self._backends[name] = registry.get(name)
        return self._backends[name]

    def conventions(self, name: str) -> Conventions:
        """What the backend documents; a target's are found in its worker, from its signature."""
        if name.startswith(registry.TARGET):
            return self.describe(name)[0]
        return self.backend(name).conventions

    def versions(self, name: str) -> dict[str, str]:
        """Package -> version, asked of the worker."""
        return self.describe(name)[1]

    def version(self, name: str) -> str | None:
        """Version of the framework that the backend is a part of: what ranges of known findings speak of."""
        return self.versions(name).get(self.backend(name).framework)

    def describe(self, name: str) -> tuple[Conventions, dict[str, str]]:
        """(conventions, versions) from the worker.

        Raises UsageError where a target cannot be loaded, InfrastructureError where the framework cannot.
        """
        if name not in self._described:
            key = self._key(name)
            self._retire((key,))
            slot = self._slot(key)
            header, _ = slot.ask({"do": "describe", "backends": [name]}, {})
            self._described[name] = (wire.from_json(Conventions, header["conventions"]), header["versions"])
        return self._described[name]

    def run(self, names: Iterable[str], spec: Spec, inputs: Inputs) -> dict[str, Reply]:
        """`submit` and `collect` in one."""
        return self.submit(names, spec, inputs).collect()

    def probe(self, name: str, spec: Spec, inputs: Inputs) -> Reply:
        """What the backend does with a Spec that its conventions may rule out: sent whatever they say."""
        self._collect_latest()
        turn = _Turn(self._slot(self._key(name, spec)).free(), [name], spec, inputs)
        turn.send()
        return turn.collect()[name]

    def observe(self, name: str, spec: Spec, inputs: Inputs) -> dict[str, Array]:
        """The first trial taken apart (`Backend.observe`); empty where the backend does not tell, or the call fails."""
        self._collect_latest()
        header = {"do": "observe", "backends": [name], "spec": wire.to_json(spec)}
        answer, arrays = self._slot(self._key(name, spec)).ask(header, dict(inputs.items()))
        return arrays if answer["status"] == "ok" else {}

    def submit(self, names: Iterable[str], spec: Spec, inputs: Inputs) -> Pending:
        """Sends the trials to every named backend and returns at once; `collect` on the result waits.

        Backends of one worker run in turn, workers run side by side. What a backend cannot express, or
        values that cannot be laid out as asked, are `unsupported` and not sent. Raises UsageError and
        InfrastructureError where a backend cannot run at all.
        """
        self._collect_latest()
        names = tuple(names)
        refused: dict[str, Reply] = {}
        groups: dict[Key, list[str]] = {}
        impossible = layouts.unattainable(spec, inputs)
        for name in names:
            reason = self.conventions(name).unsupported(spec) or impossible
            if reason is None:
                groups.setdefault(self._key(name, spec), []).append(name)
            else:
                refused[name] = Reply(backend=name, status="unsupported", message=reason)
        self._retire(groups)
        turns = [_Turn(self._slot(key).free(), group, spec, inputs) for key, group in groups.items()]
        for turn in turns:
            turn.send()
        self._latest = Pending(names, refused, turns)
        return self._latest

    def _collect_latest(self) -> None:
        latest, self._latest = self._latest, None
        if latest is not None:
            latest.collect()

    def _key(self, name: str, spec: Spec | None = None) -> Key:
        return Key(
            environment=self.backend(name).environment,
            x64=spec is not None and "float64" in spec.formats,
            target=name if name.startswith(registry.TARGET) else "",
        )

    def _retire(self, needed: Container[Key]) -> None:
        """Ends workers of targets that are not needed now, where there are many; they start again when they are."""
        idle = [slot for key, slot in self._slots.items() if key.target and slot.is_idle and key not in needed]
        for slot in idle[: max(len(idle) - IDLE_TARGETS, 0)]:
            slot.discard()

    def _slot(self, key: Key) -> _Slot:
        if key not in self._slots:
            self._slots[key] = _Slot(key, self.limits)
        return self._slots[key]


class Pending:
    """A submission on its way."""

    def __init__(self, names: tuple[str, ...], refused: Mapping[str, Reply], turns: list[_Turn]) -> None:
        self._names, self._refused, self._turns = names, refused, turns
        self._replies: dict[str, Reply] | None = None

    def collect(self) -> dict[str, Reply]:
        """name -> Reply of every backend submitted to, in that order, waiting for each no longer than its deadline.

        Asked again, it gives the same replies.
        """
        if self._replies is None:
            replies = dict(self._refused)
            for turn in self._turns:
                replies |= turn.collect()
            self._replies = {name: replies[name] for name in self._names}
        return self._replies


class _Slot:
    """The place of one worker, whichever process fills it at the moment."""

    def __init__(self, key: Key, limits: Limits) -> None:
        self.environment = environments.locate(key.environment)
        self.x64 = key.x64
        self.limits = limits
        self.seen: set[tuple[str, Spec]] = set()
        self.answers_due = False
        self._worker: Worker | None = None

    @property
    def worker(self) -> Worker:
        if self._worker is None:
            self.seen = set()
            self._worker = Worker(self.environment, x64=self.x64, memory_bytes=self.limits.memory_bytes)
        return self._worker

    @property
    def is_idle(self) -> bool:
        """A process is there, and owes no answers."""
        return self._worker is not None and not self.answers_due

    def discard(self) -> None:
        if self._worker is not None:
            self._worker.close()
        self._worker = None
        self.answers_due = False

    def free(self) -> Self:
        """Itself, owing no answers: a worker whose last answers nobody fetched is ended."""
        if self.answers_due:
            self.discard()
        return self

    def recycle(self, header: wire.Header) -> None:
        """Ends a worker that has built too much; the next request gets a fresh one."""
        if header["built"] >= self.limits.programs or header["resident"] >= self.limits.resident_bytes:
            self.discard()

    def ask(self, header: wire.Header, arrays: Mapping[str, Array]) -> tuple[wire.Header, dict[str, Array]]:
        """One question, one answer; what goes wrong is misuse or infrastructure."""
        self.free()
        try:
            self.worker.send(header, arrays, self.limits.compile_seconds)
            answer = self.worker.receive(self.limits.compile_seconds)
        except (WorkerDied, WorkerHung) as error:
            self.discard()
            chatter = f"\n{error.chatter}" if isinstance(error, WorkerDied) else ""
            raise InfrastructureError(
                f"the worker for {', '.join(header['backends'])} in environment {self.environment.name} "
                f"({self.environment.python}) {error}{chatter}"
            ) from None
        refuse_to_go_on(answer[0])
        return answer


class _Turn:
    """The backends of one submission that share a worker, in order."""

    def __init__(self, slot: _Slot, names: list[str], spec: Spec, inputs: Inputs) -> None:
        self.slot, self.waiting, self.spec = slot, names, spec
        self.arrays = dict(inputs.items())
        self.trouble: WorkerDied | WorkerHung | None = None

    def send(self) -> None:
        header = {"do": "run", "backends": self.waiting, "spec": wire.to_json(self.spec)}
        self.trouble = None
        self.slot.answers_due = True
        try:
            self.slot.worker.send(header, self.arrays, self.slot.limits.compile_seconds)
        except (WorkerDied, WorkerHung) as error:
            self.trouble = error

    def collect(self) -> dict[str, Reply]:
        replies: dict[str, Reply] = {}
        header: wire.Header = {}
        while self.waiting:
            name = self.waiting[0]
            try:
                if self.trouble is not None:
                    raise self.trouble
                header, arrays = self.slot.worker.receive(self._seconds(name))
                replies[name] = reply_of(header, arrays)
                self.slot.seen.add((name, self.spec))
                self.waiting = self.waiting[1:]
            except (WorkerDied, WorkerHung) as error:
                replies[name] = lost(name, error)
                header = {}
                self.slot.discard()
                self.waiting = self.waiting[1:]
                if self.waiting:
                    self.send()
        self.slot.answers_due = False
        if header:
            self.slot.recycle(header)
        return replies

    def _seconds(self, name: str) -> float:
        limits = self.slot.limits
        return limits.call_seconds if (name, self.spec) in self.slot.seen else limits.compile_seconds
