"""What a worker survives, what it reports, and what becomes of it when it does not."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys

import numpy as np
import pytest

from bnfuzz.backends.client import how_ended, worker_variables
from bnfuzz.backends.pool import Limits, Pool
from bnfuzz.case import batch_norm_spec

SPEC = batch_norm_spec((4, 3), 1)
WIDE = batch_norm_spec((4, 3), 1, data_format="float64", parameter_format="float64", statistics_format="float64")

FILE = """
import os, signal, sys, threading
import numpy as np

def good(x, gamma, beta, *, eps, axis):
    return x * gamma + beta

def segfault(x, gamma, beta, *, eps, axis):
    os.kill(os.getpid(), signal.SIGSEGV)

def leaves(x, gamma, beta, *, eps, axis):
    os.write(2, b"last words")
    os._exit(3)

def exits(x, gamma, beta, *, eps, axis):
    sys.exit(3)

def raises(x, gamma, beta, *, eps, axis):
    raise ValueError("no such thing")

def hangs_on_large_values(x, gamma, beta, *, eps, axis):
    if abs(x).max() > 100:
        threading.Event().wait()
    return x

def shouts(x, gamma, beta, *, eps, axis):
    print("x" * 3_000_000)
    os.write(1, b"y" * 300_000)
    os.write(2, b"z" * 300_000)
    return x

def writes(x, gamma, beta, *, eps, axis):
    x[0, 0] = 7.0
    gamma *= 2
    return x + beta

def wrong_shape(x, gamma, beta, *, eps, axis):
    return x[:, :2]

def wrong_format(x, gamma, beta, *, eps, axis):
    return x.astype(np.int32)

def words(x, gamma, beta, *, eps, axis):
    return "words"

def process(x, gamma, beta, *, eps, axis):
    return np.full(x.shape, os.getpid(), np.float64)

def varies(x, gamma, beta, *, eps, axis):
    return x[: 1 + int(x[0, 0] > 0)]
"""


@pytest.fixture
def run(pool, target, inputs_for):
    def once(function: str, spec=SPEC, **options):
        name = target(FILE, function)
        return pool.run([name], spec, inputs_for(spec, **options))[name]

    return once


def test_a_crash_names_its_signal_and_is_blamed_on_its_backend(pool, target, inputs_for):
    bad, good = target(FILE, "segfault"), target(FILE, "good")
    replies = pool.run(["numpy", bad, good], SPEC, inputs_for(SPEC))
    assert [reply.status for reply in replies.values()] == ["ok", "crash", "ok"]
    assert replies[bad].message == "killed by SIGSEGV"
    assert "segfault" in replies[bad].details  # where in Python it was
    assert replies[bad].outputs is None


def test_leaving_is_a_crash_with_the_exit_code_and_the_last_words(run):
    reply = run("leaves")
    assert (reply.status, reply.message) == ("crash", "ended with exit code 3")
    assert "last words" in reply.details


@pytest.mark.parametrize(("function", "message"), [("raises", "ValueError: no such thing"), ("exits", "SystemExit: 3")])
def test_an_exception_is_an_error_with_its_traceback(run, function, message):
    reply = run(function)
    assert (reply.status, reply.message) == ("error", message)
    assert f"in {function}" in reply.details


def test_a_hang_ends_at_the_deadline_and_the_worker_is_replaced(target, inputs_for):
    name = target(FILE, "hangs_on_large_values")
    calm = inputs_for(SPEC)
    with Pool(Limits(call_seconds=0.3)) as pool:
        assert pool.run([name], SPEC, calm)[name].status == "ok"
        large = type(calm)(**{key: value * np.float32(1e4) for key, value in calm.items()})
        replies = pool.run([name, "numpy"], SPEC, large)
        assert replies[name].status == "hang"
        assert "0.3 s" in replies[name].message
        assert replies["numpy"].status == "ok"


def test_what_is_printed_does_not_disturb_the_protocol(run, inputs_for):
    reply = run("shouts")
    assert reply.status == "ok"
    assert reply.outputs.y.tobytes() == inputs_for(SPEC).x.tobytes()


def test_inputs_that_were_written_to_are_named(run):
    reply = run("writes")
    assert (reply.status, reply.mutated) == ("ok", ("gamma", "x"))


def test_wrong_metadata_passes_through_unjudged(run):
    assert run("wrong_shape").outputs.y.shape == (2, 4, 2)
    assert run("wrong_format").outputs.y.dtype == np.int32


@pytest.mark.parametrize("function", ["words", "varies"])
def test_what_is_no_block_of_numbers_is_an_error(run, function):
    reply = run(function, trials=8)
    assert reply.status == "error"
    assert "y" in reply.message


def test_a_worker_is_replaced_after_its_share_of_programs(target, inputs_for):
    name = target(FILE, "process")
    with Pool(Limits(programs=2)) as pool:
        seen = [
            pool.run([name], spec, inputs_for(spec))[name].outputs.y.flat[0]
            for spec in (batch_norm_spec((size, 3), 1) for size in (2, 3, 4, 5))
        ]
    assert seen[0] == seen[1] != seen[2] == seen[3]


def test_a_worker_is_replaced_when_it_is_too_large(target, inputs_for):
    name = target(FILE, "process")
    with Pool(Limits(resident_bytes=1)) as pool:
        first, second = (pool.run([name], SPEC, inputs_for(SPEC))[name].outputs.y.flat[0] for _ in range(2))
    assert first != second


def test_64_bit_specs_have_a_process_of_their_own(run):
    assert run("process").outputs.y.flat[0] != run("process", WIDE).outputs.y.flat[0]


def test_the_parent_may_compute_in_the_meantime(pool, inputs_for):
    pending = pool.submit(["numpy"], SPEC, inputs_for(SPEC))
    assert pending.collect()["numpy"].status == "ok"


def test_answers_that_nobody_fetched_are_not_taken_for_others(pool, target, inputs_for):
    name = target(FILE, "good")
    pool.submit([name], SPEC, inputs_for(SPEC, seed=1))
    given = inputs_for(SPEC, seed=2)
    outputs = pool.run([name], SPEC, given)[name].outputs
    assert outputs.y.tobytes() == (given.x * given.gamma[:, None] + given.beta[:, None]).tobytes()


def test_unsupported_is_not_sent(pool, inputs_for):
    spec = batch_norm_spec((4, 3), 1, operation="rms_norm")
    reply = pool.run(["numpy"], spec, inputs_for(spec))["numpy"]
    assert (reply.status, reply.message) == ("unsupported", "operation rms_norm is not offered")


def test_values_that_cannot_be_laid_out_are_unsupported(pool, inputs_for):
    spec = batch_norm_spec((4, 3), 1, layout_x="zero_stride")
    reply = pool.run(["numpy"], spec, inputs_for(spec))["numpy"]
    assert reply.status == "unsupported"
    assert "zero_stride" in reply.message


@pytest.mark.skipif(sys.platform != "linux", reason="tied to its parent on Linux only")
def test_a_hung_worker_dies_with_its_parent(target, inputs_for, tmp_path):
    """The parent is killed outright while its worker hangs in a call."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, sys\n"
        "import numpy as np\n"
        "from bnfuzz.backends.pool import Pool\n"
        "from bnfuzz.case import Inputs, batch_norm_spec\n"
        "name = sys.argv[1]\n"
        "pool = Pool()\n"
        "pool.conventions(name)\n"
        "spec = batch_norm_spec((2, 1), 1, has_running=False)\n"
        "big = np.full((1, 2, 1), 1e6, np.float32)\n"
        "one = np.ones((1, 1), np.float32)\n"
        "pool.submit([name], spec, Inputs(x=big, gamma=one, beta=one, cotangent=big))\n"
        "print(next(iter(pool._slots.values())).worker.pid, flush=True)\n"
        "sys.stdin.read()\n",
        encoding="utf-8",
    )
    parent = subprocess.Popen(
        [sys.executable, str(script), target(FILE, "hangs_on_large_values")],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
    )
    with parent:
        worker = os.pidfd_open(int(parent.stdout.readline()))
        try:
            parent.kill()
            poll = select.poll()
            poll.register(worker, select.POLLIN)
            assert poll.poll(30_000), "the worker outlives its parent"
        finally:
            os.close(worker)


def test_return_codes_in_words():
    assert how_ended(-9) == "killed by SIGKILL"
    assert how_ended(-200) == "killed by signal 200"
    assert how_ended(1) == "ended with exit code 1"


def test_workers_run_one_thread_on_the_cpu():
    variables = worker_variables({"XLA_FLAGS": "--mine", "OMP_NUM_THREADS": "8"}, x64=True)
    assert variables["OMP_NUM_THREADS"] == "1"
    assert variables["XLA_FLAGS"].startswith("--mine --xla_cpu_multi_thread_eigen=false")
    assert variables["JAX_ENABLE_X64"] == "1"
    assert json.loads(worker_variables({}, x64=False)["JAX_ENABLE_X64"]) == 0
