"""Users' functions as backends: the frameworks, the signatures, the gradients, and plain words for mistakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnfuzz.backends.function_backend import FunctionBackend
from bnfuzz.backends.target import Target, parsed
from bnfuzz.case import batch_norm_spec
from bnfuzz.conventions import Conventions
from bnfuzz.errors import UsageError

SPEC = batch_norm_spec((4, 3, 2), 1)

STATELESS = """
{imports}

def f(x, gamma, beta, *, eps, axis):
    shape = [-1 if a == axis else 1 for a in range(x.ndim)]
    others = tuple(a for a in range(x.ndim) if a != axis)
    mean = {mean}
    var = {var}
    return (x - mean) / {sqrt}(var + eps) * gamma.reshape({shape}) + beta.reshape({shape})
"""
SOURCES = {
    "numpy": STATELESS.format(
        imports="import numpy as np",
        mean="x.mean(others, keepdims=True)",
        var="x.var(others, keepdims=True)",
        sqrt="np.sqrt",
        shape="shape",
    ),
    "jax": STATELESS.format(
        imports="import jax.numpy as jnp",
        mean="x.mean(others, keepdims=True)",
        var="x.var(others, keepdims=True)",
        sqrt="jnp.sqrt",
        shape="shape",
    ),
    "torch": STATELESS.format(
        imports="import torch",
        mean="x.mean(others, keepdim=True)",
        var="x.var(others, keepdim=True, correction=0)",
        sqrt="torch.sqrt",
        shape="shape",
    ),
    "mxnet": STATELESS.format(
        imports="from mxnet import nd",
        mean="x.mean(axis=others, keepdims=True)",
        var="((x - mean) * (x - mean)).mean(axis=others, keepdims=True)",
        sqrt="nd.sqrt",
        shape="shape",
    ),
}
STATEFUL = """
import {module} as np

def f(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training):
    shape = [-1 if a == axis else 1 for a in range(x.ndim)]
    others = tuple(a for a in range(x.ndim) if a != axis)
    mean, var = (x.mean(others), x.var(others)) if training else (running_mean, running_var)
    y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps) * gamma.reshape(shape) + beta.reshape(shape)
    if not training:
        return y, running_mean, running_var
    return y, (1 - momentum) * running_mean + momentum * mean, (1 - momentum) * running_var + momentum * var
"""
BACKWARD = """
def backward(x, gamma, beta, cotangent, *, eps, axis):
    return x * 0 + 1, gamma * 0 + 2, beta * 0 + cotangent.sum()
"""


def agrees(pool, name, spec, inputs, outputs):
    replies = pool.run([name, "numpy"], spec, inputs)
    assert replies[name].status == "ok", replies[name].details
    given = dict(replies[name].outputs.items())
    assert set(given) == set(outputs) == set(pool.conventions(name).outputs)
    for output, array in given.items():
        np.testing.assert_allclose(array, getattr(replies["numpy"].outputs, output), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("framework", sorted(SOURCES))
def test_a_function_in_each_framework(pool, target, inputs_for, installed, framework):
    installed(framework)
    gradients = () if framework == "numpy" else ("dgamma", "dbeta", "dx")
    for cotangent in ("explicit", "mean_square"):
        spec = replace(SPEC, cotangent=cotangent)
        agrees(pool, target(SOURCES[framework]), spec, inputs_for(spec), ("y", *gradients))


@pytest.mark.parametrize("mode", ["training", "inference"])
def test_a_function_with_state(pool, target, inputs_for, installed, mode):
    installed("jax")
    spec = replace(SPEC, steps=(mode,), momentum=0.25)
    state = ("new_running_mean", "new_running_var")
    agrees(pool, target(STATEFUL.format(module="numpy")), spec, inputs_for(spec), ("y", *state))


def test_state_and_gradients_in_jax(pool, tmp_path, inputs_for, installed):
    installed("jax")
    path = tmp_path / "stateful.py"
    path.write_text(STATEFUL.format(module="jax.numpy"), encoding="utf-8")
    for steps in (("training",), ("inference",)):
        spec = replace(SPEC, steps=steps)
        outputs = ("y", "dgamma", "dbeta", "dx", "new_running_mean", "new_running_var")
        agrees(pool, f"target:{path}:f", spec, inputs_for(spec), outputs)


def test_a_written_backward_is_used(pool, target, inputs_for):
    name = target(SOURCES["numpy"] + BACKWARD)
    outputs = pool.run([name], SPEC, inputs_for(SPEC))[name].outputs
    assert (outputs.dx == 1).all()
    assert (outputs.dgamma == 2).all()
    np.testing.assert_allclose(outputs.dbeta[:, 0], inputs_for(SPEC).cotangent.sum((1, 2, 3)), rtol=1e-5)


def test_backward_as_an_attribute_comes_first(pool, target, inputs_for):
    name = target(SOURCES["numpy"] + BACKWARD + "\nf.backward = lambda x, g, b, c, *, eps, axis: (x * 0 + 5, g, b)\n")
    assert (pool.run([name], SPEC, inputs_for(SPEC))[name].outputs.dx == 5).all()


def test_the_cotangent_of_a_loss_reaches_a_written_backward(pool, target, inputs_for):
    source = SOURCES["numpy"] + "\ndef backward(x, g, b, c, *, eps, axis):\n    return c, g, b\n"
    name = target(source)
    spec = replace(SPEC, cotangent="mean_square")
    outputs = pool.run([name], spec, inputs_for(spec))[name].outputs
    np.testing.assert_allclose(outputs.dx, 2 * outputs.y / spec.size, rtol=1e-6)


def test_defaults_of_the_signature_act(pool, target, inputs_for):
    name = target("def f(x, gamma, beta, *, eps=0.5, axis):\n    return x * 0 + eps\n")
    assert pool.conventions(name).default_eps == 0.5
    spec = replace(SPEC, eps=None)
    assert (pool.run([name], spec, inputs_for(spec))[name].outputs.y == 0.5).all()


def test_neighbours_of_the_file_can_be_imported(pool, target, tmp_path, inputs_for):
    (tmp_path / "neighbour.py").write_text("def twice(x):\n    return 2 * x\n", encoding="utf-8")
    name = target("import neighbour\n\ndef f(x, gamma, beta, *, eps, axis):\n    return neighbour.twice(x)\n")
    assert (pool.run([name], SPEC, inputs_for(SPEC))[name].outputs.y == 2 * inputs_for(SPEC).x).all()


@pytest.mark.parametrize(
    ("source", "function", "message"),
    [
        pytest.param("def g(): ...", "f", "has no f; it has g", id="no-such-function"),
        pytest.param("", "f", "no functions at all", id="empty-file"),
        pytest.param("f = 3", "f", "is of type int, not a function", id="not-a-function"),
        pytest.param("def f(:", "f", "cannot be imported: SyntaxError: ", id="syntax"),
        pytest.param("1 / 0", "f", "1 / 0", id="own-traceback"),
        pytest.param("raise SystemExit(3)", "f", "SystemExit", id="exits-on-import"),
        pytest.param("def f(x): ...", "f", "cannot be called as f(x, gamma, beta", id="signature"),
        pytest.param(
            "def f(x, gamma, beta, running_mean, *, eps, momentum, axis): ...", "f", "training): ", id="state"
        ),
        pytest.param("backward = 1\ndef f(x, gamma, beta, *, eps, axis): ...", "f", "backward", id="backward"),
    ],
)
def test_mistakes_in_the_file_are_told_in_plain_words(pool, target, source, function, message):
    with pytest.raises(UsageError) as caught:
        pool.conventions(target(source, function))
    assert message in str(caught.value)


def test_what_a_function_does_not_take_is_not_asked_of_it(pool, target, inputs_for):
    source = "def f(x, gamma, beta):\n    return (x - x.mean((0, 2), keepdims=True)) * 0 + 7\n"
    name = target(source)
    stated = pool.conventions(name)
    assert (stated.fixed_scalars, stated.channel_axes, stated.modes) == (("eps",), 1, ("training",))
    left = replace(SPEC, eps=None)
    assert (pool.run([name], left, inputs_for(left))[name].outputs.y == 7).all()
    for spec, reason in ((replace(SPEC, eps=1e-3), "takes no eps"), (replace(SPEC, eps=None), "channel axis")):
        moved = spec if reason != "channel axis" else batch_norm_spec((4, 3, 2), 0, eps=None)
        reply = pool.run([name], moved, inputs_for(moved))[name]
        assert (reply.status, reason in reply.message) == ("unsupported", True)


def test_state_without_options_is_training_with_its_own_momentum(pool, target, inputs_for):
    name = target(
        "conventions = {'default_momentum': 0.9}\n"
        "def f(x, gamma, beta, running_mean, running_var):\n    return x, running_mean, running_var\n"
    )
    stated = pool.conventions(name)
    assert stated.fixed_scalars == ("eps", "momentum")
    assert stated.unsupported(replace(SPEC, eps=None, momentum=0.9)) is None
    assert stated.unsupported(replace(SPEC, eps=None, momentum=None)) is None
    assert "takes no momentum" in stated.unsupported(replace(SPEC, eps=None, momentum=0.1))
    assert stated.unsupported(replace(SPEC, eps=None, steps=("inference",))) is not None


def test_any_keywords_get_all_of_them(pool, target, inputs_for):
    name = target("def f(x, gamma, beta, **options):\n    return x * 0 + options['eps'] + options['axis']\n")
    assert (pool.run([name], replace(SPEC, eps=0.5), inputs_for(SPEC))[name].outputs.y == 1.5).all()


@pytest.mark.parametrize("place", ["conventions = {record}\n{code}", "{code}\nf.conventions = {record}"])
def test_a_record_of_conventions_is_found_in_the_file_or_on_the_function(pool, target, place):
    code = STATEFUL.format(module="numpy")
    record = "{'running_ddof': 1, 'momentum_weighs': 'old', 'formats': [['float32'] * 3], 'summation': 'pairwise'}"
    stated = pool.conventions(target(place.format(record=record, code=code)))
    assert (stated.running_ddof, stated.momentum_weighs, stated.summation.kind) == (1, "old", "pairwise")
    assert stated.formats == (("float32", "float32", "float32"),)
    assert stated.modes == ("training", "inference")


def test_a_stated_sense_of_momentum_reaches_the_call(pool, target, inputs_for):
    code = "\ndef f(x, g, b, running_mean, running_var, *, momentum):\n    return x, running_mean * 0 + momentum, g\n"
    name = target(f"conventions = {{'momentum_weighs': 'old'}}{code}")
    spec = replace(SPEC, eps=None, momentum=0.25)
    assert (pool.run([name], spec, inputs_for(spec))[name].outputs.new_running_mean == 0.75).all()


def test_a_record_of_the_package_states_what_differs_from_the_defaults():
    record = Conventions(source="the manual", running_ddof=1, outputs=("y",))
    backend = FunctionBackend(lambda x, gamma, beta: x, name="f", framework="torch", conventions=record)
    assert (backend.conventions.source, backend.conventions.running_ddof) == ("the manual", 1)
    assert backend.conventions.outputs == ("y", "dgamma", "dbeta", "dx")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (3, "is of type int; give a dict"),
        ({"epsilon": 1e-3}, "'epsilon', which is no convention; use some of"),
        ({"outputs": ["y"]}, "outputs, which the function's signature decides"),
        ({"running_ddof": 2}, "running_ddof=2; give 0 or 1"),
        ({"running_ddof": True}, "running_ddof=True; give 0 or 1"),
        ({"momentum_weighs": "older"}, "give 'new' or 'old'"),
        ({"default_eps": "1e-3"}, "default_eps='1e-3'; give float"),
        ({"fix_gamma": 1}, "fix_gamma=1; give bool"),
        ({"channel_axes": "last"}, "give 'any' or int"),
        ({"formats": ["float32"]}, "give rows (data, parameters, statistics) of float16"),
        ({"compute": [["float16", "float8"]]}, "give rows (data, compute)"),
        ({"ranks": (5, 2)}, "ranks=(5, 2); give (smallest, largest)"),
        ({"summation": "sorted"}, "give one of any, pairwise, lanes, wide"),
        ({"scalar_format": "single"}, "scalar_format='single'; give 'float16'"),
    ],
    ids=str,
)
def test_mistakes_in_a_record(record, message):
    with pytest.raises(UsageError, match="conventions of f") as caught:
        FunctionBackend(lambda x, gamma, beta: x, name="f", framework="numpy", conventions=record)
    assert message in str(caught.value)


@pytest.mark.parametrize("rest", ["", "mine.py", "mine.py:", ":f", "mine.py:f@keras"])
def test_mistakes_in_the_name(rest):
    with pytest.raises(UsageError, match=r"target:FILE\.py:FUNCTION"):
        Target(f"target:{rest}")


def test_a_missing_file_is_named():
    with pytest.raises(UsageError, match=r"no file .*nowhere\.py"):
        Target("target:nowhere.py:f")


def test_names_with_a_framework():
    assert parsed("target:a/b.py:f@jax") == ("a/b.py", "f", "jax")
    assert parsed("target:a@b/c.py:f") == ("a@b/c.py", "f", "")


@pytest.mark.parametrize(
    ("source", "framework"),
    [
        ("import numpy as np", "numpy"),
        ("import numpy as np\nimport jax.numpy as jnp", "jax"),
        ("def f():\n    from torch.nn import functional", "torch"),
        ("from mxnet import nd", "mxnet"),
        ("from . import jax", "numpy"),
        ("def f(:", "numpy"),
    ],
)
def test_the_framework_is_guessed_from_the_imports(target, source, framework):
    assert Target(target(source)).framework == framework
    assert Target(target(source) + "@numpy").framework == "numpy"


def test_an_unknown_framework_is_refused():
    with pytest.raises(UsageError, match="framework 'keras' is unknown"):
        FunctionBackend(lambda x, gamma, beta, *, eps, axis: x, name="f", framework="keras")
