"""A backend run in this very process, through the code that workers run it with: what a check in a test suite needs.

There is no deadline and no protection: a function that crashes takes the process with it.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import bnfuzz
from bnfuzz import layouts
from bnfuzz.backends.base import Backend
from bnfuzz.backends.execution import Execution, Programs, run_trials
from bnfuzz.backends.pool import Reply
from bnfuzz.case import Inputs, Outputs, Spec
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError

OURS = Path(bnfuzz.__file__).parent


class InProcess:
    """Runs blocks of trials on one backend, as a Pool does."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._programs = Programs()

    def conventions(self, name: str) -> Conventions:
        self._known(name)
        return self.backend.conventions

    def run(self, names: Iterable[str], spec: Spec, inputs: Inputs) -> dict[str, Reply]:
        """name -> Reply; an exception of the backend's is one with status `error`, its own frames in the details."""
        return {name: self._reply(name, spec, inputs) for name in names}

    def outputs(self, spec: Spec, inputs: Inputs) -> Outputs | None:
        """What it gives; None where it cannot express the Spec. The backend's exceptions pass through."""
        if self.backend.conventions.unsupported(spec) is not None:
            return None
        return Outputs(**self._done(spec, inputs).outputs)

    def _done(self, spec: Spec, inputs: Inputs) -> Execution:
        # Overflow and NaN are what is tried here on purpose: a test suite that turns warnings into errors must not
        # take NumPy's word on them for a failure.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return run_trials(self.backend, self._programs, spec, dict(inputs.items()))

    def _reply(self, name: str, spec: Spec, inputs: Inputs) -> Reply:
        self._known(name)
        reason = self.backend.conventions.unsupported(spec) or layouts.unattainable(spec, inputs)
        if reason is not None:
            return Reply(backend=name, status="unsupported", message=reason)
        try:
            done = self._done(spec, inputs)
        except UsageError:
            raise
        except (Exception, SystemExit) as error:  # whatever the function raises is its answer
            message = f"{type(error).__name__}: {error}"
            return Reply(backend=name, status="error", message=message, details=own_traceback(error))
        return Reply(
            backend=name,
            status="ok",
            outputs=Outputs(**done.outputs),
            mutated=done.mutated,
            seconds=done.seconds,
            compile_seconds=done.compile_seconds,
        )

    def _known(self, name: str) -> None:
        if name != self.backend.name:
            raise UsageError(f"{name!r} is not run here, only {self.backend.name}")


def own_traceback(error: BaseException) -> str:
    """The traceback without this package's frames before the function's own."""
    told = traceback.TracebackException.from_exception(error)
    frames = list(told.stack)
    ours = [place for place, frame in enumerate(frames) if OURS in Path(frame.filename).parents]
    # What the function calls may be of this package again: only what leads to it is left out.
    first = next((place for place in range(len(frames)) if place not in ours), 0)
    told.stack = traceback.StackSummary.from_list(frames[first:])
    return "".join(told.format()).rstrip()
