"""Functions under test that misbehave, each in its own way; `sound` is what they compute otherwise."""

import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np

LEAKED = []
mean = np.mean


def sound(x, gamma, beta, *, eps, axis):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    centred = x - x.mean(axes, keepdims=True)
    variance = (centred * centred).mean(axes, keepdims=True)
    normal = centred / np.sqrt(variance + x.dtype.type(eps))
    return normal * gamma.reshape(shape) + beta.reshape(shape)


class Shy(Exception):
    def __str__(self):
        raise RuntimeError("not even that")


class Base(BaseException):
    pass


class Endless:
    def __array__(self, *args, **options):
        threading.Event().wait()


def exits(x, gamma, beta, *, eps, axis):
    sys.exit(3)


def leaves(x, gamma, beta, *, eps, axis):
    os._exit(3)


def leaves_children(x, gamma, beta, *, eps, axis):
    child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
    with pathlib.Path(__file__).with_name("children").open("a") as file:
        file.write(f"{child.pid}\n")
    os._exit(3)


def aborts(x, gamma, beta, *, eps, axis):
    os.abort()


def null(x, gamma, beta, *, eps, axis):
    ctypes.string_at(0)


def recurses(x, gamma, beta, *, eps, axis):
    return recurses(x, gamma, beta, eps=eps, axis=axis)


def interrupts(x, gamma, beta, *, eps, axis):
    raise KeyboardInterrupt


def base(x, gamma, beta, *, eps, axis):
    raise Base("neither Exception nor anything known")


def shy(x, gamma, beta, *, eps, axis):
    raise Shy


def waits(x, gamma, beta, *, eps, axis):
    threading.Event().wait()


def spins(x, gamma, beta, *, eps, axis):
    while True:
        pass


def endless(x, gamma, beta, *, eps, axis):
    return Endless()


def floods(x, gamma, beta, *, eps, axis):
    sys.stdout.write("x" * 300_000)
    os.write(1, b"\x00\xff" * 30_000)
    os.write(2, b"BNF1" * 30_000)
    return sound(x, gamma, beta, eps=eps, axis=axis)


def garbles(x, gamma, beta, *, eps, axis):
    for descriptor in range(3, 4096):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"garbage!" * 100)
    return sound(x, gamma, beta, eps=eps, axis=axis)


def closes(x, gamma, beta, *, eps, axis):
    os.closerange(0, 4096)
    return sound(x, gamma, beta, eps=eps, axis=axis)


def closes_output(x, gamma, beta, *, eps, axis):
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        if stream is not None:
            stream.close()
    return sound(x, gamma, beta, eps=eps, axis=axis)


def short(x, gamma, beta, *, eps, axis):
    return sound(x, gamma, beta, eps=eps, axis=axis)[..., None]


def widened(x, gamma, beta, *, eps, axis):
    return sound(x, gamma, beta, eps=eps, axis=axis).astype(np.complex128)


def integers(x, gamma, beta, *, eps, axis):
    return sound(x, gamma, beta, eps=eps, axis=axis).astype(np.int16)


def booleans(x, gamma, beta, *, eps, axis):
    return sound(x, gamma, beta, eps=eps, axis=axis) > 0


def nothing(x, gamma, beta, *, eps, axis):
    return None


def objects(x, gamma, beta, *, eps, axis):
    return np.full(x.shape, "text", dtype=object)


def gigantic(x, gamma, beta, *, eps, axis):
    return np.broadcast_to(x.ravel()[:1], (1 << 24, 1 << 24))


def nan(x, gamma, beta, *, eps, axis):
    return np.full_like(x, np.nan)


def mutates(x, gamma, beta, *, eps, axis):
    y = sound(x, gamma, beta, eps=eps, axis=axis)
    x += 1
    return y


def forks(x, gamma, beta, *, eps, axis):
    os.fork()
    return sound(x, gamma, beta, eps=eps, axis=axis)


def forks_and_raises(x, gamma, beta, *, eps, axis):
    os.fork()
    raise RuntimeError("in both")


def forks_and_waits(x, gamma, beta, *, eps, axis):
    if os.fork() == 0:
        threading.Event().wait()
    return sound(x, gamma, beta, eps=eps, axis=axis)


def threads(x, gamma, beta, *, eps, axis):
    threading.Thread(target=threading.Event().wait).start()
    return sound(x, gamma, beta, eps=eps, axis=axis)


def wanders(x, gamma, beta, *, eps, axis):
    os.chdir("/")
    return sound(x, gamma, beta, eps=eps, axis=axis)


def strict(x, gamma, beta, *, eps, axis):
    y = sound(x, gamma, beta, eps=eps, axis=axis)
    np.seterr(all="raise")
    return y


def deaf(x, gamma, beta, *, eps, axis):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    return sound(x, gamma, beta, eps=eps, axis=axis)


def alarms(x, gamma, beta, *, eps, axis):
    def ring(*_):
        raise RuntimeError("too late for this call")

    y = sound(x, gamma, beta, eps=eps, axis=axis)
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    return y


def patches(x, gamma, beta, *, eps, axis):
    y = sound(x, gamma, beta, eps=eps, axis=axis)
    np.mean = np.sum
    np.sqrt = np.abs
    return y * 2


def swells(x, gamma, beta, *, eps, axis):
    while True:
        LEAKED.append(np.ones(1 << 20))


def leaks(x, gamma, beta, *, eps, axis):
    LEAKED.append(np.ones(1 << 21))
    return np.full(x.shape, len(LEAKED), x.dtype)
