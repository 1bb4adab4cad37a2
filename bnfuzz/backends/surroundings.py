"""What a call may have changed around it, put back: one backend's habits are not the next one's findings."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

TIMERS = (
    (signal.ITIMER_REAL, signal.SIGALRM),
    (signal.ITIMER_VIRTUAL, signal.SIGVTALRM),
    (signal.ITIMER_PROF, signal.SIGPROF),
)


@contextmanager
def put_back() -> Iterator[None]:
    """Restores the working folder, NumPy's error state, the filters of warnings, timers and their signals."""
    folder = os.getcwd()
    handlers = [signal.getsignal(number) for _, number in TIMERS]
    with warnings.catch_warnings(), np.errstate():
        try:
            yield
        finally:
            # First of all: a handler that raises must not do so in what follows.
            for (timer, number), handler in zip(TIMERS, handlers, strict=True):
                signal.setitimer(timer, 0.0)
                if handler is not None:
                    signal.signal(number, handler)
            with suppress(OSError):
                os.chdir(folder)
