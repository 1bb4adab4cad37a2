"""The relations on one kernel of the catalogue, in this process: leaks between channels, results that do not repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bnfuzz.backends.pool import Reply
from bnfuzz.case import Inputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.faults.backend import run
from bnfuzz.faults.kernel import Kernel
from bnfuzz.judge.verdict import FAILING, Verdict
from bnfuzz.relating import relate_trials


@dataclass(frozen=True, eq=False)
class InProcess:
    """A kernel in the place of a pool of backends (`bnfuzz.relating.Runs`)."""

    kernel: Kernel
    stated: Conventions

    def run(self, names: Iterable[str], spec: Spec, inputs: Inputs) -> Mapping[str, Reply]:
        return {name: self._reply(name, spec, inputs) for name in names}

    def conventions(self, name: str) -> Conventions:
        del name
        return self.stated

    def _reply(self, name: str, spec: Spec, inputs: Inputs) -> Reply:
        handed = Inputs(**{key: array.copy() for key, array in inputs.items()})
        try:
            outputs = run(self.kernel, spec, handed, self.stated)
        except Exception as error:  # whatever a kernel raises is its result
            return Reply(backend=name, status="error", message=f"{type(error).__name__}: {error}")
        return Reply(backend=name, status="ok", outputs=outputs)


def violations(
    kernel: Kernel, spec: Spec, inputs: Inputs, conventions: Conventions, *, seed: int, draws: int
) -> list[tuple[Verdict, ...]]:
    """Per trial, the failing verdicts of the relations that hold bit for bit, each varied in so many ways."""
    related = relate_trials(InProcess(kernel, conventions), "kernel", spec, inputs, seed=seed, draws=draws)
    return [tuple(verdict for verdict in verdicts if verdict.kind in FAILING) for verdicts in related]
