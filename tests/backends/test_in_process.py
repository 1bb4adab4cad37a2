"""A function run in this process: the replies of a pool, with the function's own traceback."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.backends.function_backend import FunctionBackend
from bnfuzz.backends.in_process import InProcess
from bnfuzz.case import batch_norm_spec
from bnfuzz.errors import UsageError

SPEC = batch_norm_spec((4, 3), 1)


def runs(function, **others):
    return InProcess(FunctionBackend(function, name="f", framework="numpy", **others))


def test_it_gives_what_a_worker_gives(pool, target, inputs_for):
    source = "def f(x, gamma, beta, *, eps, axis):\n    return x * gamma + beta + eps\n"
    scope = {}
    exec(source, scope)
    inputs = inputs_for(SPEC)
    name = target(source)
    theirs = pool.run([name], SPEC, inputs)[name].outputs.y
    ours = runs(scope["f"]).run(["f"], SPEC, inputs)["f"]
    assert ours.status == "ok"
    assert ours.outputs.y.tobytes() == theirs.tobytes()


def test_what_it_changes_shows(inputs_for):
    def writing(x, gamma, beta):
        gamma += 1
        return x

    inputs = inputs_for(SPEC)
    before = inputs.gamma.copy()
    reply = runs(writing).run(["f"], replace(SPEC, eps=None), inputs)["f"]
    assert reply.mutated == ("gamma",)
    np.testing.assert_array_equal(inputs.gamma, before)


def test_an_exception_is_a_reply_with_the_frames_of_the_function(inputs_for):
    def raising(x, gamma, beta, *, eps, axis):
        return {}["nothing"]

    reply = runs(raising).run(["f"], SPEC, inputs_for(SPEC))["f"]
    assert (reply.status, reply.message) == ("error", "KeyError: 'nothing'")
    assert "in raising" in reply.details
    assert "execution.py" not in reply.details
    assert reply.details.endswith("KeyError: 'nothing'")


@pytest.mark.parametrize("error", [SystemExit(3), MemoryError("large"), AssertionError("no")], ids=repr)
def test_no_exception_gets_away(inputs_for, error):
    def raising(x, gamma, beta, *, eps, axis):
        raise error

    assert runs(raising).run(["f"], SPEC, inputs_for(SPEC))["f"].status == "error"


def test_what_cannot_be_expressed_is_unsupported(inputs_for):
    here = runs(lambda x, gamma, beta: x)
    assert here.run(["f"], SPEC, inputs_for(SPEC))["f"].status == "ok"
    other = replace(SPEC, eps=0.25)
    assert "takes no eps" in here.run(["f"], other, inputs_for(other))["f"].message
    assert here.outputs(other, inputs_for(other)) is None
    flat = replace(SPEC, eps=None, layout_x="zero_stride")
    assert here.run(["f"], flat, inputs_for(flat))["f"].status == "unsupported"


def test_another_name_is_not_run_here(inputs_for):
    with pytest.raises(UsageError, match="'g' is not run here, only f"):
        runs(lambda x, gamma, beta: x).run(["g"], SPEC, inputs_for(SPEC))
