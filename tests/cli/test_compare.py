"""`bnfuzz compare`: exit codes, drawn and given inputs, and plain words for what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bnfuzz.cli import bnfuzz
from bnfuzz.cli.compare_inputs import Asked, completed, drawn_case
from bnfuzz.conventions import Conventions

Compare = Callable[..., Result]

OWN_EPS = """
def batch_norm(x, gamma, beta):
    shape = (1, -1) + (1,) * (x.ndim - 2)
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    d = x - x.mean(axes, keepdims=True)
    r = ((d * d).mean(axes, keepdims=True) + x.dtype.type(EPS)) ** x.dtype.type(-0.5)
    return d * r * gamma.reshape(shape) + beta.reshape(shape)
"""
LAST_AXIS = "conventions = {'channel_axes': -1}\n" + OWN_EPS.replace("(1, -1) + (1,) * (x.ndim - 2)", "-1").replace(
    "axis != 1", "axis != x.ndim - 1"
)


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compare:
    monkeypatch.chdir(tmp_path)
    for name, source, eps in (("five", OWN_EPS, "1e-5"), ("three", OWN_EPS, "1e-3"), ("last", LAST_AXIS, "1e-5")):
        (tmp_path / f"{name}.py").write_text(source.replace("EPS", eps), encoding="utf-8")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(bnfuzz, ["compare", *arguments])

    return run


def test_the_same_function_exits_with_0(compare: Compare) -> None:
    done = compare("five.py:batch_norm", "target:five.py:batch_norm@numpy", "--shape", "5,2")
    assert done.exit_code == 0, done.output
    assert "THE SAME FUNCTION up to rounding." in done.output
    assert "x [5, 2] in float32" in done.output


def test_another_eps_exits_with_1_and_names_it(compare: Compare) -> None:
    done = compare("five.py:batch_norm", "three.py:batch_norm", "--values", "uniform:1:2", "--seed", "3")
    assert done.exit_code == 1, done.output
    assert "THEY DIFFER: A normalises with eps 1e-05, B with eps 0.001." in done.output
    assert "x ~ uniform:1:2, seed 3; gamma 1, beta 0" in done.output


def test_a_built_in_backend_on_one_side(compare: Compare) -> None:
    done = compare("numpy", "three.py:batch_norm", "--shape", "4,3", "--eps", "1e-3")
    assert done.exit_code == 0, done.output
    assert "eps 0.001 in both" in done.output


def test_a_stored_case_and_a_file_of_arrays(compare: Compare, write_case: Callable[..., Path], tmp_path: Path) -> None:
    x = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, -1.0]], np.float32)
    np.savez(tmp_path / "arrays.npz", x=x, cotangent=x * 2)
    (tmp_path / "arrays.py").write_text(f"x = {x.tolist()}\nimport numpy\nx = numpy.array(x, 'float32')\n")
    for case in (write_case("a.json"), "arrays.npz", "arrays.py"):
        done = compare("numpy", "five.py:batch_norm", str(case), "--eps", "1e-5")
        assert done.exit_code == 0, done.output
        assert "x: [[" in done.output
    refused = compare("numpy", "numpy", str(write_case("a.json")), "--inference")
    assert (refused.exit_code, "are part of a whole case" in refused.output) == (2, True)


def test_the_channel_axis_is_that_of_the_functions(compare: Compare) -> None:
    done = compare("last.py:batch_norm", "numpy", "--shape", "2,5,3", "--eps", "1e-5")
    assert done.exit_code == 0, done.output
    assert "gamma and beta along axis -1" in done.output


def test_the_text_fits_a_screen(compare: Compare) -> None:
    lines = compare("five.py:batch_norm", "three.py:batch_norm", "--cotangent", "sum").output.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.py:f", "numpy"), "no file"),
        (("numpy",), "Missing argument"),
        (("numpi", "numpy"), "backend 'numpi' is unknown"),
        (("numpy", "five.py"), "'five.py' names no function; say which: five.py:FUNCTION"),
        (("numpy", "five.py:batch_norm2"), "has no batch_norm2; it has batch_norm"),
        (("numpy", "numpy", "--shape", "4,x"), "--shape 4,x: give sizes such as 2,16,4,4"),
        (("numpy", "numpy", "--shape", "4,0"), "every size must be at least 1"),
        (("numpy", "numpy", "--values", "cauchy"), "--values cauchy: give normal, normal:MEAN:DEVIATION"),
        (("numpy", "numpy", "--values", "uniform:2:1"), "--values uniform:2:1"),
        (("numpy", "numpy", "--values", "normal:0:nan"), "--values normal:0:nan"),
        (("numpy", "numpy", "--eps", "nan"), "--eps nan"),
        (("numpy", "numpy", "--momentum", "inf"), "--momentum inf"),
        (("numpy", "numpy", "--cotangent", "twos"), "'twos' is not one of"),
        (("numpy", "five.py:batch_norm", "--format", "bfloat16"), "do not both take it"),
        (
            ("last.py:batch_norm", "five.py:batch_norm", "--shape", "2,3,4"),
            "take different channel axes only (-1 and 1)",
        ),
        (("numpy", "numpy", "--channel-axis", "7"), "channel_axis=7"),
        (("five.py:batch_norm", "numpy", "--inference"), "five.py:batch_norm cannot express this: only training"),
        (("numpy", "numpy", "a.npz"), "no file a.npz"),
        (("numpy", "numpy", "a1b2c3"), "no case of corpus"),
        (("numpy", "numpy", "a.npz", "--shape", "2,3"), "--shape 2,3 and CASE a.npz are both given"),
        (("numpy", "numpy", "--timeout", "0"), "0"),
    ],
    ids=str,
)
def test_mistakes_exit_with_2(compare: Compare, arguments: tuple[str, ...], message: str) -> None:
    done = compare(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.output


def test_what_a_side_cannot_do_without_is_filled_in_plainly() -> None:
    stated = [Conventions(source="a", affine="both", running="needed"), Conventions(source="b")]
    case, drawn = drawn_case(
        stated, Asked(), shape="3,2", values="normal", cotangent="ones", format_name="float32", seed=0
    )
    assert case.spec.has_running
    assert np.all(case.inputs.cotangent == 1)
    bare = completed(case, stated)
    assert bare.spec == case.spec
    assert "seed 0" in drawn
    without = drawn_case(
        [Conventions(source="b", outputs=("y",))] * 2, Asked(), shape="3,2", values="normal:5:2", cotangent="sum",
        format_name="float64", seed=1,
    )[0]  # fmt: skip
    assert not without.spec.has_running
    whole = completed(without, stated)
    assert whole.spec.has_running
    assert np.all(whole.inputs.running_var == 1)
    assert whole.inputs.x.tobytes() == without.inputs.x.tobytes()
